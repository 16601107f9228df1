#ifndef popnn_Loss_hpp
#define popnn_Loss_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <utility>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popops/EncodingConstants.hpp>

namespace popnn {

enum LossType { SUM_SQUARED_LOSS, CROSS_ENTROPY_LOSS };

/// Returns the loss of each sample, [batch], and the gradient of the outputs, [batch, classes]. The
/// expected classes are [batch]; samples of class MASKED_LABEL_CODE are ignored. For
/// CROSS_ENTROPY_LOSS the outputs are those of a softmax, and the gradient is that of its input.
poplar::program::Program calcLoss(poplar::Graph &graph, const poplar::Tensor &modelOutputs,
                                  const poplar::Tensor &expected, const poplar::Tensor &loss,
                                  const poplar::Tensor &deltas, LossType lossType,
                                  const poplar::DebugContext &debugContext = {},
                                  const poplar::OptionFlags &options = {});
/// Also adds the number of samples with the largest output at the expected class to numCorrect, one
/// element, which the program sets to 0 before it counts.
poplar::program::Program calcLoss(poplar::Graph &graph, const poplar::Tensor &modelOutputs,
                                  const poplar::Tensor &expected, const poplar::Tensor &loss,
                                  const poplar::Tensor &deltas, const poplar::Tensor &numCorrect,
                                  LossType lossType, const poplar::DebugContext &debugContext = {},
                                  const poplar::OptionFlags &options = {});
/// The gradients times deltasScale, of outputs that are modelOutputScaling times a softmax's.
/// Raises poplibs_error for another loss than CROSS_ENTROPY_LOSS.
poplar::program::Program calcLoss(poplar::Graph &graph, const poplar::Tensor &modelOutputs,
                                  const poplar::Tensor &expected, const poplar::Tensor &loss,
                                  const poplar::Tensor &deltas, const poplar::Tensor &deltasScale,
                                  const poplar::Tensor &modelOutputScaling, LossType lossType,
                                  const poplar::DebugContext &debugContext = {},
                                  const poplar::OptionFlags &options = {});
poplar::program::Program calcLoss(poplar::Graph &graph, const poplar::Tensor &modelOutputs,
                                  const poplar::Tensor &expected, const poplar::Tensor &loss,
                                  const poplar::Tensor &deltas, const poplar::Tensor &deltasScale,
                                  const poplar::Tensor &modelOutputScaling,
                                  const poplar::Tensor &numCorrect, LossType lossType,
                                  const poplar::DebugContext &debugContext = {},
                                  const poplar::OptionFlags &options = {});
/// Adds the number of samples with the largest output at the expected class to numCorrect.
poplar::program::Program calcAccuracy(poplar::Graph &graph, const poplar::Tensor &modelOutputs,
                                      const poplar::Tensor &expected,
                                      const poplar::Tensor &numCorrect,
                                      const poplar::DebugContext &debugContext = {});
/// Returns the index of the largest, or smallest, element of each row: UNSIGNED_INT [rows].
poplar::Tensor argMax(poplar::Graph &graph, const poplar::Tensor &input,
                      poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext = {});
poplar::Tensor argMin(poplar::Graph &graph, const poplar::Tensor &input,
                      poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext = {});
/// Returns the largest, or smallest, element of each row, and its index.
std::pair<poplar::Tensor, poplar::Tensor>
maxAndArgMax(poplar::Graph &graph, const poplar::Tensor &input, poplar::program::Sequence &prog,
             const poplar::DebugContext &debugContext = {});
std::pair<poplar::Tensor, poplar::Tensor>
minAndArgMin(poplar::Graph &graph, const poplar::Tensor &input, poplar::program::Sequence &prog,
             const poplar::DebugContext &debugContext = {});
/// Returns the K largest elements of each row, and their indices.
poplar::Tensor topK(poplar::Graph &graph, const poplar::Tensor &input, poplar::Tensor &indices,
                    unsigned K, bool sort, poplar::program::Sequence &prog,
                    const poplar::DebugContext &debugContext = {});

} // namespace popnn

#endif
