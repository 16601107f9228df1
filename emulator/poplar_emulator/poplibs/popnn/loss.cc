#include <popnn/Loss.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/EncodingConstants.hpp>
#include <popops/Reduce.hpp>
#include <popops/TopK.hpp>
#include <poputil/exceptions.hpp>

namespace popnn {

using namespace popops::expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Program;
using poplar::program::Sequence;

namespace {

/// The largest or smallest element of each row, and its index.
std::pair<Tensor, Tensor> first(Graph &graph, const Tensor &input, bool largest, Sequence &prog,
                                const DebugContext &debugContext) {
  if (input.rank() != 2)
    throw poputil::poplibs_error("argMax and argMin need [rows, columns], not " +
                                 input.shapeToString());
  const auto found = popops::topKWithPermutation(
      graph, prog, input, {1, largest, popops::SortOrder::NONE, true}, debugContext);
  return {found.first.squeeze({1}), found.second.squeeze({1})};
}

/// scale: of the gradients; outputScale: the factor between outputs and probabilities. No tensor
/// means 1.
void addLoss(Graph &graph, const Tensor &outputs, const Tensor &expected, const Tensor &loss,
             const Tensor &deltas, const Tensor &scale, const Tensor &outputScale, LossType type,
             Sequence &prog, const DebugContext &dc) {
  if (outputScale.valid() && type == LossType::SUM_SQUARED_LOSS)
    throw poputil::poplibs_error("calcLoss: only the loss CROSS_ENTROPY_LOSS can be scaled");
  const Tensor oneHot = graph.clone(outputs, {dc, "expected"});
  popops::encodeOneHot(graph, expected, oneHot, prog, dc);
  const Tensor classes = expected.reinterpret(poplar::UNSIGNED_INT).expand({1});
  const Tensor probabilities =
      outputScale.valid() ? popops::map(graph, _1 / _2, {outputs, outputScale}, prog, dc) : outputs;
  popops::mapWithOutput(graph, Select(_1 - _2, Const(0.f), _3 != Const(MASKED_LABEL_CODE)),
                        {probabilities, oneHot, classes}, deltas, prog, dc);
  // The loss is finite also where the output of the expected class is 0.
  const float least = outputs.elementType() == poplar::HALF ? EPS_LOG_N_HALF : EPS_LOG_N_FLOAT;
  const Any logarithm = outputScale.valid() ? Any(Log(_1 + least) - Log(_3)) : Any(Log(_1 + least));
  std::vector<Tensor> of{outputs, oneHot};
  if (outputScale.valid())
    of.push_back(outputScale);
  const Tensor terms =
      type == LossType::SUM_SQUARED_LOSS
          ? popops::map(graph, _1 * _1 * 0.5f, {deltas}, prog, dc)
          : popops::map(graph, Select(-logarithm, Const(0.f), _2 > 0.f), of, prog, dc);
  popops::reduceWithOutput(graph, terms, loss, {1}, popops::Operation::ADD, prog, dc);
  if (scale.valid())
    popops::mulInPlace(graph, deltas, scale, prog, dc);
}

} // namespace

Tensor argMax(Graph &graph, const Tensor &input, Sequence &prog, const DebugContext &debugContext) {
  return first(graph, input, true, prog, debugContext).second;
}
Tensor argMin(Graph &graph, const Tensor &input, Sequence &prog, const DebugContext &debugContext) {
  return first(graph, input, false, prog, debugContext).second;
}
std::pair<Tensor, Tensor> maxAndArgMax(Graph &graph, const Tensor &input, Sequence &prog,
                                       const DebugContext &debugContext) {
  return first(graph, input, true, prog, debugContext);
}
std::pair<Tensor, Tensor> minAndArgMin(Graph &graph, const Tensor &input, Sequence &prog,
                                       const DebugContext &debugContext) {
  return first(graph, input, false, prog, debugContext);
}
Tensor topK(Graph &graph, const Tensor &input, Tensor &indices, unsigned K, bool sort,
            Sequence &prog, const DebugContext &debugContext) {
  const auto order = sort ? popops::SortOrder::DESCENDING : popops::SortOrder::NONE;
  const auto found =
      popops::topKWithPermutation(graph, prog, input, {K, true, order}, debugContext);
  indices = found.second;
  return found.first;
}

Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected,
                 const Tensor &loss, const Tensor &deltas, const Tensor &deltasScale,
                 const Tensor &modelOutputScaling, LossType lossType,
                 const DebugContext &debugContext, const OptionFlags &) {
  Sequence prog({}, debugContext);
  addLoss(graph, modelOutputs, expected, loss, deltas, deltasScale, modelOutputScaling, lossType,
          prog, debugContext);
  return prog;
}
Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected,
                 const Tensor &loss, const Tensor &deltas, const Tensor &deltasScale,
                 const Tensor &modelOutputScaling, const Tensor &numCorrect, LossType lossType,
                 const DebugContext &debugContext, const OptionFlags &) {
  Sequence prog({}, debugContext);
  addLoss(graph, modelOutputs, expected, loss, deltas, deltasScale, modelOutputScaling, lossType,
          prog, debugContext);
  prog.add(calcAccuracy(graph, modelOutputs, expected, numCorrect, debugContext));
  return prog;
}
Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected,
                 const Tensor &loss, const Tensor &deltas, LossType lossType,
                 const DebugContext &debugContext, const OptionFlags &options) {
  return calcLoss(graph, modelOutputs, expected, loss, deltas, Tensor(), Tensor(), lossType,
                  debugContext, options);
}
Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected,
                 const Tensor &loss, const Tensor &deltas, const Tensor &numCorrect,
                 LossType lossType, const DebugContext &debugContext, const OptionFlags &options) {
  return calcLoss(graph, modelOutputs, expected, loss, deltas, Tensor(), Tensor(), numCorrect,
                  lossType, debugContext, options);
}

Program calcAccuracy(Graph &graph, const Tensor &modelOutputs, const Tensor &expected,
                     const Tensor &numCorrect, const DebugContext &debugContext) {
  if (numCorrect.numElements() != 1)
    throw poputil::poplibs_error("calcAccuracy: numCorrect must be one element, not " +
                                 numCorrect.shapeToString());
  Sequence prog({}, debugContext);
  const Tensor best = argMax(graph, modelOutputs, prog, debugContext);
  const Tensor right =
      popops::map(graph, Cast(_1 == _2, numCorrect.elementType()),
                  {best, expected.reinterpret(poplar::UNSIGNED_INT)}, prog, debugContext);
  popops::reduceWithOutput(graph, right, numCorrect.reshape({}), {0},
                           {popops::Operation::ADD, true}, prog, debugContext);
  return prog;
}

} // namespace popnn
