#include <popnn/BatchNorm.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

namespace popnn {
namespace bn {

using namespace popops::expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::Type;
using poplar::program::Sequence;

namespace {

std::size_t numSamples(const Tensor &acts) {
  if (acts.rank() < 2 || acts.dim(1) == 0 || acts.numElements() == 0)
    throw poputil::poplibs_error("batch norm needs activations [batch, channels, ...field], not " +
                                 acts.shapeToString());
  return acts.numElements() / acts.dim(1);
}

/// A vector of the channels, to be broadcast to the activations.
Tensor along(const Tensor &channels, const Tensor &acts) {
  if (channels.rank() != 1 || channels.dim(0) != acts.dim(1))
    throw poputil::poplibs_error("batch norm: " + channels.shapeToString() +
                                 " is not one value for each channel of " + acts.shapeToString());
  std::vector<std::size_t> shape(acts.rank(), 1);
  shape[1] = acts.dim(1);
  return channels.reshape(shape);
}

/// The sum over all but the channels.
Tensor total(Graph &graph, const Tensor &acts, const Type &type, Sequence &prog,
             const DebugContext &dc) {
  std::vector<std::size_t> dims{0};
  for (unsigned d = 2; d < acts.rank(); ++d)
    dims.push_back(d);
  return popops::reduce(graph, acts, type, dims, popops::Operation::ADD, prog, dc);
}

} // namespace

std::pair<Tensor, Tensor> batchNormStatistics(Graph &graph, const Tensor &acts, float eps,
                                              Sequence &prog, bool unbiasedVarEstimate, bool,
                                              const Type &partialsType,
                                              const DebugContext &debugContext,
                                              const OptionFlags &) {
  const DebugContext dc{debugContext, "batchNormStatistics"};
  const auto n = static_cast<float>(numSamples(acts));
  if (unbiasedVarEstimate && n < 2)
    throw poputil::poplibs_error("batch norm: an unbiased variance of one sample");
  const Tensor mean =
      popops::map(graph, _1 * (1 / n), {total(graph, acts, partialsType, prog, dc)}, prog, dc);
  // Around the mean, which is the stable way, in either case.
  const Tensor squares =
      popops::map(graph, Square(Cast(_1, partialsType) - _2), {acts, along(mean, acts)}, prog, dc);
  const float scale = 1 / (unbiasedVarEstimate ? n - 1 : n);
  const Tensor invStdDev = popops::map(graph, Rsqrt(_1 * scale + eps),
                                       {total(graph, squares, partialsType, prog, dc)}, prog, dc);
  return {popops::cast(graph, mean, acts.elementType(), prog, dc),
          popops::cast(graph, invStdDev, acts.elementType(), prog, dc)};
}

std::pair<Tensor, Tensor> createBatchNormParams(Graph &graph, const Tensor &acts,
                                                const DebugContext &debugContext,
                                                const OptionFlags &) {
  const auto make = [&](const char *name) {
    return poputil::createBroadcastOperand(graph, acts, acts.elementType(), 1, false,
                                           {debugContext, name});
  };
  return {make("gamma"), make("beta")};
}

Tensor batchNormWhiten(Graph &graph, const Tensor &acts, const Tensor &mean,
                       const Tensor &invStdDev, Sequence &prog, const DebugContext &debugContext,
                       const OptionFlags &options) {
  return popops::map(graph, (_1 - _2) * _3, {acts, along(mean, acts), along(invStdDev, acts)}, prog,
                     {debugContext, "whiten"}, options);
}

std::pair<Tensor, Tensor> batchNormalise(Graph &graph, const Tensor &acts, const Tensor &gamma,
                                         const Tensor &beta, const Tensor &mean,
                                         const Tensor &invStdDev, Sequence &prog,
                                         const DebugContext &debugContext,
                                         const OptionFlags &options) {
  const Tensor whitened =
      batchNormWhiten(graph, acts, mean, invStdDev, prog, debugContext, options);
  return {batchNormalise(graph, whitened, gamma, beta, prog, debugContext, options), whitened};
}

Tensor batchNormalise(Graph &graph, const Tensor &acts, const Tensor &combinedMultiplicand,
                      const Tensor &addend, Sequence &prog, const DebugContext &debugContext,
                      const OptionFlags &options) {
  return popops::map(graph, _1 * _2 + _3,
                     {acts, along(combinedMultiplicand, acts), along(addend, acts)}, prog,
                     {debugContext, "batchNormalise"}, options);
}

std::pair<Tensor, Tensor>
batchNormParamGradients(Graph &graph, const Tensor &acts, const Tensor &gradsIn, const Tensor &mean,
                        const Tensor &iStdDev, Sequence &prog, const Type &partialsType,
                        const DebugContext &debugContext, const OptionFlags &options) {
  const Tensor whitened = batchNormWhiten(graph, acts, mean, iStdDev, prog, debugContext, options);
  return batchNormParamGradients(graph, whitened, gradsIn, prog, partialsType, debugContext,
                                 options);
}

std::pair<Tensor, Tensor> batchNormParamGradients(Graph &graph, const Tensor &actsWhitened,
                                                  const Tensor &gradsIn, Sequence &prog,
                                                  const Type &partialsType,
                                                  const DebugContext &debugContext,
                                                  const OptionFlags &) {
  numSamples(gradsIn);
  const DebugContext dc{debugContext, "batchNormParamGradients"};
  const Type type = gradsIn.elementType();
  const Tensor products = popops::mul(graph, actsWhitened, gradsIn, prog, dc);
  const Tensor gamma = total(graph, products, partialsType, prog, dc),
               beta = total(graph, gradsIn, partialsType, prog, dc);
  return {popops::cast(graph, gamma, type, prog, dc), popops::cast(graph, beta, type, prog, dc)};
}

Tensor batchNormGradients(Graph &graph, const Tensor &acts, const Tensor &gradsIn,
                          const Tensor &mean, const Tensor &invStdDev, const Tensor &gamma,
                          Sequence &prog, const Type &partialsType,
                          const DebugContext &debugContext, const OptionFlags &options) {
  const Tensor whitened =
      batchNormWhiten(graph, acts, mean, invStdDev, prog, debugContext, options);
  return batchNormGradients(graph, whitened, gradsIn, invStdDev, gamma, prog, partialsType,
                            debugContext, options);
}

Tensor batchNormGradients(Graph &graph, const Tensor &actsWhitened, const Tensor &gradsIn,
                          const Tensor &invStdDev, const Tensor &gamma, Sequence &prog,
                          const Type &partialsType, const DebugContext &debugContext,
                          const OptionFlags &options) {
  const DebugContext dc{debugContext, "batchNormGradients"};
  const float share = 1 / static_cast<float>(numSamples(gradsIn));
  const auto sums =
      batchNormParamGradients(graph, actsWhitened, gradsIn, prog, partialsType, dc, options);
  return popops::map(graph, _1 * _2 * (_3 - (_4 + _5 * _6) * share),
                     {along(gamma, gradsIn), along(invStdDev, gradsIn), gradsIn,
                      along(sums.second, gradsIn), actsWhitened, along(sums.first, gradsIn)},
                     prog, dc, options);
}

void batchNormParamUpdate(Graph &graph, const Tensor &gammaDelta, const Tensor &betaDelta,
                          float scale, Tensor &gamma, Tensor &beta, Sequence &prog,
                          const DebugContext &debugContext, const OptionFlags &options) {
  popops::scaledAddTo(graph, gamma, gammaDelta, scale, prog, debugContext, options);
  popops::scaledAddTo(graph, beta, betaDelta, scale, prog, debugContext, options);
}

} // namespace bn
} // namespace popnn
