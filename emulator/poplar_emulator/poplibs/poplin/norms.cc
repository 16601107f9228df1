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

namespace {

/// Adds tensors of all replicas of a group, if there is more than one.
class AcrossReplicas {
public:
  AcrossReplicas() = default;
  AcrossReplicas(DistributedNormReduceCallback callback, unsigned normSize, const Tensor &acts) {
    const std::size_t own = acts.dim(0);
    if (!callback || own == 0 || normSize <= own)
      return;
    if (normSize % own)
      throw poputil::poplibs_error("a norm of " + std::to_string(normSize) +
                                   " samples and replicas with " + std::to_string(own) + " each");
    reduce = std::move(callback);
    replicas = static_cast<unsigned>(normSize / own);
  }
  std::vector<Tensor> sum(Graph &graph, const std::vector<Tensor> &ts, Sequence &prog,
                          const DebugContext &dc) const {
    return replicas == 1 ? ts : reduce(graph, ts, prog, replicas, dc, {});
  }

  unsigned replicas = 1;

private:
  DistributedNormReduceCallback reduce;
};

std::pair<Tensor, Tensor> statistics(Graph &graph, const Tensor &acts, float eps, Sequence &prog,
                                     bool unbiasedVarEstimate, const Type &partialsType,
                                     const DebugContext &dc, const AcrossReplicas &all) {
  const float n = numSamples(acts) * static_cast<float>(all.replicas);
  if (unbiasedVarEstimate && n < 2)
    throw poputil::poplibs_error("a norm: an unbiased variance of one sample");
  const Tensor own =
      popops::map(graph, _1 * (1 / n), {total(graph, acts, partialsType, prog, dc)}, prog, dc);
  const Tensor mean = all.sum(graph, {own}, prog, dc).at(0);
  // Centred on the mean, which is numerically stable, in either case.
  const Tensor squares =
      popops::map(graph, Square(Cast(_1, partialsType) - _2), {acts, along(mean, acts)}, prog, dc);
  const float scale = 1 / (unbiasedVarEstimate ? n - 1 : n);
  const Tensor power =
      all.sum(graph, {total(graph, squares, partialsType, prog, dc)}, prog, dc).at(0);
  const Tensor invStdDev = popops::map(graph, Rsqrt(_1 * scale + eps), {power}, prog, dc);
  return {popops::cast(graph, mean, acts.elementType(), prog, dc),
          popops::cast(graph, invStdDev, acts.elementType(), prog, dc)};
}

Tensor statisticsGradients(Graph &graph, const Tensor &actsWhitened, const Tensor &gradsIn,
                           const Tensor &invStdDev, Sequence &prog, const Type &partialsType,
                           const DebugContext &dc, const OptionFlags &options,
                           const AcrossReplicas &all) {
  const float share = 1 / (numSamples(gradsIn) * static_cast<float>(all.replicas));
  const auto own =
      normParamGradients(graph, actsWhitened, gradsIn, prog, partialsType, dc, options);
  const std::vector<Tensor> sums = all.sum(graph, {own.first, own.second}, prog, dc);
  return popops::map(graph, _1 * (_2 - (_3 + _4 * _5) * share),
                     {along(invStdDev, gradsIn), gradsIn, along(sums.at(1), gradsIn), actsWhitened,
                      along(sums.at(0), gradsIn)},
                     prog, dc, options);
}

} // namespace

std::pair<Tensor, Tensor> normStatistics(Graph &graph, const Tensor &acts, float eps,
                                         Sequence &prog, bool unbiasedVarEstimate, bool,
                                         const Type &partialsType, const DebugContext &debugContext,
                                         const OptionFlags &) {
  return statistics(graph, acts, eps, prog, unbiasedVarEstimate, partialsType,
                    {debugContext, "normStatistics"}, {});
}

std::pair<Tensor, Tensor> distributedNormStatistics(Graph &graph, const Tensor &acts, float eps,
                                                    Sequence &prog, bool unbiasedVarEstimate,
                                                    DistributedNormReduceCallback callback,
                                                    unsigned normSize, bool,
                                                    const Type &partialsType,
                                                    const DebugContext &debugContext) {
  return statistics(graph, acts, eps, prog, unbiasedVarEstimate, partialsType,
                    {debugContext, "distributedNormStatistics"},
                    {std::move(callback), normSize, acts});
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
  return statisticsGradients(graph, actsWhitened, gradsIn, invStdDev, prog, partialsType,
                             {debugContext, "normStatisticsGradients"}, options, {});
}

Tensor distributedNormStatisticsGradients(Graph &graph, const Tensor &actsWhitened,
                                          const Tensor &gradsIn, const Tensor &invStdDev,
                                          Sequence &prog, DistributedNormReduceCallback callback,
                                          unsigned normSize, const Type &partialsType,
                                          const DebugContext &debugContext) {
  return statisticsGradients(graph, actsWhitened, gradsIn, invStdDev, prog, partialsType,
                             {debugContext, "distributedNormStatisticsGradients"}, {},
                             {std::move(callback), normSize, actsWhitened});
}

} // namespace poplin
