// Over how many tiles should a layer be spread? Compute falls with their number, the exchange does
// not: every tile receives all ids.
#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv,
                              {{"inputs", 1024},
                               {"neurons", 1024},
                               {"samples", 48},
                               {"slots", 51},
                               {"least", 8},
                               {"most", 512}});
  const unsigned samples = sizes["samples"], slots = sizes["slots"], inputs = sizes["inputs"];
  question::Table table(sizes);
  for (unsigned tiles = sizes["least"]; tiles <= sizes["most"]; tiles *= 2)
    table.measure("a layer on so many tiles", tiles, [&](Graph &graph, Sequence &program) {
      const unsigned neurons = sizes["neurons"] / tiles;
      std::vector<unsigned short> list(slots);
      for (unsigned k = 0; k < slots; ++k)
        list[k] = static_cast<unsigned short>(k * inputs / slots);
      std::vector<Tensor> ids, counts;
      for (unsigned b = 0; b < samples; ++b) { // a sample's ids lie on a tile of its own
        ids.push_back(question::valuesOnTile(graph, UNSIGNED_SHORT, {slots}, b, "ids", list));
        counts.push_back(
            question::valuesOnTile<unsigned>(graph, UNSIGNED_INT, {1}, b, "count", {slots}));
      }
      const ComputeSet set = graph.addComputeSet("current");
      for (unsigned i = 0; i < tiles; ++i) {
        const unsigned tile = samples + i;
        const VertexRef vertex = graph.addVertex(
            set, "CurrentOfIds<unsigned short>",
            {{"ids", concat(ids)},
             {"counts", concat(counts)},
             {"weights", question::onTile(graph, FLOAT, {inputs * neurons}, tile, "weights")},
             {"current", question::onTile(graph, FLOAT, {samples * neurons}, tile, "current")}});
        graph.setInitialValue(vertex["samples"], samples);
        graph.setInitialValue(vertex["slots"], slots);
        graph.setInitialValue(vertex["pairCount"], neurons / 2);
        graph.setTileMapping(vertex, tile);
      }
      program.add(Execute(set));
    });
}
