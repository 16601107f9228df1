#include <popnn/Recurrent.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <popops/Zero.hpp>

namespace popnn {
namespace rnn {

using poplar::DebugContext;
using poplar::Graph;
using poplar::Tensor;
using poplar::Type;
using poplar::program::Sequence;
using Cache = poplin::PlanningCache;

std::uint64_t getFwdFlops(unsigned steps, unsigned batch, unsigned in, unsigned out,
                          bool weightInput) {
  const std::uint64_t outputs = std::uint64_t{steps} * batch * out;
  return outputs * (2 * std::uint64_t{out} - 1) + 2 * std::uint64_t{steps} * out +
         (weightInput ? outputs * (2 * std::uint64_t{in} - 1) : 0);
}
std::uint64_t getBwdFlops(unsigned steps, unsigned batch, unsigned in, unsigned out,
                          bool calcInputGrad) {
  const std::uint64_t outputs = std::uint64_t{steps} * batch * out;
  return outputs * (2 * std::uint64_t{out} - 1) +
         (calcInputGrad ? outputs * (2 * std::uint64_t{in} - 1) : 0);
}
std::uint64_t getWuFlops(unsigned steps, unsigned batch, unsigned in, unsigned out) {
  const std::uint64_t samples = std::uint64_t{steps} * batch, parameters = out * (in + out + 1u);
  return 2 * samples * parameters - samples * out;
}

Tensor createInput(Graph &graph, unsigned numSteps, unsigned batchSize, unsigned inputSize,
                   unsigned outputSize, const Type &dType, const Type &, bool,
                   const DebugContext &debugContext, Cache *cache) {
  return poplin::createMatMulInputLHS(graph, dType, {std::size_t{numSteps} * batchSize, inputSize},
                                      {inputSize, outputSize}, {debugContext, "input"}, {}, cache)
      .reshapePartial(0, 1, {numSteps, batchSize});
}
Tensor createFwdState(Graph &graph, const Type &dType, unsigned batchSize, unsigned outputSize,
                      Sequence &prog, bool initState, bool, const DebugContext &debugContext,
                      Cache *cache) {
  const Tensor state =
      poplin::createMatMulInputLHS(graph, dType, {batchSize, outputSize}, {outputSize, outputSize},
                                   {debugContext, "fwdState"}, {}, cache);
  if (initState)
    popops::zero(graph, state, prog, debugContext);
  return state;
}
Tensor getOutputFromFwdState(const Tensor &fwdState) { return fwdState; }
Tensor createWeightsInput(Graph &graph, unsigned, unsigned batchSize, unsigned inputSize,
                          unsigned outputSize, const Type &dType, const Type &, bool,
                          const DebugContext &debugContext, Cache *cache) {
  return poplin::createMatMulInputRHS(graph, dType, {batchSize, inputSize}, {inputSize, outputSize},
                                      {debugContext, "weightsInput"}, {}, cache);
}
Tensor createWeightsFeedback(Graph &graph, unsigned batchSize, unsigned outputSize,
                             const Type &dType, const Type &, bool,
                             const DebugContext &debugContext, Cache *cache) {
  return poplin::createMatMulInputRHS(graph, dType, {batchSize, outputSize},
                                      {outputSize, outputSize}, {debugContext, "weightsFeedback"},
                                      {}, cache);
}

Tensor forwardWeightInput(Graph &graph, const Tensor &actIn, const Tensor &weights, Sequence &prog,
                          const Type &, bool, const DebugContext &debugContext, Cache *cache) {
  return poplin::matMul(graph, actIn.flatten(0, 2), weights, prog, {debugContext, "feedForward"},
                        {}, cache)
      .reshapePartial(0, 1, {actIn.dim(0), actIn.dim(1)});
}
Tensor forwardIterate(Graph &graph, const Tensor &feedFwdIn, const Tensor &initState,
                      const Tensor &feedbackWeights, const Tensor &biases, Sequence &prog,
                      NonLinearityType nonLinearityType, const Type &, bool,
                      const DebugContext &debugContext, Cache *cache) {
  const DebugContext dc{debugContext, "feedback"};
  std::vector<Tensor> outputs;
  for (std::size_t t = 0; t < feedFwdIn.dim(0); ++t) {
    const Tensor sum = poplin::matMul(graph, t == 0 ? initState : outputs.back(), feedbackWeights,
                                      prog, dc, {}, cache);
    popops::addInPlace(graph, sum, feedFwdIn[t], prog, dc);
    popops::addInPlace(graph, sum, biases.expand({0}).broadcast(unsigned(sum.dim(0)), 0), prog, dc);
    nonLinearityInPlace(graph, nonLinearityType, sum, prog, dc);
    outputs.push_back(sum);
  }
  std::vector<Tensor> steps;
  for (const Tensor &output : outputs)
    steps.push_back(output.expand({0}));
  return poplar::concat(steps);
}
Tensor rnnFwdSequence(Graph &graph, Sequence &prog, const Tensor &fwdStateInit,
                      const Tensor *weightedIn, const Tensor &biases, const Tensor &feedFwdWeights,
                      const Tensor &feedbackWeights, const Tensor &prevLayerActs,
                      const NonLinearityType &nonLinearityType, const Type &partialsType,
                      bool inferenceOnly, const DebugContext &debugContext, Cache *cache) {
  const Tensor weighted =
      weightedIn ? *weightedIn
                 : forwardWeightInput(graph, prevLayerActs, feedFwdWeights, prog, partialsType,
                                      inferenceOnly, debugContext, cache);
  return forwardIterate(graph, weighted, fwdStateInit, feedbackWeights, biases, prog,
                        nonLinearityType, partialsType, inferenceOnly, debugContext, cache);
}

Tensor createBwdState(Graph &graph, const Type &dType, unsigned batchSize, unsigned outputSize,
                      Sequence &prog, const DebugContext &debugContext, Cache *cache) {
  return createFwdState(graph, dType, batchSize, outputSize, prog, true, false,
                        {debugContext, "bwdState"}, cache);
}
Tensor backwardGradientStep(Graph &graph, const Tensor &nextLayerGrad, const Tensor &bwdState,
                            const Tensor &actOut, const Tensor &weightsFeedback, Sequence &prog,
                            NonLinearityType nonLinearityType, const Type &,
                            const DebugContext &debugContext, Cache *cache) {
  const DebugContext dc{debugContext, "backward"};
  const Tensor grad =
      poplin::matMul(graph, bwdState, weightsFeedback.transpose(), prog, dc, {}, cache);
  popops::addInPlace(graph, grad, nextLayerGrad, prog, dc);
  return nonLinearityInputGradient(graph, nonLinearityType, actOut, grad, prog, dc);
}
std::pair<Tensor, Tensor> backwardGradientStep(Graph &graph, const Tensor &nextLayerGrad,
                                               const Tensor &bwdState, const Tensor &actOut,
                                               const Tensor &weightsInput,
                                               const Tensor &weightsFeedback, Sequence &prog,
                                               NonLinearityType nonLinearityType,
                                               const Type &partialsType,
                                               const DebugContext &debugContext, Cache *cache) {
  const Tensor state =
      backwardGradientStep(graph, nextLayerGrad, bwdState, actOut, weightsFeedback, prog,
                           nonLinearityType, partialsType, debugContext, cache);
  return {poplin::matMul(graph, state, weightsInput.transpose(), prog,
                         {debugContext, "inputGradient"}, {}, cache),
          state};
}
void paramDeltaUpdate(Graph &graph, const Tensor &bwdState, const Tensor &actIn,
                      const Tensor &prevOut, Tensor &weightsInputDeltasAcc,
                      Tensor &weightsFeedbackDeltasAcc, Tensor &biasDeltasAcc, Sequence &prog,
                      const Type &, const DebugContext &debugContext, Cache *cache) {
  const DebugContext dc{debugContext, "deltas"};
  poplin::matMulAcc(graph, weightsInputDeltasAcc, 1.f, actIn.transpose(), bwdState, prog, dc, {},
                    cache);
  poplin::matMulAcc(graph, weightsFeedbackDeltasAcc, 1.f, prevOut.transpose(), bwdState, prog, dc,
                    {}, cache);
  popops::addInPlace(graph, biasDeltasAcc,
                     popops::reduce(graph, bwdState, {0}, popops::Operation::ADD, prog, dc), prog,
                     dc);
}
std::tuple<Tensor, Tensor, Tensor, Tensor>
rnnBwdSequence(Graph &graph, bool doWU, bool ignoreInputGradientCalc, Sequence &prog,
               const Tensor &fwdStateInit, const Tensor &fwdState, const Tensor &biases,
               const Tensor &feedFwdWeights, const Tensor &feedbackWeights,
               const Tensor &outGradient, const Tensor &actIn,
               const NonLinearityType &nonLinearityType, const Type &partialsType,
               const DebugContext &debugContext, Cache *cache) {
  Tensor ofWeights, ofFeedback, ofBiases;
  if (doWU) {
    ofWeights = graph.clone(feedFwdWeights, {debugContext, "weightDeltas"});
    ofFeedback = graph.clone(feedbackWeights, {debugContext, "feedbackDeltas"});
    ofBiases = graph.clone(biases, {debugContext, "biasDeltas"});
    for (const Tensor &t : {ofWeights, ofFeedback, ofBiases})
      popops::zero(graph, t, prog, debugContext);
  }
  const std::size_t steps = fwdState.dim(0);
  Tensor state = createBwdState(graph, fwdState.elementType(), unsigned(fwdState.dim(1)),
                                unsigned(fwdState.dim(2)), prog, debugContext, cache);
  std::vector<Tensor> ofInputs(steps);
  for (std::size_t t = steps; t-- > 0;) {
    const Tensor grad = outGradient.dimShuffle({1, 0, 2})[t];
    if (ignoreInputGradientCalc) {
      state = backwardGradientStep(graph, grad, state, fwdState[t], feedbackWeights, prog,
                                   nonLinearityType, partialsType, debugContext, cache);
    } else {
      std::tie(ofInputs[t], state) =
          backwardGradientStep(graph, grad, state, fwdState[t], feedFwdWeights, feedbackWeights,
                               prog, nonLinearityType, partialsType, debugContext, cache);
      ofInputs[t] = ofInputs[t].expand({0});
    }
    if (doWU)
      paramDeltaUpdate(graph, state, actIn[t], t == 0 ? fwdStateInit : fwdState[t - 1], ofWeights,
                       ofFeedback, ofBiases, prog, partialsType, debugContext, cache);
  }
  return {ignoreInputGradientCalc ? Tensor() : poplar::concat(ofInputs), ofWeights, ofFeedback,
          ofBiases};
}

} // namespace rnn
} // namespace popnn
