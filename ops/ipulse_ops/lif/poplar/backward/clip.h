// The clipping of a network's gradients on their tiles (codelets/optimizers/clip.cpp).
#ifndef IPULSE_LIF_POPLAR_CLIP_H
#define IPULSE_LIF_POPLAR_CLIP_H

#include <vector>

#include <poplar/Program.hpp>

#include "layout/layout.h"

namespace lif {

/// Bounds of the gradients; 0: none.
struct Clipping {
  double value = 0; // of each
  double norm = 0;  // of all together, after the bound of each
};

/// The program that clips the gradients where they lie: nothing is exchanged but six sums of a
/// tile's matrix and the factor.
poplar::program::Program clipGradients(IpuGraphs &graph, const Clipping &clipping,
                                       const std::vector<NeuronTensor> &gradients);

} // namespace lif

#endif
