#include <popnn/Gru.hpp>

#include "gru_pass.h"

namespace popnn {
namespace gru {

using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;
using Cache = poplin::PlanningCache;

namespace {

GruParams withSteps(GruParams params, const Tensor &realTimeSteps) {
  params.rnn.varTimeSteps = realTimeSteps;
  return params;
}

} // namespace

Tensor gruFwd(Graph &graph, const GruParams &params, const Tensor &stateInit, const Tensor &in,
              const GruWeights &weights, Tensor *intermediates, Sequence &fwdProg,
              const DebugContext &debugContext, const OptionFlags &options, Cache *cache) {
  return forwardPass(graph, params, stateInit, in, weights, intermediates, {}, fwdProg,
                     {debugContext, "gruFwd"}, options, cache);
}

Tensor gruBwd(Graph &graph, const GruParams &params, Sequence &prog, const Tensor &,
              const Tensor &fwdIntermediatesSeq, const GruWeights &weights, const Tensor &,
              const Tensor &, const Tensor &gradLayerNext, Tensor *inputGrad,
              Tensor *bwdIntermediates, const DebugContext &debugContext,
              const OptionFlags &options, Cache *cache) {
  return backwardPass(graph, params, prog, fwdIntermediatesSeq, weights, gradLayerNext, inputGrad,
                      bwdIntermediates, {}, nullptr, {debugContext, "gruBwd"}, options, cache);
}

Tensor gruFwd(Graph &graph, const GruParams &params, const Tensor &stateInit, const Tensor &in,
              const Tensor &realTimeSteps, const GruWeights &weights, Tensor *intermediates,
              Sequence &fwdProg, const DebugContext &debugContext, const OptionFlags &options,
              Cache *cache) {
  const GruParams timed = withSteps(params, realTimeSteps);
  return forwardPass(graph, timed, stateInit, in, weights, intermediates, {}, fwdProg,
                     {debugContext, "gruFwd"}, options, cache);
}

Tensor gruBwd(Graph &graph, const GruParams &params, Sequence &prog, const Tensor &,
              const Tensor &fwdIntermediatesSeq, const GruWeights &weights, const Tensor &,
              const Tensor &realTimeSteps, const Tensor &, const Tensor &gradLayerNext,
              Tensor *inputGrad, Tensor *bwdIntermediates, const DebugContext &debugContext,
              const OptionFlags &options, Cache *cache) {
  const GruParams timed = withSteps(params, realTimeSteps);
  return backwardPass(graph, timed, prog, fwdIntermediatesSeq, weights, gradLayerNext, inputGrad,
                      bwdIntermediates, {}, nullptr, {debugContext, "gruBwd"}, options, cache);
}

GruWeights gruWU(Graph &graph, const GruParams &params, Sequence &prog, const Tensor &,
                 const Tensor &fwdIntermediates, const Tensor &bwdIntermediates, const GruWeights &,
                 const Tensor &input, const Tensor &, const DebugContext &debugContext,
                 const OptionFlags &options, Cache *cache) {
  return weightPass(graph, params, prog, fwdIntermediates, bwdIntermediates, input,
                    {debugContext, "gruWU"}, options, cache);
}

Tensor gruBwdWithWU(Graph &graph, const GruParams &params, Sequence &prog,
                    const Tensor &fwdOutputInit, const Tensor &fwdIntermediates,
                    const GruWeights &weights, const Tensor &input, const Tensor &output,
                    const Tensor &outputGrad, Tensor *inputGrad, GruWeights &weightsGrad,
                    const DebugContext &debugContext, const OptionFlags &options, Cache *cache) {
  Tensor units;
  const Tensor state = gruBwd(graph, params, prog, fwdOutputInit, fwdIntermediates, weights, input,
                              output, outputGrad, inputGrad, &units, debugContext, options, cache);
  weightsGrad = gruWU(graph, params, prog, fwdOutputInit, fwdIntermediates, units, weights, input,
                      output, debugContext, options, cache);
  return state;
}

Tensor gruBwdWithWU(Graph &graph, const GruParams &params, Sequence &prog,
                    const Tensor &fwdOutputInit, const Tensor &fwdIntermediates,
                    const GruWeights &weights, const Tensor &input, const Tensor &realTimeSteps,
                    const Tensor &output, const Tensor &outputGrad, Tensor *inputGrad,
                    GruWeights &weightsGrad, const DebugContext &debugContext,
                    const OptionFlags &options, Cache *cache) {
  Tensor units;
  const Tensor state =
      gruBwd(graph, params, prog, fwdOutputInit, fwdIntermediates, weights, input, realTimeSteps,
             output, outputGrad, inputGrad, &units, debugContext, options, cache);
  weightsGrad = gruWU(graph, params, prog, fwdOutputInit, fwdIntermediates, units, weights, input,
                      output, debugContext, options, cache);
  return state;
}

Tensor auGruFwd(Graph &graph, const GruParams &params, const Tensor &stateInit, const Tensor &in,
                const GruWeights &weights, Tensor *intermediates, const Tensor &scores,
                Sequence &fwdProg, const DebugContext &debugContext, const OptionFlags &options,
                Cache *cache) {
  return forwardPass(graph, params, stateInit, in, weights, intermediates, scores, fwdProg,
                     {debugContext, "auGruFwd"}, options, cache);
}

Tensor auGruBwd(Graph &graph, const GruParams &params, Sequence &prog, const Tensor &,
                const Tensor &fwdIntermediatesSeq, const GruWeights &weights, const Tensor &,
                const Tensor &, const Tensor &gradLayerNext, Tensor *inputGrad,
                Tensor *bwdIntermediates, const Tensor &attentions, Tensor *attentionsGrad,
                const DebugContext &debugContext, const OptionFlags &options, Cache *cache) {
  return backwardPass(graph, params, prog, fwdIntermediatesSeq, weights, gradLayerNext, inputGrad,
                      bwdIntermediates, attentions, attentionsGrad, {debugContext, "auGruBwd"},
                      options, cache);
}

Tensor auGruFwd(Graph &graph, const GruParams &params, const Tensor &stateInit, const Tensor &in,
                const Tensor &realTimeSteps, const GruWeights &weights, Tensor *intermediates,
                const Tensor &scores, Sequence &fwdProg, const DebugContext &debugContext,
                const OptionFlags &options, Cache *cache) {
  const GruParams timed = withSteps(params, realTimeSteps);
  return forwardPass(graph, timed, stateInit, in, weights, intermediates, scores, fwdProg,
                     {debugContext, "auGruFwd"}, options, cache);
}

Tensor auGruBwd(Graph &graph, const GruParams &params, Sequence &prog, const Tensor &,
                const Tensor &fwdIntermediatesSeq, const GruWeights &weights, const Tensor &,
                const Tensor &realTimeSteps, const Tensor &, const Tensor &gradLayerNext,
                Tensor *inputGrad, Tensor *bwdIntermediates, const Tensor &attentions,
                Tensor *attentionsGrad, const DebugContext &debugContext,
                const OptionFlags &options, Cache *cache) {
  const GruParams timed = withSteps(params, realTimeSteps);
  return backwardPass(graph, timed, prog, fwdIntermediatesSeq, weights, gradLayerNext, inputGrad,
                      bwdIntermediates, attentions, attentionsGrad, {debugContext, "auGruBwd"},
                      options, cache);
}

GruWeights auGruWU(Graph &graph, const GruParams &params, Sequence &prog, const Tensor &,
                   const Tensor &fwdIntermediates, const Tensor &bwdIntermediates,
                   const GruWeights &, const Tensor &input, const Tensor &,
                   const DebugContext &debugContext, const OptionFlags &options, Cache *cache) {
  return weightPass(graph, params, prog, fwdIntermediates, bwdIntermediates, input,
                    {debugContext, "auGruWU"}, options, cache);
}

Tensor auGruBwdWithWU(Graph &graph, const GruParams &params, Sequence &prog,
                      const Tensor &fwdOutputInit, const Tensor &fwdIntermediates,
                      const GruWeights &weights, const Tensor &input, const Tensor &output,
                      const Tensor &outputGrad, Tensor *inputGrad, GruWeights &weightsGrad,
                      const Tensor &attentions, Tensor *attentionsGrad,
                      const DebugContext &debugContext, const OptionFlags &options, Cache *cache) {
  Tensor units;
  const Tensor state = auGruBwd(graph, params, prog, fwdOutputInit, fwdIntermediates, weights,
                                input, output, outputGrad, inputGrad, &units, attentions,
                                attentionsGrad, debugContext, options, cache);
  weightsGrad = auGruWU(graph, params, prog, fwdOutputInit, fwdIntermediates, units, weights, input,
                        output, debugContext, options, cache);
  return state;
}

Tensor auGruBwdWithWU(Graph &graph, const GruParams &params, Sequence &prog,
                      const Tensor &fwdOutputInit, const Tensor &fwdIntermediates,
                      const GruWeights &weights, const Tensor &input, const Tensor &realTimeSteps,
                      const Tensor &output, const Tensor &outputGrad, Tensor *inputGrad,
                      GruWeights &weightsGrad, const Tensor &attentions, Tensor *attentionsGrad,
                      const DebugContext &debugContext, const OptionFlags &options, Cache *cache) {
  Tensor units;
  const Tensor state = auGruBwd(graph, params, prog, fwdOutputInit, fwdIntermediates, weights,
                                input, realTimeSteps, output, outputGrad, inputGrad, &units,
                                attentions, attentionsGrad, debugContext, options, cache);
  weightsGrad = auGruWU(graph, params, prog, fwdOutputInit, fwdIntermediates, units, weights, input,
                        output, debugContext, options, cache);
  return state;
}

} // namespace gru
} // namespace popnn
