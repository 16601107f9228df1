// How do the workers of a tile share the gradient of its weights, if samples contain the same ids?
#include "question.h"

using namespace poplar;
using namespace poplar::program;

namespace {

struct Gradient {
  unsigned samples, slots, inputs, neurons, workers;

  std::vector<unsigned short> ids() const { // of each sample others, in order
    std::vector<unsigned short> all(samples * slots);
    for (unsigned b = 0; b < samples; ++b)
      for (unsigned k = 0; k < slots; ++k)
        all[b * slots + k] = static_cast<unsigned short>((k * inputs + b) / slots);
    return all;
  }
  std::vector<unsigned> starts() const { // where in a sample's ids a worker's rows begin
    const std::vector<unsigned short> all = ids();
    std::vector<unsigned> found;
    for (unsigned b = 0; b < samples; ++b)
      for (unsigned w = 0; w <= workers; ++w) {
        const auto first = all.begin() + b * slots;
        found.push_back(static_cast<unsigned>(
            std::lower_bound(first, first + slots, inputs * w / workers) - first));
      }
    return found;
  }
  Tensor grads(Graph &graph, std::size_t copies) const {
    return question::onTile(graph, FLOAT, {copies * inputs * neurons}, 0, "gradients");
  }
  VertexRef add(Graph &graph, Sequence &program, const char *type, const Tensor &ids,
                const Tensor &error, const Tensor &grads) const {
    const ComputeSet set = graph.addComputeSet(type);
    const VertexRef vertex =
        graph.addVertex(set, type, {{"ids", ids}, {"error", error}, {"grads", grads}});
    graph.setInitialValue(vertex["pairCount"], neurons / 2);
    graph.setTileMapping(vertex, 0);
    program.add(Execute(set));
    return vertex;
  }
  void ofAll(Graph &graph, Sequence &program, const char *type) const {
    const bool copies = type == std::string("WeightsByCopy");
    const VertexRef vertex = add(graph, program, type, allIds(graph).flatten(),
                                 errors(graph).flatten(), grads(graph, copies ? workers : 1));
    graph.setInitialValue(vertex["samples"], samples);
    graph.setInitialValue(vertex["slots"], slots);
    if (copies || type == std::string("WeightsByRows"))
      graph.setInitialValue(vertex["inputs"], inputs);
    if (type == std::string("WeightsByStarts"))
      graph.connect(vertex["starts"],
                    question::valuesOnTile(graph, UNSIGNED_INT, {samples * (workers + 1)}, 0,
                                           "starts", starts()));
  }
  void ofEach(Graph &graph, Sequence &program) const {
    const Tensor ids = allIds(graph), error = errors(graph), to = grads(graph, 1);
    for (unsigned b = 0; b < samples; ++b)
      add(graph, program, "WeightsOfSample", ids[b], error[b], to);
  }

private:
  Tensor allIds(Graph &graph) const {
    return question::valuesOnTile(graph, UNSIGNED_SHORT, {samples, slots}, 0, "ids", ids());
  }
  Tensor errors(Graph &graph) const {
    return question::valuesOnTile(graph, FLOAT, {samples, neurons}, 0, "error",
                                  std::vector<float>(samples * neurons, 1));
  }
};

} // namespace

int main(int argc, char **argv) {
  const question::Sizes sizes(
      argc, argv, {{"samples", 48}, {"slots", 72}, {"inputs", 1464}, {"workers", 6}, {"most", 8}});
  question::Table table(sizes);
  for (unsigned neurons = 2; neurons <= sizes["most"]; neurons *= 2) {
    const Gradient gradient{sizes["samples"], sizes["slots"], sizes["inputs"], neurons,
                            sizes["workers"]};
    for (const auto &[name, type] :
         {std::pair<const char *, const char *>{"one worker", "WeightsByOne"},
          {"copies, a worker's each", "WeightsByCopy"},
          {"rows by worker", "WeightsByRows"},
          {"rows by worker, located", "WeightsByStarts"}})
      table.measure(name, neurons, [&, type = type](Graph &graph, Sequence &program) {
        gradient.ofAll(graph, program, type);
      });
    table.measure("a compute set a sample", neurons,
                  [&](Graph &graph, Sequence &program) { gradient.ofEach(graph, program); });
  }
}
