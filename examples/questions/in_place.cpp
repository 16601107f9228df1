// Why does popops::mulInPlace take so many cycles, where all elements are on the right tiles?
#include <popops/ElementWise.hpp>

#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"most", 768}, {"tiles", 16}});
  question::Table table(sizes);
  for (unsigned elements = 1; elements <= sizes["most"];
       elements = elements == 1 ? 12 : 4 * elements)
    for (const char *way : {"by a tensor", "by a tensor of another tile", "by a number"})
      table.measure(way, elements, [&](Graph &graph, Sequence &program) {
        std::vector<Tensor> states, factors;
        const bool elsewhere = way == std::string("by a tensor of another tile");
        for (unsigned tile = 0; tile < sizes["tiles"]; ++tile) {
          states.push_back(question::onTile(graph, FLOAT, {elements}, tile, "state"));
          factors.push_back(question::onTile(graph, FLOAT, {elements},
                                             tile + (elsewhere ? sizes["tiles"] : 0), "decay"));
        }
        if (way == std::string("by a number"))
          popops::mulInPlace(graph, concat(states), 0.95f, program);
        else
          popops::mulInPlace(graph, concat(states), concat(factors), program);
      });
}
