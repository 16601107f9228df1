// LIF neurons behind a convolution of spikes (ops/ipulse_ops/conv/reference.py).
#ifndef IPULSE_LIF_POPLAR_CONV_NEURONS_H
#define IPULSE_LIF_POPLAR_CONV_NEURONS_H

#include <string>
#include <vector>

#include "conv_operands.h"

namespace lif {

/// A convolution and its neurons. Kernel and bias have the factor of the current in them.
struct ConvNeurons {
  /// inputs: kernel, ids, counts, bias if there is one, second threshold [1] if there is one.
  /// Raises poputil::poplibs_error if attributes and inputs do not fit each other.
  ConvNeurons(const std::string &attributes, const std::vector<poplar::Tensor> &inputs);

  ConvOperands operands;
  float decay, threshold;
  unsigned reset, resetGradient; // of codelets/conv/reset.h
  Surrogate surrogate;
  bool gated;
  poplar::Tensor secondThreshold; // only if gated
};

/// Membranes before the reset, [rows, neurons].
poplar::program::Program convMembranes(poplar::Graph &graph, const ConvNeurons &neurons,
                                       poplar::Tensor &membranes);

/// Ids [rows, neurons] and counts [rows, 2] of spikes and of others that carry gradient.
poplar::program::Program convNeuronSlots(poplar::Graph &graph, const ConvNeurons &neurons,
                                         const poplar::Tensor &membranes, poplar::Tensor &ids,
                                         poplar::Tensor &counts);

/// The gradients of the membranes for those of the spikes, both [rows, neurons].
poplar::program::Program convAdjoint(poplar::Graph &graph, const ConvNeurons &neurons,
                                     const poplar::Tensor &membranes,
                                     const poplar::Tensor &bySpikes, poplar::Tensor &byMembranes);

} // namespace lif

#endif
