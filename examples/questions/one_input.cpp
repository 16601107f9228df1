// If several vertices of a tile read the same input of another tile, is it moved once or once per
// vertex?
#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"spikes", 512}, {"most", 48}});
  question::Table table(sizes);
  for (const bool shared : {true, false})
    for (unsigned vertices = 1; vertices <= sizes["most"]; vertices *= 2)
      table.measure(shared ? "the same input" : "an input each", vertices,
                    [&](Graph &graph, Sequence &program) {
                      const ComputeSet set = graph.addComputeSet("set");
                      const Tensor sums = question::onTile(graph, FLOAT, {vertices}, 1, "sums");
                      const auto input = [&] {
                        return question::onTile(graph, FLOAT, {sizes["spikes"]}, 0, "input");
                      };
                      const Tensor first = input();
                      for (unsigned v = 0; v < vertices; ++v) {
                        const VertexRef vertex = graph.addVertex(
                            set, "Sum", {{"in", shared || v == 0 ? first : input()}});
                        graph.connect(vertex["sum"], sums[v]);
                        graph.setTileMapping(vertex, 1);
                      }
                      program.add(Execute(set));
                    });
}
