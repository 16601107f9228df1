#include "conv_operands.h"

#include <poputil/exceptions.hpp>

#include "builders/operands.h"

namespace lif {

using poplar::Tensor;

std::vector<unsigned> convolutionSizes(const char *op, const Words &words) {
  const std::vector<unsigned> sizes = words.wholes("geometry", kConvolutionSizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool mayBeZero = i == 3 || i == 8 || i == 9; // channels first, padding
    if (sizes[i] == 0 && !mayBeZero)
      throw poputil::poplibs_error(std::string(op) + ": number " + std::to_string(i + 1) +
                                   " of geometry must be at least 1; got 0");
  }
  const Convolution conv(sizes.data());
  if (conv.channels % conv.groups != 0 || conv.filters % conv.groups != 0)
    throw poputil::poplibs_error(std::string(op) +
                                 ": groups must divide the channels and the filters; got " +
                                 std::to_string(conv.groups));
  const double most = 1 << 24; // a float has every whole number below
  const double neurons = static_cast<double>(conv.positions()) * conv.filters;
  const double sites = static_cast<double>(conv.input[0]) * conv.input[1] * conv.channels;
  if (neurons >= most || sites >= most)
    throw poputil::poplibs_error(std::string(op) +
                                 ": inputs and neurons must each be fewer than 16777216");
  return sizes;
}

ConvOperands::ConvOperands(const char *op, const Words &words, const std::vector<Tensor> &inputs)
    : sizes(convolutionSizes(op, words)), conv(sizes.data()), biased(words.flag("bias")),
      weightsOnly(words.flag("weights_only")), slots(inputs.at(1), inputs.at(2)) {
  steps = static_cast<unsigned>(inputs[1].dim(0));
  batch = static_cast<unsigned>(inputs[1].dim(1));
  if (inputs[1].numElements() == 0)
    throw poputil::poplibs_error(std::string(op) +
                                 ": ids must have at least one step, sample and slot; got " +
                                 inputs[1].shapeToString());
  checkShape("kernel", inputs[0],
             {conv.kernel[0], conv.kernel[1], conv.groupChannels(), conv.filters});
  needFloat(op, inputs[0]);
  kernel = inputs[0].flatten();
  if (!biased)
    return;
  checkShape("bias", inputs[3], {conv.filters});
  needFloat(op, inputs[3]);
  bias = inputs[3];
}

NewVertex ConvOperands::vertex(poplar::Graph &graph, poplar::ComputeSet set,
                               const std::string &type, unsigned tile) const {
  const Tensor geometry =
      graph.addConstant<unsigned>(poplar::UNSIGNED_INT, {kConvolutionSizes}, sizes.data());
  graph.setTileMapping(geometry, tile);
  NewVertex found(graph, set, type, tile);
  found.connect("geometry", geometry);
  return found;
}

poplar::program::Program convGradients(poplar::Graph &graph, const ConvOperands &operands,
                                       const Tensor &gradients, std::vector<Tensor> &found) {
  Tensor kernel, slots, bias;
  poplar::program::Sequence program;
  program.add(convWeightGradients(graph, operands, gradients, kernel));
  found.push_back(kernel);
  if (!operands.weightsOnly) {
    program.add(convSlotGradients(graph, operands, gradients, slots));
    found.push_back(slots.reshape({operands.steps, operands.batch, operands.slots.slots}));
  }
  if (operands.biased) {
    program.add(convBiasGradients(graph, operands, gradients, bias));
    found.push_back(bias);
  }
  return std::move(program);
}

} // namespace lif
