// Do the MultiVertices of a tile run at the same time? The same neurons in ever more of them, and
// in as many plain vertices.
#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"neurons", 48}, {"inputs", 512}, {"spikes", 16}});
  const unsigned neurons = sizes["neurons"], inputs = sizes["inputs"];
  question::Table table(sizes);
  for (const bool shared : {true, false})
    for (unsigned vertices = 1; vertices <= neurons; vertices *= 2)
      table.measure(
          shared ? "MultiVertex" : "Vertex", vertices, [&](Graph &graph, Sequence &program) {
            const Tensor weights = question::onTile(graph, FLOAT, {neurons, inputs}, 0, "weights");
            const Tensor u = question::onTile(graph, FLOAT, {neurons}, 0, "u");
            const Tensor ids = question::valuesOnTile<unsigned short>(
                graph, UNSIGNED_SHORT, {sizes["spikes"]}, 0, "ids",
                std::vector<unsigned short>(sizes["spikes"], 3));
            const ComputeSet set = graph.addComputeSet("step");
            for (unsigned v = 0; v < vertices; ++v) {
              const unsigned first = neurons * v / vertices, last = neurons * (v + 1) / vertices;
              const VertexRef vertex =
                  graph.addVertex(set, shared ? "SharedNeurons" : "Neurons",
                                  {{"ids", ids},
                                   {"weights", weights.slice(first, last).flatten()},
                                   {"u", u.slice(first, last)}});
              graph.setInitialValue(vertex["decay"], 0.95f);
              graph.setInitialValue(vertex["inputs"], inputs);
              graph.setTileMapping(vertex, 0);
            }
            program.add(Execute(set));
          });
}
