// How much code does a time loop need: with Repeat, with one compute set listed per step, or with a
// new compute set per step?
#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv, {{"neurons", 6}});
  question::Table table(sizes);
  for (const unsigned steps : {1u, 10u, 100u})
    for (const char *way : {"Repeat", "one compute set, listed", "a compute set a step"})
      table.measure(way, steps, [&](Graph &graph, Sequence &program) {
        const Tensor in = question::onTile(graph, FLOAT, {sizes["neurons"], 8}, 1, "in");
        const Tensor sums = question::onTile(graph, FLOAT, {sizes["neurons"]}, 0, "sums");
        const auto addStep = [&] {
          const ComputeSet set = graph.addComputeSet("step");
          for (unsigned i = 0; i < sizes["neurons"]; ++i)
            graph.setTileMapping(graph.addVertex(set, "Sum", {{"in", in[i]}, {"sum", sums[i]}}), 0);
          return set;
        };
        const ComputeSet first = addStep();
        if (way == std::string("Repeat")) {
          program.add(Repeat(steps, Execute(first)));
          return;
        }
        program.add(Execute(first));
        for (unsigned t = 1; t < steps; ++t)
          program.add(Execute(way == std::string("one compute set, listed") ? first : addStep()));
      });
}
