// Can a program decide by its data whether spikes are sent, and does it pay?
#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"tiles", 64}, {"most", 16384}});
  question::Table table(sizes);
  for (unsigned words = 16; words <= sizes["most"]; words *= 4)
    for (const char *way : {"always sent", "If, there are spikes", "If, there are none"})
      table.measure(way, words, [&](Graph &graph, Sequence &program) {
        const Tensor ids = question::onTile(graph, UNSIGNED_INT, {words}, 0, "ids");
        std::vector<Tensor> received;
        for (unsigned tile = 1; tile <= sizes["tiles"]; ++tile)
          received.push_back(question::onTile(graph, UNSIGNED_INT, {1, words}, tile, "ids"));
        const Copy send(ids.broadcast(sizes["tiles"], 0), concat(received));
        if (way == std::string("always sent")) {
          program.add(send);
          return;
        }
        const unsigned spikes = way == std::string("If, there are spikes");
        const Tensor any =
            question::valuesOnTile<unsigned>(graph, UNSIGNED_INT, {}, 0, "any", {spikes});
        program.add(If(any, send, Sequence()));
      });
}
