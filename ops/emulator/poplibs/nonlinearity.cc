#include <popnn/Loss.hpp>
#include <popnn/NonLinearity.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Reduce.hpp>
#include <popops/TopK.hpp>
#include <poputil/exceptions.hpp>

namespace popnn {

using namespace popops::expr;
using poplar::DebugContext;
using poplar::Graph;
using poplar::OptionFlags;
using poplar::Tensor;
using poplar::program::Sequence;

namespace {

/// The reduction of the last dimension, kept as a dimension of 1.
Tensor overLast(Graph &graph, const Tensor &t, popops::Operation op, Sequence &prog,
                const DebugContext &debugContext) {
  const std::size_t last = t.rank() - 1;
  return popops::reduce(graph, t, {last}, op, prog, debugContext).expand({last});
}

bool isSoftmax(NonLinearityType type) {
  return type == NonLinearityType::SOFTMAX || type == NonLinearityType::SOFTMAX_STABLE;
}

Any expressionOf(NonLinearityType type) {
  switch (type) {
  case NonLinearityType::SIGMOID:
    return Sigmoid(_1);
  case NonLinearityType::HARD_SIGMOID:
    return Clamp(_1 * 0.2f + 0.5f, Const(0.f), Const(1.f));
  case NonLinearityType::RELU:
    return Relu(_1);
  case NonLinearityType::TANH:
    return Tanh(_1);
  case NonLinearityType::GELU: // sqrt(2 / pi) and the cubic term of PopLibs' approximation
    return _1 * 0.5f * (Tanh((_1 + _1 * _1 * _1 * 0.044715f) * 0.7978845608f) + 1.f);
  case NonLinearityType::SWISH:
    return _1 * Sigmoid(_1);
  default:
    throw poputil::poplibs_error("this non-linearity is not emulated");
  }
}

Any gradientOf(NonLinearityType type) {
  switch (type) {
  case NonLinearityType::SIGMOID:
    return _2 * _1 * (1.f - _1);
  case NonLinearityType::HARD_SIGMOID:
    return Select(_2 * 0.2f, Const(0.f), _1 > 0.f && _1 < 1.f);
  case NonLinearityType::RELU:
    return Select(_2, Const(0.f), _1 > 0.f);
  case NonLinearityType::TANH:
    return _2 * (1.f - _1 * _1);
  case NonLinearityType::GELU: {
    const Any t = Tanh((_1 + _1 * _1 * _1 * 0.044715f) * 0.7978845608f);
    const Expr &e = t;
    return _2 * ((e + 1.f) * 0.5f +
                 _1 * 0.5f * (1.f - e * e) * (_1 * _1 * 0.134145f + 1.f) * 0.7978845608f);
  }
  case NonLinearityType::SWISH:
    return _2 * (Sigmoid(_1) + _1 * Sigmoid(_1) * (1.f - Sigmoid(_1)));
  default:
    throw poputil::poplibs_error("this non-linearity is not emulated");
  }
}

void normalise(Graph &graph, const Tensor &t, Sequence &prog, const DebugContext &dc) {
  if (t.rank() == 0)
    throw poputil::poplibs_error("a softmax of a scalar");
  const Tensor most = overLast(graph, t, popops::Operation::MAX, prog, dc);
  popops::mapInPlace(graph, Exp(_1 - _2), {t, most}, prog, dc);
  const Tensor total = overLast(graph, t, popops::Operation::ADD, prog, dc);
  popops::mapInPlace(graph, _1 / _2, {t, total}, prog, dc);
}

} // namespace

void nonLinearityInPlace(Graph &graph, NonLinearityType type, Tensor t, Sequence &prog,
                         const DebugContext &debugContext, const OptionFlags &options) {
  if (isSoftmax(type))
    normalise(graph, t, prog, {debugContext, "softmax"});
  else
    popops::mapInPlace(graph, expressionOf(type), {t}, prog, {debugContext, "nonLinearity"},
                       options);
}

Tensor nonLinearity(Graph &graph, NonLinearityType type, Tensor t, Sequence &prog,
                    const DebugContext &debugContext, const OptionFlags &options) {
  const Tensor out = graph.clone(t, debugContext);
  prog.add(poplar::program::Copy(t, out, false, debugContext));
  nonLinearityInPlace(graph, type, out, prog, debugContext, options);
  return out;
}

Tensor nonLinearityInputGradient(Graph &graph, NonLinearityType type, Tensor act,
                                 Tensor outGradient, Sequence &prog,
                                 const DebugContext &debugContext, const OptionFlags &options) {
  const DebugContext dc{debugContext, "nonLinearityGradient"};
  if (!isSoftmax(type))
    return popops::map(graph, gradientOf(type), {act, outGradient}, prog, dc, options);
  const Tensor products = popops::mul(graph, act, outGradient, prog, dc);
  const Tensor total = overLast(graph, products, popops::Operation::ADD, prog, dc);
  return popops::map(graph, _1 * (_2 - _3), {act, outGradient, total}, prog, dc, options);
}

namespace {

Tensor place(Graph &graph, const Tensor &input, bool largest, Sequence &prog,
             const DebugContext &debugContext) {
  if (input.rank() != 2)
    throw poputil::poplibs_error("argMax and argMin need [rows, columns], not " +
                                 input.shapeToString());
  return popops::topKWithPermutation(graph, prog, input,
                                     {1, largest, popops::SortOrder::NONE, true}, debugContext)
      .second.squeeze({1});
}

void addLoss(Graph &graph, const Tensor &outputs, const Tensor &expected, const Tensor &loss,
             const Tensor &deltas, LossType type, Sequence &prog, const DebugContext &dc) {
  const Tensor oneHot = graph.clone(outputs, {dc, "expected"});
  popops::encodeOneHot(graph, expected, oneHot, prog, dc);
  popops::mapWithOutput(graph, _1 - _2, {outputs, oneHot}, deltas, prog, dc);
  const Tensor terms =
      type == LossType::SUM_SQUARED_LOSS
          ? popops::map(graph, _1 * _1 * 0.5f, {deltas}, prog, dc)
          : popops::map(graph, Select(-Log(_1), Const(0.f), _2 > 0.f), {outputs, oneHot}, prog, dc);
  popops::reduceWithOutput(graph, terms, loss, {1}, popops::Operation::ADD, prog, dc);
}

} // namespace

Tensor argMax(Graph &graph, const Tensor &input, Sequence &prog, const DebugContext &debugContext) {
  return place(graph, input, true, prog, debugContext);
}
Tensor argMin(Graph &graph, const Tensor &input, Sequence &prog, const DebugContext &debugContext) {
  return place(graph, input, false, prog, debugContext);
}
Tensor topK(Graph &graph, const Tensor &input, Tensor &indices, unsigned K, bool sort,
            Sequence &prog, const DebugContext &debugContext) {
  const auto order = sort ? popops::SortOrder::DESCENDING : popops::SortOrder::NONE;
  const auto found =
      popops::topKWithPermutation(graph, prog, input, {K, true, order}, debugContext);
  indices = found.second;
  return found.first;
}

poplar::program::Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected,
                                  const Tensor &loss, const Tensor &deltas, LossType lossType,
                                  const DebugContext &debugContext) {
  Sequence prog({}, debugContext);
  addLoss(graph, modelOutputs, expected, loss, deltas, lossType, prog, debugContext);
  return prog;
}

poplar::program::Program calcLoss(Graph &graph, const Tensor &modelOutputs, const Tensor &expected,
                                  const Tensor &loss, const Tensor &deltas,
                                  const Tensor &numCorrect, LossType lossType,
                                  const DebugContext &debugContext) {
  Sequence prog({}, debugContext);
  addLoss(graph, modelOutputs, expected, loss, deltas, lossType, prog, debugContext);
  prog.add(calcAccuracy(graph, modelOutputs, expected, numCorrect, debugContext));
  return prog;
}

poplar::program::Program calcAccuracy(Graph &graph, const Tensor &modelOutputs,
                                      const Tensor &expected, const Tensor &numCorrect,
                                      const DebugContext &debugContext) {
  Sequence prog({}, debugContext);
  const Tensor best = argMax(graph, modelOutputs, prog, debugContext);
  const Tensor right =
      popops::map(graph, Cast(_1 == _2, numCorrect.elementType()),
                  {best, expected.reinterpret(poplar::UNSIGNED_INT)}, prog, debugContext);
  popops::reduceWithOutput(graph, right, numCorrect.reshape({}), {0}, popops::Operation::ADD, prog,
                           debugContext);
  return prog;
}

} // namespace popnn
