#include <poplin/Convolution.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

// The biases of a convolution: one number for each output channel.

namespace poplin {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;

Tensor createBiases(Graph &graph, const Tensor &activations, const DebugContext &debugContext) {
  return poputil::createBroadcastOperand(graph, activations, activations.elementType(), 1, false,
                                         debugContext);
}

Tensor createBiases(Graph &graph, const Tensor &activations, const ConvParams &params,
                    const DebugContext &debugContext, const OptionFlags &, PlanningCache *) {
  const std::size_t channels = params.getNumOutputChans();
  if (activations.rank() < 2 || activations.dim(1) != channels)
    throw poputil::poplibs_error("createBiases: activations " + activations.shapeToString() +
                                 " are not the output of a convolution with " +
                                 std::to_string(channels) + " output channels");
  return createBiases(graph, activations, debugContext);
}

namespace {

Tensor biasGradient(Graph &graph, const Tensor &zDeltas, Sequence &prog, const DebugContext &dc) {
  std::vector<std::size_t> dims{0};
  for (unsigned d = 2; d < zDeltas.rank(); ++d)
    dims.push_back(d);
  return popops::reduce(graph, zDeltas, dims, popops::Operation::ADD, prog, dc);
}

} // namespace

void convolutionBiasUpdate(Graph &graph, const Tensor &zDeltas, const Tensor &biases,
                           const Tensor &scale, Sequence &prog, const DebugContext &debugContext,
                           const OptionFlags &) {
  popops::scaledAddTo(graph, biases, biasGradient(graph, zDeltas, prog, debugContext), scale, prog,
                      debugContext);
}
void convolutionBiasUpdate(Graph &graph, const Tensor &zDeltas, const Tensor &biases, float scale,
                           Sequence &prog, const DebugContext &debugContext, const OptionFlags &) {
  popops::scaledAddTo(graph, biases, biasGradient(graph, zDeltas, prog, debugContext), scale, prog,
                      debugContext);
}

void addBias(Graph &graph, const Tensor &in, const Tensor &biases, Sequence &prog,
             const DebugContext &debugContext, const OptionFlags &options) {
  if (in.rank() < 2 || biases.rank() != 1 || biases.dim(0) != in.dim(1))
    throw poputil::poplibs_error("addBias of " + biases.shapeToString() + " to " +
                                 in.shapeToString());
  std::vector<std::size_t> shape(in.rank(), 1);
  shape[1] = biases.dim(0);
  const Tensor along = biases.reshape(shape);
  popops::addInPlace(graph, in, along, prog, debugContext, options);
}

} // namespace poplin
