// Is an exchange bound by latency or by bandwidth, and do both directions run at once?
#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"most", 65536}});
  question::Table table(sizes);
  for (unsigned bytes = 4; bytes <= sizes["most"]; bytes *= 4) {
    const auto tensor = [&](Graph &graph, unsigned tile) {
      return question::onTile(graph, UNSIGNED_INT, {bytes / 4}, tile, "words");
    };
    table.measure("there", bytes, [&](Graph &graph, Sequence &program) {
      program.add(Copy(tensor(graph, 0), tensor(graph, 1)));
    });
    table.measure("there and back at once", bytes, [&](Graph &graph, Sequence &program) {
      program.add(Copy(concat(tensor(graph, 0), tensor(graph, 1)),
                       concat(tensor(graph, 1), tensor(graph, 0))));
    });
    table.measure("there and then back", bytes, [&](Graph &graph, Sequence &program) {
      program.add(Copy(tensor(graph, 0), tensor(graph, 1)));
      program.add(Copy(tensor(graph, 1), tensor(graph, 0)));
    });
  }
}
