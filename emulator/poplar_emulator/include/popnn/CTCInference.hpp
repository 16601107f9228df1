#ifndef popnn_CTCInference_hpp
#define popnn_CTCInference_hpp

#include <tuple>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popnn/CTCPlan.hpp>

namespace popnn {
namespace ctc_infer {

ctc::Plan plan(const poplar::Graph &graph, const poplar::Type &inType, unsigned batchSize,
               unsigned maxTime, unsigned numClasses, unsigned beamwidth,
               const poplar::OptionFlags &options = {});

/// [maxTime, batchSize, numClasses].
poplar::Tensor createDataInput(poplar::Graph &graph, const poplar::Type &type,
                               std::size_t batchSize, std::size_t maxTime, std::size_t numClasses,
                               const ctc::Plan &plan,
                               const poplar::DebugContext &debugContext = {});

/// The labels that are most probable, the first most of all: their logarithmic probabilities
/// [batch, topPaths], lengths [batch, topPaths] and classes [batch, topPaths, time], which are 0
/// behind a label's length.
std::tuple<poplar::Tensor, poplar::Tensor, poplar::Tensor> beamSearchDecoderLogProbabilities(
    poplar::Graph &graph, const poplar::Tensor &logProbs, const poplar::Tensor &dataLengths,
    poplar::program::Sequence &prog, unsigned blankClass, unsigned beamwidth, unsigned topPaths,
    const ctc::Plan &plan, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {});
/// The same for logits: it takes their logSoftmax.
std::tuple<poplar::Tensor, poplar::Tensor, poplar::Tensor>
beamSearchDecoderLogits(poplar::Graph &graph, const poplar::Tensor &logits,
                        const poplar::Tensor &dataLengths, poplar::program::Sequence &prog,
                        unsigned blankClass, unsigned beamwidth, unsigned topPaths,
                        const ctc::Plan &plan, const poplar::DebugContext &debugContext = {},
                        const poplar::OptionFlags &options = {});

} // namespace ctc_infer
} // namespace popnn

#endif
