// Adam and AdamW on the device, on tensors as the LIF op lays them out
// (codelets/optimizers/adam.cpp).
#ifndef IPULSE_LIF_POPLAR_ADAM_H
#define IPULSE_LIF_POPLAR_ADAM_H

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "layout/layout.h"

namespace lif {

struct AdamConstants {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-7;
  double weightDecay = 0; // times the rate, the share of each weight that is taken away
};

/// With the numbers of codelets/optimizers/rounding.h.
enum class Rounding : unsigned { Nearest, Stochastic };

/// How weights of half are rounded; key: of the random numbers.
struct WeightRounding {
  Rounding kind = Rounding::Nearest;
  unsigned key = 0;
};

/// A matrix or constants [rows, neurons] with its moments and its gradient, all of one layout; the
/// weights are float or half. number: of the matrix, for the random numbers.
struct AdamMatrix {
  NeuronTensor weights, means, squares, gradients;
  unsigned number = 0;
};

/// The program of one update, which changes weights and moments where they lie: two compute sets,
/// and nothing is exchanged but two numbers. rate: float [1]. update: int [1], its number, from 1.
poplar::program::Program adamUpdate(IpuGraphs &graph, const AdamConstants &constants,
                                    const std::vector<AdamMatrix> &matrices,
                                    const poplar::Tensor &rate, const poplar::Tensor &update,
                                    const WeightRounding &rounding = {});

} // namespace lif

#endif
