// How do the same operations of several layers run at once? Layers have tiles of their own.
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>

#include "question.h"

using namespace poplar;
using namespace poplar::program;

namespace {

struct Network {
  unsigned layers, tilesOfLayer, neuronsOfTile;

  unsigned tile(unsigned layer, unsigned i) const { return layer * tilesOfLayer + i; }

  /// Returns [rows, neurons] of a layer, with each neuron on its own tile.
  Tensor ofLayer(Graph &graph, unsigned layer, std::size_t rows, const char *name) const {
    const Tensor t = graph.addVariable(FLOAT, {rows, tilesOfLayer * neuronsOfTile}, name);
    place(graph, t, layer);
    return t;
  }
  void place(Graph &graph, const Tensor &t, unsigned layer) const {
    for (unsigned i = 0; i < tilesOfLayer; ++i)
      graph.setTileMapping(t.slice(i * neuronsOfTile, (i + 1) * neuronsOfTile, 1), tile(layer, i));
  }

  void addStep(Graph &graph, ComputeSet set, unsigned layer, const Tensor &u) const {
    for (unsigned i = 0; i < tilesOfLayer; ++i) {
      const VertexRef vertex = graph.addVertex(
          set, "SharedNeurons",
          {{"ids", question::valuesOnTile<unsigned short>(graph, UNSIGNED_SHORT, {4},
                                                          tile(layer, i), "ids", {0, 1, 2, 3})},
           {"weights",
            question::onTile(graph, FLOAT, {neuronsOfTile * 4}, tile(layer, i), "weights")},
           {"u", u.flatten().slice(i * neuronsOfTile, (i + 1) * neuronsOfTile)}});
      graph.setInitialValue(vertex["decay"], 0.95f);
      graph.setInitialValue(vertex["inputs"], 4u);
      graph.setTileMapping(vertex, tile(layer, i));
    }
  }
};

} // namespace

int main(int argc, char **argv) {
  const question::Sizes sizes(
      argc, argv, {{"most", 8}, {"tiles", 16}, {"neurons", 4}, {"steps", 20}, {"slots", 32}});
  question::Table table(sizes);
  for (unsigned layers = 1; layers <= sizes["most"]; layers *= 2) {
    const Network net{layers, sizes["tiles"], sizes["neurons"]};
    const auto all = [&](Graph &graph, std::size_t rows, const char *name) {
      std::vector<Tensor> ts;
      for (unsigned l = 0; l < layers; ++l)
        ts.push_back(net.ofLayer(graph, l, rows, name));
      return ts;
    };
    table.measure("step, a compute set a layer", layers, [&](Graph &graph, Sequence &program) {
      const auto u = all(graph, 1, "u");
      for (unsigned l = 0; l < layers; ++l) {
        const ComputeSet set = graph.addComputeSet("step");
        net.addStep(graph, set, l, u[l]);
        program.add(Execute(set));
      }
    });
    table.measure("step, one compute set", layers, [&](Graph &graph, Sequence &program) {
      const auto u = all(graph, 1, "u");
      const ComputeSet set = graph.addComputeSet("step");
      for (unsigned l = 0; l < layers; ++l)
        net.addStep(graph, set, l, u[l]);
      program.add(Execute(set));
    });
    table.measure("step, states in one tensor", layers, [&](Graph &graph, Sequence &program) {
      const unsigned neurons = net.tilesOfLayer * net.neuronsOfTile;
      const Tensor states = graph.addVariable(FLOAT, {1, layers * neurons}, "u");
      const ComputeSet set = graph.addComputeSet("step");
      for (unsigned l = 0; l < layers; ++l) {
        const Tensor u = states.slice(l * neurons, (l + 1) * neurons, 1);
        net.place(graph, u, l);
        net.addStep(graph, set, l, u);
      }
      program.add(Execute(set));
    });
    const auto offset = [&](Graph &graph) {
      return question::valuesOnTile<unsigned>(graph, UNSIGNED_INT, {1}, 0, "step", {3});
    };
    table.measure("dynamicSlice a layer", layers, [&](Graph &graph, Sequence &program) {
      const Tensor at = offset(graph);
      for (const Tensor &sequence : all(graph, sizes["steps"], "sequence"))
        popops::dynamicSlice(graph, sequence, at, {0}, {1}, program);
    });
    table.measure("dynamicSlice of all layers", layers, [&](Graph &graph, Sequence &program) {
      popops::dynamicSlice(graph, concat(all(graph, sizes["steps"], "sequence"), 1), offset(graph),
                           {0}, {1}, program);
    });
    // Each tile of a layer holds a value per slot; they are summed over the tiles.
    const auto sum = [&](Graph &graph, unsigned layer, Tensor &partials) {
      const std::size_t slots = sizes["slots"];
      partials = graph.addVariable(FLOAT, {net.tilesOfLayer, slots}, "partials");
      const Tensor total = graph.addVariable(FLOAT, {slots}, "sum");
      for (unsigned i = 0; i < net.tilesOfLayer; ++i) {
        graph.setTileMapping(partials[i], net.tile(layer, i));
        graph.setTileMapping(
            total.slice(slots * i / net.tilesOfLayer, slots * (i + 1) / net.tilesOfLayer),
            net.tile(layer, i));
      }
      return total;
    };
    table.measure("reduce a layer", layers, [&](Graph &graph, Sequence &program) {
      for (unsigned l = 0; l < layers; ++l) {
        Tensor partials;
        const Tensor total = sum(graph, l, partials);
        popops::reduceWithOutput(graph, partials, total, {0}, popops::Operation::ADD, program);
      }
    });
    table.measure("reduceMany", layers, [&](Graph &graph, Sequence &program) {
      std::vector<popops::SingleReduceOp> reductions;
      std::vector<Tensor> totals(layers);
      for (unsigned l = 0; l < layers; ++l) {
        Tensor partials;
        totals[l] = sum(graph, l, partials);
        reductions.push_back({partials, {0}, popops::Operation::ADD});
      }
      popops::reduceMany(graph, reductions, totals, program);
    });
  }
}
