// Does a stream copy cost its bytes, or a fixed time per copy?
#include <poputil/TileMapping.hpp>

#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"most", 1048576}, {"pieces", 16}});
  question::Table table(sizes);
  std::vector<unsigned> words(sizes["most"] / 4);
  for (unsigned bytes = 1024; bytes <= sizes["most"]; bytes *= 4)
    for (const unsigned copies : {1u, sizes["pieces"]}) {
      const std::size_t ofOne = bytes / 4 / copies;
      const auto handle = [](unsigned i) { return "input" + std::to_string(i); };
      table.measure(
          copies == 1 ? "one copy" : "several copies", bytes,
          [&](Graph &graph, Sequence &program) {
            for (unsigned i = 0; i < copies; ++i) {
              const Tensor t = graph.addVariable(UNSIGNED_INT, {ofOne}, "input");
              poputil::mapTensorLinearly(graph, t);
              program.add(Copy(graph.addHostToDeviceFIFO(handle(i), UNSIGNED_INT, ofOne), t));
            }
          },
          [&](Engine &engine) {
            for (unsigned i = 0; i < copies; ++i)
              engine.connectStream(handle(i), words.data() + i * ofOne,
                                   words.data() + (i + 1) * ofOne);
          });
    }
}
