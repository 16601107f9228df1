#ifndef IPULSE_POPLIBS_GRU_PASS_H
#define IPULSE_POPLIBS_GRU_PASS_H

#include <popnn/Gru.hpp>

namespace popnn {
namespace gru {

// The passes of a layer, with the update gate u (1 - a) for scores a [batch, time] of an attention,
// if there are any.

poplar::Tensor forwardPass(poplar::Graph &graph, const GruParams &params,
                           const poplar::Tensor &stateInit, const poplar::Tensor &in,
                           const GruWeights &weights, poplar::Tensor *intermediates,
                           const poplar::Tensor &scores, poplar::program::Sequence &fwdProg,
                           const poplar::DebugContext &dc, const poplar::OptionFlags &options,
                           poplin::PlanningCache *cache);
poplar::Tensor backwardPass(poplar::Graph &graph, const GruParams &params,
                            poplar::program::Sequence &prog,
                            const poplar::Tensor &fwdIntermediatesSeq, const GruWeights &weights,
                            const poplar::Tensor &gradLayerNext, poplar::Tensor *inputGrad,
                            poplar::Tensor *bwdIntermediates, const poplar::Tensor &scores,
                            poplar::Tensor *scoreGrads, const poplar::DebugContext &dc,
                            const poplar::OptionFlags &options, poplin::PlanningCache *cache);
GruWeights weightPass(poplar::Graph &graph, const GruParams &params,
                      poplar::program::Sequence &prog, const poplar::Tensor &fwdIntermediates,
                      const poplar::Tensor &bwdIntermediates, const poplar::Tensor &input,
                      const poplar::DebugContext &dc, const poplar::OptionFlags &options,
                      poplin::PlanningCache *cache);

} // namespace gru
} // namespace popnn

#endif
