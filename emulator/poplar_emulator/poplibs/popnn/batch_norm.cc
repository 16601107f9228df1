#include <poplin/Norms.hpp>
#include <popnn/BatchNorm.hpp>
#include <popops/ScaledAdd.hpp>

namespace popnn {
namespace bn {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::Type;
using poplar::program::Sequence;

std::pair<Tensor, Tensor> batchNormStatistics(Graph &graph, const Tensor &acts, float eps,
                                              Sequence &prog, bool unbiasedVarEstimate,
                                              bool stableAlgo, const Type &partialsType,
                                              const DebugContext &debugContext,
                                              const OptionFlags &options) {
  return poplin::normStatistics(graph, acts, eps, prog, unbiasedVarEstimate, stableAlgo,
                                partialsType, {debugContext, "batchNorm"}, options);
}

std::pair<Tensor, Tensor> createBatchNormParams(Graph &graph, const Tensor &acts,
                                                const DebugContext &debugContext,
                                                const OptionFlags &) {
  return poplin::createNormParams(graph, acts, debugContext);
}

Tensor batchNormWhiten(Graph &graph, const Tensor &acts, const Tensor &mean,
                       const Tensor &invStdDev, Sequence &prog, const DebugContext &debugContext,
                       const OptionFlags &options) {
  return poplin::normWhiten(graph, acts, mean, invStdDev, prog, debugContext, options);
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
  return poplin::normalise(graph, acts, combinedMultiplicand, addend, prog, debugContext, options);
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
                                                  const OptionFlags &options) {
  return poplin::normParamGradients(graph, actsWhitened, gradsIn, prog, partialsType, debugContext,
                                    options);
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
  const Tensor grads = poplin::normGradients(graph, gradsIn, gamma, prog, debugContext, options);
  return poplin::normStatisticsGradients(graph, actsWhitened, grads, invStdDev, prog, partialsType,
                                         debugContext, options);
}

void batchNormParamUpdate(Graph &graph, const Tensor &gammaDelta, const Tensor &betaDelta,
                          float scale, Tensor &gamma, Tensor &beta, Sequence &prog,
                          const DebugContext &debugContext, const OptionFlags &options) {
  popops::scaledAddTo(graph, gamma, gammaDelta, scale, prog, debugContext, options);
  popops::scaledAddTo(graph, beta, betaDelta, scale, prog, debugContext, options);
}

std::pair<Tensor, Tensor> distributedBatchNormStatistics(
    Graph &graph, const Tensor acts, float eps, Sequence &prog, bool unbiasedVarEstimate,
    poplin::DistributedNormReduceCallback reduceCallback, unsigned normBatchSize, bool stableAlgo,
    const Type &partialsType, const DebugContext &debugContext, const OptionFlags &) {
  return poplin::distributedNormStatistics(graph, acts, eps, prog, unbiasedVarEstimate,
                                           std::move(reduceCallback), normBatchSize, stableAlgo,
                                           partialsType, {debugContext, "batchNorm"});
}

Tensor distributedBatchNormGradients(Graph &graph, const Tensor &actsWhitened,
                                     const Tensor &gradsIn, const Tensor &invStdDev,
                                     const Tensor &gamma, Sequence &prog,
                                     poplin::DistributedNormReduceCallback reduceCallback,
                                     unsigned normBatchSize, const Type &partialsType,
                                     const DebugContext &debugContext, const OptionFlags &options) {
  const Tensor grads = poplin::normGradients(graph, gradsIn, gamma, prog, debugContext, options);
  return poplin::distributedNormStatisticsGradients(graph, actsWhitened, grads, invStdDev, prog,
                                                    std::move(reduceCallback), normBatchSize,
                                                    partialsType, debugContext);
}

Tensor distributedBatchNormGradients(Graph &graph, const Tensor &acts, const Tensor &gradsIn,
                                     const Tensor &mean, const Tensor &invStdDev,
                                     const Tensor &gamma, Sequence &prog,
                                     poplin::DistributedNormReduceCallback reduceCallback,
                                     unsigned normBatchSize, const Type &partialsType,
                                     const DebugContext &debugContext, const OptionFlags &options) {
  const Tensor whitened =
      batchNormWhiten(graph, acts, mean, invStdDev, prog, debugContext, options);
  return distributedBatchNormGradients(graph, whitened, gradsIn, invStdDev, gamma, prog,
                                       std::move(reduceCallback), normBatchSize, partialsType,
                                       debugContext, options);
}

} // namespace bn
} // namespace popnn
