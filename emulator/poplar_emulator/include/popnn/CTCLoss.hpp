#ifndef popnn_CTCLoss_hpp
#define popnn_CTCLoss_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <cstddef>
#include <utility>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popnn/CTCPlan.hpp>

/// Connectionist temporal classification: the labels of a sequence without their places in time.
/// Each function raises poplibs_error for incompatible types, shapes or sizes.
namespace popnn {
namespace ctc {

/// inType, outType: FLOAT or HALF, of the probabilities and of the results.
Plan plan(const poplar::Graph &graph, const poplar::Type &inType, const poplar::Type &outType,
          unsigned batchSize, unsigned maxTime, unsigned maxLabelLength, unsigned numClasses,
          const poplar::OptionFlags &options = {});

/// [time, batch, classes]
poplar::Tensor createDataInput(poplar::Graph &graph, const poplar::Type &type,
                               std::size_t batchSize, std::size_t maxTime, std::size_t numClasses,
                               const Plan &plan, const poplar::DebugContext &debugContext = {});
/// [batch, label], UNSIGNED_INT
poplar::Tensor createLabelsInput(poplar::Graph &graph, const poplar::Type &type,
                                 std::size_t batchSize, std::size_t maxLabelLength,
                                 const Plan &plan, const poplar::DebugContext &debugContext = {});

/// Loss [batch], which is minus the logarithm of the probability of all paths that become the
/// labels when repetitions and then blanks are left out; and its gradient [time, batch, classes] by
/// the logits that logProbs is the log-softmax of [M]: exp(logProbs) - P(class at this time |
/// labels).
///
/// logProbs: [time, batch, classes], of which a sample has its dataLengths first steps; the
/// gradient of the others is 0. labels: [batch, label], of which it has its labelLengths first.
/// dataLengths, labelLengths: [batch], UNSIGNED_INT. Of labels that no path becomes the loss is
/// infinite and the gradient 0; of lengths and labels out of range both are not-a-number [I].
std::pair<poplar::Tensor, poplar::Tensor> calcLossAndGradientLogProbabilities(
    poplar::Graph &graph, const poplar::Type &outType, const poplar::Tensor &logProbs,
    const poplar::Tensor &labels, const poplar::Tensor &dataLengths,
    const poplar::Tensor &labelLengths, poplar::program::Sequence &prog, unsigned blankClass,
    const Plan &plan, const poplar::DebugContext &debugContext = {},
    const poplar::OptionFlags &options = {});
/// The same for logits; the log-softmax is computed first.
std::pair<poplar::Tensor, poplar::Tensor>
calcLossAndGradientLogits(poplar::Graph &graph, const poplar::Type &outType,
                          const poplar::Tensor &logits, const poplar::Tensor &labels,
                          const poplar::Tensor &dataLengths, const poplar::Tensor &labelLengths,
                          poplar::program::Sequence &prog, unsigned blankClass, const Plan &plan,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {});

/// The loss alone.
poplar::Tensor
calcCTCLossLogProbabilities(poplar::Graph &graph, const poplar::Type &outType,
                            const poplar::Tensor &logProbs, const poplar::Tensor &labels,
                            const poplar::Tensor &dataLengths, const poplar::Tensor &labelLengths,
                            poplar::program::Sequence &prog, unsigned blankClass, const Plan &plan,
                            const poplar::DebugContext &debugContext = {},
                            const poplar::OptionFlags &options = {});
poplar::Tensor calcCTCLossLogits(poplar::Graph &graph, const poplar::Type &outType,
                                 const poplar::Tensor &logits, const poplar::Tensor &labels,
                                 const poplar::Tensor &dataLengths,
                                 const poplar::Tensor &labelLengths,
                                 poplar::program::Sequence &prog, unsigned blankClass,
                                 const Plan &plan, const poplar::DebugContext &debugContext = {},
                                 const poplar::OptionFlags &options = {});

} // namespace ctc
} // namespace popnn

#endif
