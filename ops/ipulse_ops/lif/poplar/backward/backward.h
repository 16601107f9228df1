#ifndef IPULSE_LIF_POPLAR_BACKWARD_H
#define IPULSE_LIF_POPLAR_BACKWARD_H

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "builders/network.h"
#include "builders/operands.h"

namespace lif {

/// The program that makes the gradients of a loss: `found` becomes those by operandsWithGradients.
///
/// gradients: by the outputs of the forward pass, of which those by membranes and by the slots
/// (ids) of every layer count; an invalid tensor stands for zeros. results: those outputs.
poplar::program::Program buildBackward(poplar::Graph &graph, const Network &network,
                                       const Operands &operands,
                                       const std::vector<poplar::Tensor> &gradients,
                                       const std::vector<poplar::Tensor> &results,
                                       std::vector<poplar::Tensor> &found);

} // namespace lif

#endif
