// How long does a read, an addition and a write at an index take, and what do pairs of floats save?
#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"ids", 600}});
  question::Table table(sizes);
  for (const char *type : {"AddAt<unsigned short>", "AddPairsAt"})
    for (const unsigned ids : {sizes["ids"], 2 * sizes["ids"]})
      table.measure(type == std::string("AddPairsAt") ? "pairs" : "words", ids,
                    [&](Graph &graph, Sequence &program) {
                      const ComputeSet set = graph.addComputeSet("add");
                      const VertexRef vertex = graph.addVertex(
                          set, type,
                          {{"ids", question::valuesOnTile(graph, UNSIGNED_SHORT, {ids}, 0, "ids",
                                                          std::vector<unsigned short>(ids, 7))},
                           {"sums", question::onTile(graph, FLOAT, {64}, 0, "sums")}});
                      graph.setInitialValue(vertex["value"], 0.5f);
                      graph.setTileMapping(vertex, 0);
                      program.add(Execute(set));
                    });
}
