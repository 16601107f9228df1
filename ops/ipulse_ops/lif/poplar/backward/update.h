// The update of a network's weights on their tiles: Adam, AdamW or stochastic gradient descent.
#ifndef IPULSE_LIF_POPLAR_UPDATE_H
#define IPULSE_LIF_POPLAR_UPDATE_H

#include <vector>

#include "adam.h"

namespace lif {

struct SgdConstants {
  double momentum = 0;
  bool nesterov = false;
};

/// The program of one update by stochastic gradient descent; the momenta are the matrices' means,
/// which are empty without.
/// rate: float [1]. update: int [1], its number, from 1.
poplar::program::Program sgdUpdate(IpuGraphs &graph, const SgdConstants &constants,
                                   const std::vector<AdamMatrix> &matrices,
                                   const poplar::Tensor &rate, const poplar::Tensor &update,
                                   const WeightRounding &rounding = {});

} // namespace lif

#endif
