#include <popnn/NonLinearity.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
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
  return type == NonLinearityType::SOFTMAX || type == NonLinearityType::SOFTMAX_STABLE ||
         type == NonLinearityType::SOFTMAX_SCALED;
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
  case NonLinearityType::GELU_ERF:
    return GeluErf(_1);
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
  case NonLinearityType::GELU_ERF: // 1 / sqrt(2) and 1 / sqrt(2 pi)
    return _2 *
           ((Erf(_1 * 0.7071067812f) + 1.f) * 0.5f + _1 * Exp(_1 * _1 * -0.5f) * 0.3989422804f);
  case NonLinearityType::SWISH:
    return _2 * (Sigmoid(_1) + _1 * Sigmoid(_1) * (1.f - Sigmoid(_1)));
  default:
    throw poputil::poplibs_error("this non-linearity is not emulated");
  }
}

void normalise(Graph &graph, const Tensor &t, float scale, Sequence &prog, const DebugContext &dc) {
  if (t.rank() == 0)
    throw poputil::poplibs_error("a softmax of a scalar");
  const Tensor most = overLast(graph, t, popops::Operation::MAX, prog, dc);
  popops::mapInPlace(graph, Exp(_1 - _2), {t, most}, prog, dc);
  const Tensor total = overLast(graph, t, popops::Operation::ADD, prog, dc);
  popops::mapInPlace(graph, scale == 1 ? Any(_1 / _2) : Any(_1 / _2 * scale), {t, total}, prog, dc);
}

} // namespace

void nonLinearityInPlace(Graph &graph, NonLinearityType type, Tensor t, Sequence &prog,
                         const DebugContext &debugContext, const OptionFlags &options) {
  if (isSoftmax(type))
    normalise(graph, t, type == NonLinearityType::SOFTMAX_SCALED ? SOFTMAX_SCALING : 1, prog,
              {debugContext, "softmax"});
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

void nonLinearityInPlace(Graph &graph, NonLinearityType type, Tensor t, float &scaling,
                         Sequence &prog, const DebugContext &debugContext,
                         const OptionFlags &options) {
  scaling = type == NonLinearityType::SOFTMAX_SCALED ? SOFTMAX_SCALING : 1;
  nonLinearityInPlace(graph, type, t, prog, debugContext, options);
}
Tensor nonLinearity(Graph &graph, NonLinearityType type, Tensor t, float &scaling, Sequence &prog,
                    const DebugContext &debugContext, const OptionFlags &options) {
  scaling = type == NonLinearityType::SOFTMAX_SCALED ? SOFTMAX_SCALING : 1;
  return nonLinearity(graph, type, t, prog, debugContext, options);
}

Tensor nonLinearityInputGradient(Graph &graph, NonLinearityType type, Tensor act,
                                 Tensor outGradient, Sequence &prog,
                                 const DebugContext &debugContext, const OptionFlags &options) {
  const DebugContext dc{debugContext, "nonLinearityGradient"};
  if (type == NonLinearityType::SOFTMAX_SCALED)
    throw poputil::poplibs_error("a scaled softmax has no gradient");
  if (!isSoftmax(type))
    return popops::map(graph, gradientOf(type), {act, outGradient}, prog, dc, options);
  const Tensor products = popops::mul(graph, act, outGradient, prog, dc);
  const Tensor total = overLast(graph, products, popops::Operation::ADD, prog, dc);
  return popops::map(graph, _1 * (_2 - _3), {act, outGradient, total}, prog, dc, options);
}

} // namespace popnn
