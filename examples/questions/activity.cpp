// Should spikes travel as ids, as a dense vector or as a bit mask? A step of two neurons on each of
// some tiles, which receive the senders' spikes and add up the weights.
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>

#include "question.h"

using namespace poplar;
using namespace poplar::program;

namespace {

struct Step {
  unsigned samples, inputs, tiles, spikes;

  /// Adds vertices on the receiving tiles, which follow the tiles of the samples.
  void add(Graph &graph, Sequence &program, const char *type, const char *field, const Tensor &sent,
           const std::map<std::string, unsigned> &values,
           const std::map<std::string, Tensor> &more = {}) const {
    const ComputeSet set = graph.addComputeSet("current");
    for (unsigned tile = samples; tile < samples + tiles; ++tile) {
      const VertexRef vertex = graph.addVertex(
          set, type,
          {{field, sent.flatten()},
           {"weights", question::onTile(graph, FLOAT, {inputs, 2}, tile, "weights").flatten()},
           {"current", question::onTile(graph, FLOAT, {samples, 2}, tile, "current").flatten()}});
      for (const auto &[name, tensor] : more)
        graph.connect(vertex[name], tensor);
      for (const auto &[name, value] : values)
        graph.setInitialValue(vertex[name], value);
      graph.setInitialValue(vertex["samples"], samples);
      graph.setInitialValue(vertex["pairCount"], 1u);
      graph.setTileMapping(vertex, tile);
    }
    program.add(Execute(set));
  }

  std::vector<unsigned> fired() const {
    std::vector<unsigned> ids(spikes);
    for (unsigned k = 0; k < spikes; ++k)
      ids[k] = static_cast<unsigned>(std::size_t{k} * inputs / spikes);
    return ids;
  }

  /// Returns [samples, n], with each sample on a tile of its own.
  template <typename T>
  Tensor held(Graph &graph, const Type &type, const std::vector<T> &values,
              const char *name) const {
    std::vector<Tensor> rows;
    for (unsigned b = 0; b < samples; ++b)
      rows.push_back(question::valuesOnTile(graph, type, {1, values.size()}, b, name, values));
    return concat(rows);
  }

  template <typename Id>
  void ids(Graph &graph, Sequence &program, const char *vertex, const Type &type,
           unsigned slots) const {
    const std::vector<unsigned> list = fired();
    std::vector<Id> values(list.begin(), list.end());
    values.resize(slots);
    const Tensor counts = held<unsigned>(graph, UNSIGNED_INT, {spikes}, "counts");
    add(graph, program, vertex, "ids", held(graph, type, values, "ids"), {{"slots", slots}},
        {{"counts", counts.flatten()}});
  }

  void dense(Graph &graph, Sequence &program) const {
    std::vector<float> values(inputs);
    for (const unsigned id : fired())
      values[id] = 1;
    add(graph, program, "CurrentOfDense", "spikes", held(graph, FLOAT, values, "spikes"),
        {{"inputs", inputs}});
  }

  /// Multiplies [samples, inputs] by the weights of each tile's neurons with the matrix unit.
  void matMul(Graph &graph, Sequence &program) const {
    std::vector<float> values(inputs);
    for (const unsigned id : fired())
      values[id] = 1;
    std::vector<Tensor> weights, currents;
    for (unsigned tile = samples; tile < samples + tiles; ++tile) {
      weights.push_back(question::onTile(graph, FLOAT, {2, inputs}, tile, "weights").transpose());
      currents.push_back(question::onTile(graph, FLOAT, {samples, 2}, tile, "current"));
    }
    Tensor current = concat(currents, 1);
    poplin::matMulWithOutput(graph, held(graph, FLOAT, values, "spikes"), concat(weights, 1),
                             current, program);
  }

  void mask(Graph &graph, Sequence &program) const {
    std::vector<unsigned> words((inputs + 31) / 32);
    for (const unsigned id : fired())
      words[id / 32] |= 1u << id % 32;
    add(graph, program, "CurrentOfMask", "mask", held(graph, UNSIGNED_INT, words, "mask"),
        {{"words", static_cast<unsigned>(words.size())}});
  }
};

} // namespace

int main(int argc, char **argv) {
  const question::Sizes sizes(
      argc, argv, {{"inputs", 1024}, {"samples", 48}, {"tiles", 1}, {"slots", 256}, {"every", 1}});
  const unsigned inputs = sizes["inputs"];
  question::Table table(sizes);
  const std::vector<unsigned> activities{5,   10,  20,  31,  40,  62,  80,
                                         100, 150, 250, 400, 600, 1000}; // in thousandths
  for (std::size_t i = 0; i < activities.size(); i += sizes["every"]) {
    const Step step{sizes["samples"], inputs, sizes["tiles"],
                    std::max(1u, inputs * activities[i] / 1000)};
    const unsigned n = step.spikes;
    table.measure("16-bit ids", n, [&](Graph &graph, Sequence &program) {
      step.ids<unsigned short>(graph, program, "CurrentOfIds<unsigned short>", UNSIGNED_SHORT, n);
    });
    table.measure("32-bit ids", n, [&](Graph &graph, Sequence &program) {
      step.ids<unsigned>(graph, program, "CurrentOfIds<unsigned int>", UNSIGNED_INT, n);
    });
    if (n <= sizes["slots"])
      table.measure("16-bit ids, all slots sent", n, [&](Graph &graph, Sequence &program) {
        step.ids<unsigned short>(graph, program, "CurrentOfIds<unsigned short>", UNSIGNED_SHORT,
                                 sizes["slots"]);
      });
    table.measure("bit mask", n,
                  [&](Graph &graph, Sequence &program) { step.mask(graph, program); });
    table.measure("dense", n, [&](Graph &graph, Sequence &program) { step.dense(graph, program); });
    table.measure("dense, matMul", n, [&](Graph &graph, Sequence &program) {
      poplin::addCodelets(graph);
      step.matMul(graph, program);
    });
  }
}
