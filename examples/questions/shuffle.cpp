// How are random candidates chosen without a shuffle: by sorting random keys, or by a random start
// position?
#include <popops/ElementWise.hpp>
#include <popops/TopK.hpp>
#include <poprand/RandomGen.hpp>
#include <poprand/codelets.hpp>

#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"most", 1024}, {"tenth", 10}});
  question::Table table(sizes);
  for (unsigned neurons = 64; neurons <= sizes["most"]; neurons *= 4)
    for (const bool sorted : {true, false})
      table.measure(sorted ? "random keys, topK" : "random start", neurons,
                    [&](Graph &graph, Sequence &program) {
                      poprand::addCodelets(graph);
                      const Tensor like =
                          question::onTile(graph, FLOAT, {1, sorted ? neurons : 1}, 0, "like");
                      const Tensor random =
                          poprand::uniform(graph, nullptr, 0, like, FLOAT, 0, neurons, program);
                      if (sorted)
                        popops::topKWithPermutation(
                            graph, program, random,
                            {neurons / sizes["tenth"], true, popops::SortOrder::NONE});
                    });
}
