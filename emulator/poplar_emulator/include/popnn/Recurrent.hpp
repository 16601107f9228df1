#ifndef popnn_Recurrent_hpp
#define popnn_Recurrent_hpp

// Layers y[t] = f(x[t] Wi + y[t - 1] Wf + b). Weights are [in, out] and [out, out], inputs
// [time, batch, in], states and outputs of a step [batch, out]. Steps are unrolled here [I].

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplin/MatMul.hpp>
#include <popnn/NonLinearity.hpp>

namespace popnn {
namespace rnn {

std::uint64_t getFwdFlops(unsigned sequenceSize, unsigned batchSize, unsigned inputSize,
                          unsigned outputSize, bool weightInput = true);
std::uint64_t getBwdFlops(unsigned sequenceSize, unsigned batchSize, unsigned inputSize,
                          unsigned outputSize, bool calcInputGrad = true);
std::uint64_t getWuFlops(unsigned sequenceSize, unsigned batchSize, unsigned inputSize,
                         unsigned outputSize);

poplar::Tensor createInput(poplar::Graph &graph, unsigned numSteps, unsigned batchSize,
                           unsigned inputSize, unsigned outputSize, const poplar::Type &dType,
                           const poplar::Type &partialsType = poplar::FLOAT,
                           bool inferenceOnly = false,
                           const poplar::DebugContext &debugContext = {},
                           poplin::PlanningCache *planningCache = nullptr);
/// The state before the first step; zeros if initState.
poplar::Tensor createFwdState(poplar::Graph &graph, const poplar::Type &dType, unsigned batchSize,
                              unsigned outputSize, poplar::program::Sequence &prog, bool initState,
                              bool inferenceOnly, const poplar::DebugContext &debugContext = {},
                              poplin::PlanningCache *planningCache = nullptr);
poplar::Tensor getOutputFromFwdState(const poplar::Tensor &fwdState);
poplar::Tensor createWeightsInput(poplar::Graph &graph, unsigned sequenceSize, unsigned batchSize,
                                  unsigned inputSize, unsigned outputSize,
                                  const poplar::Type &dType,
                                  const poplar::Type &partialsType = poplar::FLOAT,
                                  bool inferenceOnly = false,
                                  const poplar::DebugContext &debugContext = {},
                                  poplin::PlanningCache *planningCache = nullptr);
poplar::Tensor createWeightsFeedback(poplar::Graph &graph, unsigned batchSize, unsigned outputSize,
                                     const poplar::Type &dType,
                                     const poplar::Type &partialsType = poplar::FLOAT,
                                     bool inferenceOnly = false,
                                     const poplar::DebugContext &debugContext = {},
                                     poplin::PlanningCache *planningCache = nullptr);

/// The inputs of all steps times their weights, [time, batch, out].
poplar::Tensor forwardWeightInput(poplar::Graph &graph, const poplar::Tensor &actIn,
                                  const poplar::Tensor &weights, poplar::program::Sequence &prog,
                                  const poplar::Type &partialsType = poplar::FLOAT,
                                  bool inferenceOnly = false,
                                  const poplar::DebugContext &debugContext = {},
                                  poplin::PlanningCache *planningCache = nullptr);
/// The outputs of all steps, from what forwardWeightInput returns.
poplar::Tensor forwardIterate(poplar::Graph &graph, const poplar::Tensor &feedFwdIn,
                              const poplar::Tensor &initState,
                              const poplar::Tensor &feedbackWeights, const poplar::Tensor &biases,
                              poplar::program::Sequence &prog, NonLinearityType nonLinearityType,
                              const poplar::Type &partialsType = poplar::FLOAT,
                              bool inferenceOnly = false,
                              const poplar::DebugContext &debugContext = {},
                              poplin::PlanningCache *planningCache = nullptr);
/// Both; weightedIn, unless null, replaces the inputs and their weights.
poplar::Tensor rnnFwdSequence(poplar::Graph &graph, poplar::program::Sequence &prog,
                              const poplar::Tensor &fwdStateInit, const poplar::Tensor *weightedIn,
                              const poplar::Tensor &biases, const poplar::Tensor &feedFwdWeights,
                              const poplar::Tensor &feedbackWeights,
                              const poplar::Tensor &prevLayerActs,
                              const NonLinearityType &nonLinearityType,
                              const poplar::Type &partialsType, bool inferenceOnly,
                              const poplar::DebugContext &debugContext = {},
                              poplin::PlanningCache *planningCache = nullptr);

/// Zeros: the gradient state after the last step.
poplar::Tensor createBwdState(poplar::Graph &graph, const poplar::Type &dType, unsigned batchSize,
                              unsigned outputSize, poplar::program::Sequence &prog,
                              const poplar::DebugContext &debugContext = {},
                              poplin::PlanningCache *planningCache = nullptr);
/// A step back: the gradients of the step's input and of its sum, which is the state of the next
/// step back. bwdState: of the step after. actOut: the output of this step.
std::pair<poplar::Tensor, poplar::Tensor> backwardGradientStep(
    poplar::Graph &graph, const poplar::Tensor &nextLayerGrad, const poplar::Tensor &bwdState,
    const poplar::Tensor &actOut, const poplar::Tensor &weightsInput,
    const poplar::Tensor &weightsFeedback, poplar::program::Sequence &prog,
    NonLinearityType nonLinearityType, const poplar::Type &partialsType = poplar::FLOAT,
    const poplar::DebugContext &debugContext = {}, poplin::PlanningCache *planningCache = nullptr);
/// The second one alone.
poplar::Tensor backwardGradientStep(poplar::Graph &graph, const poplar::Tensor &nextLayerGrad,
                                    const poplar::Tensor &bwdState, const poplar::Tensor &actOut,
                                    const poplar::Tensor &weightsFeedback,
                                    poplar::program::Sequence &prog,
                                    NonLinearityType nonLinearityType,
                                    const poplar::Type &partialsType = poplar::FLOAT,
                                    const poplar::DebugContext &debugContext = {},
                                    poplin::PlanningCache *planningCache = nullptr);
/// Adds a step's gradients of the weights and biases. prevOut: the output of the step before.
void paramDeltaUpdate(poplar::Graph &graph, const poplar::Tensor &bwdState,
                      const poplar::Tensor &actIn, const poplar::Tensor &prevOut,
                      poplar::Tensor &weightsInputDeltasAcc,
                      poplar::Tensor &weightsFeedbackDeltasAcc, poplar::Tensor &biasDeltasAcc,
                      poplar::program::Sequence &prog,
                      const poplar::Type &partialsType = poplar::FLOAT,
                      const poplar::DebugContext &debugContext = {},
                      poplin::PlanningCache *planningCache = nullptr);
/// All steps back: the gradients of the inputs, of both weights and of the biases; without a tensor
/// for what is not asked for. outGradient: [batch, time, out].
std::tuple<poplar::Tensor, poplar::Tensor, poplar::Tensor, poplar::Tensor>
rnnBwdSequence(poplar::Graph &graph, bool doWU, bool ignoreInputGradientCalc,
               poplar::program::Sequence &prog, const poplar::Tensor &fwdStateInit,
               const poplar::Tensor &fwdState, const poplar::Tensor &biases,
               const poplar::Tensor &feedFwdWeights, const poplar::Tensor &feedbackWeights,
               const poplar::Tensor &outGradient, const poplar::Tensor &actIn,
               const NonLinearityType &nonLinearityType, const poplar::Type &partialsType,
               const poplar::DebugContext &debugContext = {},
               poplin::PlanningCache *planningCache = nullptr);

} // namespace rnn
} // namespace popnn

#endif
