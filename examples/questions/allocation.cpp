// How much does it cost if inputs do not have the layout that an op's allocator chose? The weights
// of a step are read with that layout, with TensorFlow's linear layout, and copied once.
#include <poputil/TileMapping.hpp>

#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv,
                              {{"tiles", 64}, {"inputs", 512}, {"neurons", 2}, {"most", 100}});
  const std::size_t inputs = sizes["inputs"], neurons = sizes["neurons"];
  question::Table table(sizes);
  for (unsigned steps = 1; steps <= sizes["most"]; steps *= 10)
    for (const char *way : {"as allocated", "linear, read every step", "linear, copied once"})
      table.measure(way, steps, [&](Graph &graph, Sequence &program) {
        const auto weights = [&](bool linear) { // [tiles, neurons x inputs]
          if (linear) {
            const Tensor t = graph.addVariable(FLOAT, {inputs, sizes["tiles"], neurons}, "weights");
            poputil::mapTensorLinearly(graph, t);
            return t.dimShuffle({1, 2, 0}).flatten(1, 3);
          }
          const Tensor t = graph.addVariable(FLOAT, {sizes["tiles"], neurons * inputs}, "weights");
          for (unsigned tile = 0; tile < sizes["tiles"]; ++tile)
            graph.setTileMapping(t[tile], tile);
          return t;
        };
        Tensor read = weights(way != std::string("as allocated"));
        if (way == std::string("linear, copied once")) {
          const Tensor own = weights(false);
          program.add(Copy(read, own));
          read = own;
        }
        const ComputeSet set = graph.addComputeSet("step");
        for (unsigned tile = 0; tile < sizes["tiles"]; ++tile) {
          const VertexRef vertex = graph.addVertex(
              set, "SharedNeurons",
              {{"weights", read[tile]},
               {"u", question::onTile(graph, FLOAT, {neurons}, tile, "u")},
               {"ids", question::valuesOnTile<unsigned short>(graph, UNSIGNED_SHORT, {4}, tile,
                                                              "ids", {1, 2, 3, 4})}});
          graph.setInitialValue(vertex["decay"], 0.95f);
          graph.setInitialValue(vertex["inputs"], static_cast<unsigned>(inputs));
          graph.setTileMapping(vertex, tile);
        }
        program.add(Repeat(steps, Execute(set)));
      });
}
