#ifndef popops_ElementWise_hpp
#define popops_ElementWise_hpp

#include <popops/ElementWiseMap.hpp>
#include <poputil/DebugInfo.hpp>

namespace popops {

#define POPOPS_UNARY(NAME, OP)                                                                     \
  inline poplar::Tensor NAME(                                                                      \
      poplar::Graph &graph, const poplar::Tensor &A, poplar::program::Sequence &prog,              \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    return map(graph, expr::UnaryOpType::OP, A, prog, debugContext, options);                      \
  }                                                                                                \
  inline void NAME##InPlace(                                                                       \
      poplar::Graph &graph, const poplar::Tensor &A, poplar::program::Sequence &prog,              \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    mapInPlace(graph, expr::UnaryOpType::OP, A, prog, debugContext, options);                      \
  }                                                                                                \
  inline void NAME##WithOutput(poplar::Graph &graph, const poplar::Tensor &A,                      \
                               const poplar::Tensor &out, poplar::program::Sequence &prog,         \
                               const poplar::DebugContext &debugContext = {},                      \
                               const poplar::OptionFlags &options = {}) {                          \
    mapWithOutput(graph, expr::UnaryOpType::OP, A, out, prog, debugContext, options);              \
  }
/// Each operand is a tensor or a number.
#define POPOPS_BINARY(NAME, OP)                                                                    \
  template <typename A, typename B, typename = operand_detail::IfOperands<A, B>>                   \
  poplar::Tensor NAME(                                                                             \
      poplar::Graph &graph, const A &a, const B &b, poplar::program::Sequence &prog,               \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    operand_detail::Operands operands;                                                             \
    const auto e = operand_detail::expression(expr::BinaryOpType::OP, operands, a, b);             \
    return map(graph, e, operands.tensors, prog, debugContext, options);                           \
  }                                                                                                \
  template <typename B, typename = operand_detail::IfOperands<poplar::Tensor, B>>                  \
  void NAME##InPlace(                                                                              \
      poplar::Graph &graph, const poplar::Tensor &a, const B &b, poplar::program::Sequence &prog,  \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    operand_detail::Operands operands;                                                             \
    const auto e = operand_detail::expression(expr::BinaryOpType::OP, operands, a, b);             \
    mapInPlace(graph, e, operands.tensors, prog, debugContext, options);                           \
  }                                                                                                \
  template <typename A, typename B, typename = operand_detail::IfOperands<A, B>>                   \
  void NAME##WithOutput(poplar::Graph &graph, const A &a, const B &b, const poplar::Tensor &out,   \
                        poplar::program::Sequence &prog,                                           \
                        const poplar::DebugContext &debugContext = {},                             \
                        const poplar::OptionFlags &options = {}) {                                 \
    operand_detail::Operands operands;                                                             \
    const auto e = operand_detail::expression(expr::BinaryOpType::OP, operands, a, b);             \
    mapWithOutput(graph, e, operands.tensors, out, prog, debugContext, options);                   \
  }

