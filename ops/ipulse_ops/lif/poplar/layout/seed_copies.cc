#include "seed_copies.h"

namespace lif {

using poplar::Tensor;

SeedCopies::SeedCopies(IpuGraphs &graph, const TilePlan &plan, const Tensor &given,
                       Arrivals &arrivals) {
  for (unsigned ipu = 0; given.valid() && ipu < plan.ipus; ++ipu) {
    byIpu.push_back(graph.addVariable(poplar::INT, {2}, plan.counterTile(ipu), "seed"));
    arrivals.copy(given, byIpu.back());
  }
}

} // namespace lif
