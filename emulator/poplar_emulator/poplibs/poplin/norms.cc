#include <poplin/Norms.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

namespace poplin {

using namespace popops::expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::Type;
using poplar::program::Sequence;

namespace {

float numSamples(const Tensor &acts) {
  if (acts.rank() < 2 || acts.dim(1) == 0 || acts.numElements() == 0)
    throw poputil::poplibs_error("a norm needs activations [batch, channels, ...field], not " +
                                 acts.shapeToString());
  return static_cast<float>(acts.numElements() / acts.dim(1));
}

/// A vector of the channels, to be broadcast to the activations.
Tensor along(const Tensor &channels, const Tensor &acts) {
  if (channels.rank() != 1 || acts.rank() < 2 || channels.dim(0) != acts.dim(1))
    throw poputil::poplibs_error("a norm: " + channels.shapeToString() +
                                 " is not one value for each channel of " + acts.shapeToString());
  std::vector<std::size_t> shape(acts.rank(), 1);
  shape[1] = acts.dim(1);
  return channels.reshape(shape);
}

/// The sum over all dimensions except channels.
Tensor total(Graph &graph, const Tensor &acts, const Type &type, Sequence &prog,
             const DebugContext &dc) {
  std::vector<std::size_t> dims{0};
  for (unsigned d = 2; d < acts.rank(); ++d)
    dims.push_back(d);
  return popops::reduce(graph, acts, type, dims, popops::Operation::ADD, prog, dc);
}

Tensor createParam(Graph &graph, const Tensor &acts, const Type &type, const DebugContext &dc) {
  numSamples(acts);
  return poputil::createBroadcastOperand(graph, acts, type, 1, false, dc);
}

} // namespace

Tensor createNormGamma(Graph &graph, const Tensor &acts, const Type &type,
                       const DebugContext &debugContext) {
  return createParam(graph, acts, type, {debugContext, "gamma"});
}
Tensor createNormGamma(Graph &graph, const Tensor &acts, const DebugContext &debugContext) {
  return createNormGamma(graph, acts, acts.elementType(), debugContext);
}
Tensor createNormBeta(Graph &graph, const Tensor &acts, const Type &type,
                      const DebugContext &debugContext) {
  return createParam(graph, acts, type, {debugContext, "beta"});
}
Tensor createNormBeta(Graph &graph, const Tensor &acts, const DebugContext &debugContext) {
  return createNormBeta(graph, acts, acts.elementType(), debugContext);
}
std::pair<Tensor, Tensor> createNormParams(Graph &graph, const Tensor &acts,
                                           const DebugContext &debugContext) {
  return {createNormGamma(graph, acts, debugContext), createNormBeta(graph, acts, debugContext)};
}

std::pair<Tensor, Tensor> normStatistics(Graph &graph, const Tensor &acts, float eps,
                                         Sequence &prog, bool unbiasedVarEstimate, bool,
                                         const Type &partialsType, const DebugContext &debugContext,
                                         const OptionFlags &) {
  const DebugContext dc{debugContext, "normStatistics"};
  const float n = numSamples(acts);
  if (unbiasedVarEstimate && n < 2)
    throw poputil::poplibs_error("a norm: an unbiased variance of one sample");
  const Tensor mean =
      popops::map(graph, _1 * (1 / n), {total(graph, acts, partialsType, prog, dc)}, prog, dc);
  // Centred on the mean, which is numerically stable, in either case.
  const Tensor squares =
      popops::map(graph, Square(Cast(_1, partialsType) - _2), {acts, along(mean, acts)}, prog, dc);
  const float scale = 1 / (unbiasedVarEstimate ? n - 1 : n);
  const Tensor invStdDev = popops::map(graph, Rsqrt(_1 * scale + eps),
                                       {total(graph, squares, partialsType, prog, dc)}, prog, dc);
  return {popops::cast(graph, mean, acts.elementType(), prog, dc),
          popops::cast(graph, invStdDev, acts.elementType(), prog, dc)};
}

Tensor normWhiten(Graph &graph, const Tensor &acts, const Tensor &mean, const Tensor &iStdDev,
                  Sequence &prog, const DebugContext &debugContext, const OptionFlags &options) {
  return popops::map(graph, (_1 - _2) * _3, {acts, along(mean, acts), along(iStdDev, acts)}, prog,
                     {debugContext, "whiten"}, options);
}

Tensor normalise(Graph &graph, const Tensor &actsWhitened, const Tensor &gamma, const Tensor &beta,
                 Sequence &prog, const DebugContext &debugContext, const OptionFlags &options) {
  return popops::map(graph, _1 * _2 + _3,
                     {actsWhitened, along(gamma, actsWhitened), along(beta, actsWhitened)}, prog,
                     {debugContext, "normalise"}, options);
}

std::pair<Tensor, Tensor> normParamGradients(Graph &graph, const Tensor &actsWhitened,
                                             const Tensor &gradsIn, Sequence &prog,
                                             const Type &partialsType,
                                             const DebugContext &debugContext,
                                             const OptionFlags &) {
  numSamples(gradsIn);
  const DebugContext dc{debugContext, "normParamGradients"};
  const Type type = gradsIn.elementType();
  const Tensor products = popops::mul(graph, actsWhitened, gradsIn, prog, dc);
  const Tensor gamma = total(graph, products, partialsType, prog, dc),
               beta = total(graph, gradsIn, partialsType, prog, dc);
  return {popops::cast(graph, gamma, type, prog, dc), popops::cast(graph, beta, type, prog, dc)};
}

Tensor normGradients(Graph &graph, const Tensor &gradsIn, const Tensor &gamma, Sequence &prog,
                     const DebugContext &debugContext, const OptionFlags &options) {
  return popops::map(graph, _1 * _2, {gradsIn, along(gamma, gradsIn)}, prog,
                     {debugContext, "normGradients"}, options);
}

Tensor normStatisticsGradients(Graph &graph, const Tensor &actsWhitened, const Tensor &gradsIn,
                               const Tensor &invStdDev, Sequence &prog, const Type &partialsType,
                               const DebugContext &debugContext, const OptionFlags &options) {
  const DebugContext dc{debugContext, "normStatisticsGradients"};
  const float share = 1 / numSamples(gradsIn);
  const auto sums =
      normParamGradients(graph, actsWhitened, gradsIn, prog, partialsType, dc, options);
  return popops::map(graph, _1 * (_2 - (_3 + _4 * _5) * share),
                     {along(invStdDev, gradsIn), gradsIn, along(sums.second, gradsIn), actsWhitened,
                      along(sums.first, gradsIn)},
                     prog, dc, options);
}

} // namespace poplin
