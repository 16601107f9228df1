#ifndef popops_ElementWiseMap_hpp
#define popops_ElementWiseMap_hpp

// Part of ElementWise.hpp; not a header of the SDK.

#include <type_traits>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popops/Expr.hpp>
#include <popops/ExprOp.hpp>

namespace popops {

/// Evaluates the expression over tensors `ts`, which broadcast as in NumPy. The result is mapped
/// like the first operand of the result's shape.
poplar::Tensor map(poplar::Graph &graph, const expr::Expr &expr,
                   const std::vector<poplar::Tensor> &ts, poplar::program::Sequence &prog,
                   const poplar::DebugContext &debugContext = {},
                   const poplar::OptionFlags &options = {});
/// The same, stored in ts[0].
void mapInPlace(poplar::Graph &graph, const expr::Expr &expr, const std::vector<poplar::Tensor> &ts,
                poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
                const poplar::OptionFlags &options = {});
void mapWithOutput(poplar::Graph &graph, const expr::Expr &expr,
                   const std::vector<poplar::Tensor> &ts, const poplar::Tensor &out,
                   poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},
                   const poplar::OptionFlags &options = {});

// With operands of the functions below.
#define POPOPS_TENSORS_1 const poplar::Tensor &A
#define POPOPS_TENSORS_2 POPOPS_TENSORS_1, const poplar::Tensor &B
#define POPOPS_TENSORS_3 POPOPS_TENSORS_2, const poplar::Tensor &C
/// The same for one operation, OP, of the tensors.
#define POPOPS_MAP(OP, PLACES, TENSORS, ...)                                                       \
  inline poplar::Tensor map(                                                                       \
      poplar::Graph &graph, OP##Type op, TENSORS, poplar::program::Sequence &prog,                 \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    return map(graph, OP PLACES, {__VA_ARGS__}, prog, debugContext, options);                      \
  }                                                                                                \
  inline void mapInPlace(                                                                          \
      poplar::Graph &graph, OP##Type op, TENSORS, poplar::program::Sequence &prog,                 \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    mapInPlace(graph, OP PLACES, {__VA_ARGS__}, prog, debugContext, options);                      \
  }                                                                                                \
  inline void mapWithOutput(poplar::Graph &graph, OP##Type op, TENSORS, const poplar::Tensor &out, \
                            poplar::program::Sequence &prog,                                       \
                            const poplar::DebugContext &debugContext = {},                         \
                            const poplar::OptionFlags &options = {}) {                             \
    mapWithOutput(graph, OP PLACES, {__VA_ARGS__}, out, prog, debugContext, options);              \
  }
POPOPS_MAP(expr::UnaryOp, (op, expr::_1), POPOPS_TENSORS_1, A)
POPOPS_MAP(expr::BinaryOp, (op, expr::_1, expr::_2), POPOPS_TENSORS_2, A, B)
POPOPS_MAP(expr::TernaryOp, (op, expr::_1, expr::_2, expr::_3), POPOPS_TENSORS_3, A, B, C)
#undef POPOPS_MAP
#undef POPOPS_TENSORS_1
#undef POPOPS_TENSORS_2
#undef POPOPS_TENSORS_3

namespace operand_detail {

/// An operation's operands: tensors get placeholders, numbers stand in the expression.
struct Operands {
  std::vector<poplar::Tensor> tensors;
  expr::Any add(const poplar::Tensor &t) {
    tensors.push_back(t);
    return expr::PlaceHolder(static_cast<unsigned>(tensors.size()));
  }
  template <typename T> expr::Any add(T value) { return expr::Const(value); }
};

template <typename A, typename B>
expr::BinaryOp expression(expr::BinaryOpType op, Operands &operands, const A &a, const B &b) {
  const expr::Any x = operands.add(a), y = operands.add(b);
  return {op, x, y};
}
template <typename A, typename B, typename C>
expr::TernaryOp expression(expr::TernaryOpType op, Operands &operands, const A &a, const B &b,
                           const C &c) {
  const expr::Any x = operands.add(a), y = operands.add(b), z = operands.add(c);
  return {op, x, y, z};
}

template <typename... T> struct AreOperands {
  static constexpr bool valid = true;
  static constexpr bool hasTensor = false;
};
template <typename First, typename... Rest> struct AreOperands<First, Rest...> {
  static constexpr bool isTensor = std::is_same<First, poplar::Tensor>::value;
  static constexpr bool valid =
      (isTensor || std::is_arithmetic<First>::value) && AreOperands<Rest...>::valid;
  static constexpr bool hasTensor = isTensor || AreOperands<Rest...>::hasTensor;
};
/// Enabled if one of the operands is a tensor, which determines type and shape of the result.
template <typename... T>
using IfOperands =
    typename std::enable_if<AreOperands<T...>::valid && AreOperands<T...>::hasTensor>::type;

} // namespace operand_detail

} // namespace popops

#endif
