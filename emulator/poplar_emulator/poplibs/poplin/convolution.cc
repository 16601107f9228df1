#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Pad.hpp>
#include <popops/ScaledAdd.hpp>
#include <poputil/exceptions.hpp>

#include "poplibs/poputil/linear_variable.h"

// A convolution is a matrix product with the patches of its input, which are views of it.

namespace poplin {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::emulator::linearVariable;
using poplar::program::Sequence;

namespace {

using Shape = std::vector<std::size_t>;

Shape joined(Shape first, const Shape &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
Shape weightShape(const ConvParams &p) {
  return joined({p.numConvGroups, p.outputChannelsPerConvGroup, p.inputChannelsPerConvGroup},
                p.kernelShape);
}
Shape inputShape(const ConvParams &p) {
  return joined({p.batchSize, p.getNumInputChans()}, p.inputFieldShape);
}
Shape outputShape(const ConvParams &p) {
  return joined({p.batchSize, p.getNumOutputChans()}, p.getOutputFieldShape());
}

void need(const Tensor &t, const Shape &shape, const poplar::Type &type, const char *what) {
  if (t.shape() != shape || t.elementType() != type)
    throw poputil::poplibs_error(std::string("convolution: the ") + what + " is " +
                                 t.getDebugStr() + ", which is not what the parameters say");
}

/// Elements of dimension `at` with `dilation` - 1 zeros between them.
Tensor dilate(Graph &graph, const Tensor &t, unsigned dilation, unsigned at) {
  const std::size_t n = t.dim(at);
  if (dilation == 1 || n < 2)
    return t;
  const Tensor apart = popops::pad(graph, t.expand({at + 1}), 0, dilation - 1, at + 1);
  return apart.flatten(at, at + 2).slice(0, (n - 1) * dilation + 1, at);
}

/// The transformed input, [batch, groups, channels of a group, ...field].
Tensor transformed(Graph &graph, const Tensor &in, const ConvParams &p) {
  Tensor t = in.reshapePartial(1, 2, {p.numConvGroups, p.inputChannelsPerConvGroup});
  const ConvParams::InputTransform &how = p.inputTransform;
  for (unsigned d = 0; d < p.getNumFieldDims(); ++d) {
    const unsigned at = d + 3;
    t = t.slice(how.truncationLower[d], t.dim(at) - how.truncationUpper[d], at);
    t = dilate(graph, t, how.dilation[d], at);
    t = popops::pad(graph, t, how.paddingLower[d], how.paddingUpper[d], at);
    if (how.flip[d])
      t = t.reverse(at);
  }
  return t;
}

/// The number of outputs of a dimension before padding.
std::size_t computed(const ConvParams &p, unsigned d) {
  return p.getOutputSize(d) - p.outputTransform.paddingLower[d] - p.outputTransform.paddingUpper[d];
}

/// [groups, channels of a group * elements of the kernel, batch * outputs]: the patch of each
/// output.
Tensor patches(Graph &graph, const Tensor &in, const ConvParams &p) {
  const Tensor field = transformed(graph, in, p);
  const auto dims = static_cast<unsigned>(p.getNumFieldDims());
  std::vector<unsigned> kernel;
  unsigned taps = 1;
  for (unsigned d = 0; d < dims; ++d)
    taps *= kernel.emplace_back(p.getTruncatedKernelSize(d));
  std::vector<Tensor> seen;
  for (unsigned tap = 0; tap < taps; ++tap) {
    Tensor t = field;
    unsigned rest = tap;
    for (unsigned d = dims; d-- > 0;) {
      const ConvParams::InputTransform &how = p.kernelTransform;
      std::size_t place = rest % kernel[d] * how.dilation[d] + how.paddingLower[d];
      rest /= kernel[d];
      if (how.flip[d])
        place = p.getTransformedKernelSize(d) - 1 - place;
      const std::size_t first = place + p.outputTransform.truncationLower[d];
      const unsigned stride = p.outputTransform.stride[d];
      const std::size_t count = computed(p, d);
      t = t.slice(first, first + (count ? (count - 1) * stride + 1 : 0), d + 3);
      t = t.subSample(stride, d + 3);
    }
    seen.push_back(t.flatten(3, 3 + dims).expand({0}));
  }
  // [taps, batch, groups, channels, outputs]
  return poplar::concat(seen).dimShuffle({2, 3, 0, 1, 4}).flatten(3, 5).flatten(1, 3);
}

/// The elements of the kernel that exist: [groups, out, in, elements].
Tensor kernelOf(const Tensor &weights, const ConvParams &p) {
  Tensor t = weights;
  const auto dims = static_cast<unsigned>(p.getNumFieldDims());
  for (unsigned d = 0; d < dims; ++d)
    t = t.slice(p.kernelTransform.truncationLower[d],
                t.dim(d + 3) - p.kernelTransform.truncationUpper[d], d + 3);
  return t.flatten(3, 3 + dims);
}

Tensor reversed(const Tensor &weights) {
  Tensor t = weights.dimShufflePartial({1, 2}, {2, 1});
  for (unsigned d = 3; d < t.rank(); ++d)
    t = t.reverse(d);
  return t;
}

} // namespace

Tensor createWeights(Graph &graph, const ConvParams &params, const DebugContext &debugContext,
                     const OptionFlags &, PlanningCache *) {
  return linearVariable(graph, params.inputType, weightShape(params), debugContext);
}
Tensor createInput(Graph &graph, const ConvParams &params, const DebugContext &debugContext,
                   const OptionFlags &, PlanningCache *) {
  return linearVariable(graph, params.inputType, inputShape(params), debugContext);
}
Tensor convolution(Graph &graph, const Tensor &in, const Tensor &weights, const ConvParams &params,
                   bool transposeAndFlipWeights, Sequence &prog, const DebugContext &debugContext,
                   const OptionFlags &options, PlanningCache *cache) {
  params.validate();
  const DebugContext dc{debugContext, "convolution"};
  const Tensor w = transposeAndFlipWeights ? reversed(weights) : weights;
  need(in, inputShape(params), params.inputType, "input");
  need(w, weightShape(params), params.inputType, "kernel");
  // [groups, out, batch * outputs]
  Tensor out = matMulGrouped(graph, kernelOf(w, params).flatten(2, 4), patches(graph, in, params),
                             prog, params.outputType, dc, options, cache);
  Shape field{params.batchSize};
  for (unsigned d = 0; d < params.getNumFieldDims(); ++d)
    field.push_back(computed(params, d));
  out = out.reshapePartial(2, 3, field).dimRoll(2, 0).flatten(1, 3);
  for (unsigned d = 0; d < params.getNumFieldDims(); ++d)
    out = popops::pad(graph, out, params.outputTransform.paddingLower[d],
                      params.outputTransform.paddingUpper[d], d + 2);
  if (!out.containsConstant())
    return out;
  const Tensor whole =
      linearVariable(graph, params.outputType, out.shape(), dc); // to be written to
  prog.add(poplar::program::Copy(out, whole, false, dc));
  return whole;
}

Tensor createConvOutput(Graph &graph, const ConvParams &params, const DebugContext &debugContext,
                        const OptionFlags &, PlanningCache *) {
  params.validate();
  Shape shape = params.getOutputFieldShape();
  shape.insert(shape.begin(), {params.batchSize, params.getNumOutputChans()});
  return linearVariable(graph, params.outputType, shape, debugContext);
}

void convolutionWithOutput(Graph &graph, const Tensor &in, const Tensor &weights, const Tensor &out,
                           const ConvParams &params, bool transposeAndFlipWeights, Sequence &prog,
                           const DebugContext &debugContext, const OptionFlags &options,
                           PlanningCache *cache) {
  const Tensor result = convolution(graph, in, weights, params, transposeAndFlipWeights, prog,
                                    debugContext, options, cache);
  if (out.shape() != result.shape() || out.elementType() != result.elementType())
    throw poputil::poplibs_error("convolutionWithOutput: the output is " + out.getDebugStr() +
                                 " and must have shape " + result.shapeToString());
  prog.add(poplar::program::Copy(result, out, false, debugContext));
}

void weightsTransposeChansFlipXY(Graph &, const Tensor &weightsIn, const Tensor &weightsOut,
                                 Sequence &prog, const DebugContext &debugContext) {
  prog.add(poplar::program::Copy(reversed(weightsIn), weightsOut, false, debugContext));
}

Tensor calculateWeightDeltas(Graph &graph, const Tensor &zDeltas, const Tensor &activations,
                             const ConvParams &params, Sequence &prog,
                             const DebugContext &debugContext, const OptionFlags &options,
                             PlanningCache *cache) {
  params.validate();
  need(zDeltas, outputShape(params), params.outputType, "gradient of the output");
  need(activations, inputShape(params), params.inputType, "input");
  const auto dims = static_cast<unsigned>(params.getNumFieldDims());
  const DebugContext dc{debugContext, "weightDeltas"};
  Tensor deltas = zDeltas;
  for (unsigned d = 0; d < dims; ++d)
    deltas = deltas.slice(params.outputTransform.paddingLower[d],
                          deltas.dim(d + 2) - params.outputTransform.paddingUpper[d], d + 2);
  // [groups, out, batch * outputs]
  deltas = deltas.reshapePartial(1, 2, {params.numConvGroups, params.outputChannelsPerConvGroup})
               .dimRoll(0, 2)
               .flatten(2, 3 + dims);
  const Tensor product =
      matMulGrouped(graph, deltas, transposeGroupedMatrix(patches(graph, activations, params)),
                    prog, params.inputType, dc, options, cache);
  Shape kernel{params.inputChannelsPerConvGroup};
  for (unsigned d = 0; d < dims; ++d)
    kernel.push_back(params.getTruncatedKernelSize(d));
  Tensor gradient = product.reshapePartial(2, 3, kernel);
  for (unsigned d = 0; d < dims; ++d)
    gradient = popops::pad(graph, gradient, params.kernelTransform.truncationLower[d],
                           params.kernelTransform.truncationUpper[d], d + 3);
  return gradient;
}

void convolutionWeightUpdate(Graph &graph, const Tensor &zDeltas, const Tensor &weights,
                             const Tensor &activations, ConvParams params, const Tensor &scale,
                             Sequence &prog, const DebugContext &debugContext,
                             const OptionFlags &options, PlanningCache *cache) {
  const Tensor gradient = calculateWeightDeltas(graph, zDeltas, activations, params, prog,
                                                debugContext, options, cache);
  popops::scaledAddTo(graph, weights, gradient, scale, prog, debugContext);
}
void convolutionWeightUpdate(Graph &graph, const Tensor &zDeltas, const Tensor &weights,
                             const Tensor &activations, ConvParams params, float scale,
                             Sequence &prog, const DebugContext &debugContext,
                             const OptionFlags &options, PlanningCache *cache) {
  const Tensor gradient = calculateWeightDeltas(graph, zDeltas, activations, params, prog,
                                                debugContext, options, cache);
  popops::scaledAddTo(graph, weights, gradient, scale, prog, debugContext);
}

void reportPlanInfo(std::ostream &out, const Graph &, const ConvParams &params, const OptionFlags &,
                    PlanningCache *) {
  out << params << "A product of the kernel with the patches of the input\n";
}
void reportWeightUpdatePlanInfo(std::ostream &out, const Graph &graph, const ConvParams &fwdParams,
                                const OptionFlags &fwdOptions, PlanningCache *cache) {
  reportPlanInfo(out, graph, fwdParams, fwdOptions, cache);
}

} // namespace poplin
