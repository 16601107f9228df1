// A vertex per neuron, one per worker, or one that all workers share? The program counts a step of
// some neurons on one tile, and how evenly 1, 6 or 7 neurons use the workers.
#include "question.h"

using namespace poplar;
using namespace poplar::program;

int main(int argc, char **argv) {
  const question::Sizes sizes(argc, argv,
                              {{"inputs", 512}, {"spikes", 16}, {"most", 96}, {"workers", 6}});
  question::Table table(sizes);
  const unsigned inputs = sizes["inputs"], workers = sizes["workers"];
  for (const char *way : {"a vertex a neuron", "a vertex a worker", "one MultiVertex"})
    for (const unsigned neurons : {1u, 6u, 7u, 12u, 48u, 96u}) {
      if (neurons > sizes["most"])
        continue;
      table.measure(way, neurons, [&](Graph &graph, Sequence &program) {
        const Tensor weights = question::onTile(graph, FLOAT, {neurons, inputs}, 0, "weights");
        const Tensor u = question::onTile(graph, FLOAT, {neurons}, 0, "u");
        std::vector<unsigned short> fired(sizes["spikes"]);
        for (unsigned k = 0; k < fired.size(); ++k)
          fired[k] = static_cast<unsigned short>(k * inputs / fired.size());
        const Tensor ids =
            question::valuesOnTile(graph, UNSIGNED_SHORT, {fired.size()}, 0, "ids", fired);
        const ComputeSet set = graph.addComputeSet("step");
        const auto add = [&](const char *type, unsigned first, unsigned last) {
          const VertexRef vertex = graph.addVertex(set, type, {{"ids", ids}});
          graph.setInitialValue(vertex["decay"], 0.95f);
          graph.connect(vertex["weights"], weights.slice(first, last).flatten());
          if (type == std::string("Neuron")) {
            graph.connect(vertex["u"], u[first]);
          } else {
            graph.connect(vertex["u"], u.slice(first, last));
            graph.setInitialValue(vertex["inputs"], inputs);
          }
          graph.setTileMapping(vertex, 0);
        };
        if (way == std::string("a vertex a neuron"))
          for (unsigned i = 0; i < neurons; ++i)
            add("Neuron", i, i + 1);
        else if (way == std::string("a vertex a worker"))
          for (unsigned w = 0; w < std::min(workers, neurons); ++w)
            add("Neurons", neurons * w / std::min(workers, neurons),
                neurons * (w + 1) / std::min(workers, neurons));
        else
          add("SharedNeurons", 0, neurons);
        program.add(Execute(set));
      });
    }
}
