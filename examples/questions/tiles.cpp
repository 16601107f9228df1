// How does the choice of tiles change the cost of an exchange?
#include <poputil/TileMapping.hpp>

#include "question.h"

using namespace poplar;
using namespace poplar::program;

namespace {

/// Maps rows to tiles first, first + apart, ...
Tensor rowsOn(Graph &graph, std::size_t rows, std::size_t words, unsigned first, unsigned apart,
              const char *name) {
  const Tensor t = graph.addVariable(FLOAT, {rows, words}, name);
  for (std::size_t i = 0; i < rows; ++i)
    graph.setTileMapping(t[i], first + static_cast<unsigned>(i) * apart);
  return t;
}

} // namespace

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"words", 4096}, {"neurons", 512}});
  const std::size_t words = sizes["words"], neurons = sizes["neurons"];
  question::Table table(sizes);
  for (const unsigned tiles : {1u, 4u, 16u, 64u}) {
    table.measure("to one tile, from so many", tiles, [&](Graph &graph, Sequence &program) {
      program.add(Copy(rowsOn(graph, tiles, words / tiles, 100, 1, "from").flatten(),
                       rowsOn(graph, 1, words, 0, 1, "to").flatten()));
    });
    table.measure("from one tile, a part to each", tiles, [&](Graph &graph, Sequence &program) {
      program.add(Copy(rowsOn(graph, 1, words, 0, 1, "from").flatten(),
                       rowsOn(graph, tiles, words / tiles, 100, 1, "to").flatten()));
    });
    table.measure("from one tile, everything to each", tiles, [&](Graph &graph, Sequence &program) {
      const Tensor from = rowsOn(graph, 1, words, 0, 1, "from");
      program.add(Copy(from.broadcast(tiles, 0), rowsOn(graph, tiles, words, 100, 1, "to")));
    });
    table.measure("from so many tiles to as many others", tiles,
                  [&](Graph &graph, Sequence &program) {
                    program.add(Copy(rowsOn(graph, tiles, words / tiles, 0, 1, "from"),
                                     rowsOn(graph, tiles, words / tiles, 100, 1, "to")));
                  });
  }
  // The states of two samples, mapped linearly from tile 0 on, are gathered on two tiles, where a
  // vertex per sample lists the spikes.
  for (const unsigned first : {0u, 32u})
    table.measure(
        "states of two samples to two tiles", first, [&](Graph &graph, Sequence &program) {
          const Tensor states = graph.addVariable(FLOAT, {2, neurons}, "states");
          poputil::mapTensorLinearly(graph, states);
          program.add(
              Copy(states, rowsOn(graph, 2, neurons, first, std::max(1u, first), "gathered")));
        });
}
