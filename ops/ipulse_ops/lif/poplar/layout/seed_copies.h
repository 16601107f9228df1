// The seed of a run on every IPU.
#ifndef IPULSE_LIF_POPLAR_SEED_COPIES_H
#define IPULSE_LIF_POPLAR_SEED_COPIES_H

#include <vector>

#include <poplar/Graph.hpp>

#include "layout.h"
#include "tile_plan.h"

namespace lif {

/// The seed int [2], which every IPU has for itself.
class SeedCopies {
public:
  /// given may be invalid, if there is no seed.
  SeedCopies(IpuGraphs &graph, const TilePlan &plan, const poplar::Tensor &given,
             Arrivals &arrivals);
  const poplar::Tensor &on(Place place) const { return byIpu[place.ipu]; }

private:
  std::vector<poplar::Tensor> byIpu;
};

} // namespace lif

#endif