POPOPS_UNARY(abs, ABSOLUTE)
POPOPS_UNARY(asin, ASIN)
POPOPS_UNARY(bitwiseNot, BITWISE_NOT)
POPOPS_UNARY(cbrt, CBRT)
POPOPS_UNARY(ceil, CEIL)
POPOPS_UNARY(cos, COS)
POPOPS_UNARY(countLeadingZeros, COUNT_LEADING_ZEROS)
POPOPS_UNARY(erf, ERF)
POPOPS_UNARY(exp, EXPONENT)
POPOPS_UNARY(exp2, EXPONENT2)
POPOPS_UNARY(expm1, EXPONENT_MINUS_ONE)
POPOPS_UNARY(floor, FLOOR)
POPOPS_UNARY(geluErf, GELU_ERF)
POPOPS_UNARY(inv, INVERSE)
POPOPS_UNARY(isFinite, IS_FINITE)
POPOPS_UNARY(isInf, IS_INF)
POPOPS_UNARY(isNaN, IS_NAN)
POPOPS_UNARY(log, LOGARITHM)
POPOPS_UNARY(log1p, LOGARITHM_ONE_PLUS)
POPOPS_UNARY(logicalNot, LOGICAL_NOT)
POPOPS_UNARY(nearbyInt, NEARBY_INT)
POPOPS_UNARY(neg, NEGATE)
POPOPS_UNARY(popcount, POPCOUNT)
POPOPS_UNARY(relu, RELU)
POPOPS_UNARY(round, ROUND)
POPOPS_UNARY(rsqrt, RSQRT)
POPOPS_UNARY(sigmoid, SIGMOID)
POPOPS_UNARY(signum, SIGNUM)
POPOPS_UNARY(sin, SIN)
POPOPS_UNARY(sqrt, SQRT)
POPOPS_UNARY(square, SQUARE)
POPOPS_UNARY(tan, TAN)
POPOPS_UNARY(tanh, TANH)
POPOPS_UNARY(trunc, TRUNC)
POPOPS_BINARY(add, ADD)
POPOPS_BINARY(atan2, ATAN2)
POPOPS_BINARY(bitwiseAnd, BITWISE_AND)
POPOPS_BINARY(bitwiseOr, BITWISE_OR)
POPOPS_BINARY(bitwiseXor, BITWISE_XOR)
POPOPS_BINARY(bitwiseXnor, BITWISE_XNOR)
POPOPS_BINARY(div, DIVIDE)
POPOPS_BINARY(divide, DIVIDE)
POPOPS_BINARY(eq, EQUAL)
POPOPS_BINARY(gteq, GREATER_THAN_EQUAL)
POPOPS_BINARY(gt, GREATER_THAN)
POPOPS_BINARY(invStdDevToVariance, INV_STD_DEV_TO_VARIANCE)
POPOPS_BINARY(lteq, LESS_THAN_EQUAL)
POPOPS_BINARY(logicalAnd, LOGICAL_AND)
POPOPS_BINARY(logicalOr, LOGICAL_OR)
POPOPS_BINARY(lt, LESS_THAN)
POPOPS_BINARY(max, MAXIMUM)
POPOPS_BINARY(min, MINIMUM)
POPOPS_BINARY(mul, MULTIPLY)
POPOPS_BINARY(neq, NOT_EQUAL)
POPOPS_BINARY(pow, POWER)
POPOPS_BINARY(rem, REMAINDER)
POPOPS_BINARY(shiftLeft, SHIFT_LEFT)
POPOPS_BINARY(shiftRight, SHIFT_RIGHT)
POPOPS_BINARY(shiftRightSignExtend, SHIFT_RIGHT_SIGN_EXTEND)
POPOPS_BINARY(sub, SUBTRACT)
POPOPS_BINARY(varianceToInvStdDev, VARIANCE_TO_INV_STD_DEV)

#undef POPOPS_UNARY
#undef POPOPS_BINARY

/// The same two with a result of another type. [M]
#define POPOPS_CONVERSION(NAME, OP)                                                                \
  inline poplar::Tensor NAME(                                                                      \
      poplar::Graph &graph, const poplar::Tensor &src, const poplar::Tensor &epsilon,              \
      poplar::program::Sequence &prog, const poplar::Type dstType,                                 \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    return map(graph, expr::Cast(expr::OP(expr::_1, expr::_2), dstType), {src, epsilon}, prog,     \
               debugContext, options);                                                             \
  }                                                                                                \
  inline poplar::Tensor NAME(poplar::Graph &graph, const poplar::Tensor &src, float epsilon,       \
                             poplar::program::Sequence &prog, const poplar::Type dstType,          \
                             const poplar::DebugContext &debugContext = {},                        \
                             const poplar::OptionFlags &options = {}) {                            \
    return map(graph, expr::Cast(expr::OP(expr::_1, expr::Const(epsilon)), dstType), {src}, prog,  \
               debugContext, options);                                                             \
  }
POPOPS_CONVERSION(invStdDevToVariance, InvStdDevToVariance)
POPOPS_CONVERSION(varianceToInvStdDev, VarianceToInvStdDev)
#undef POPOPS_CONVERSION

} // namespace popops

#include <popops/ElementWiseTernary.hpp>
#include <poputil/exceptions.hpp>

#endif
