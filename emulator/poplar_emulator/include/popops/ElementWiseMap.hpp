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

inline poplar::Tensor map(poplar::Graph &graph, expr::UnaryOpType op, const poplar::Tensor &A,
                          poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {}) {
  return map(graph, expr::UnaryOp(op, expr::_1), {A}, prog, debugContext, options);
}
inline void mapInPlace(poplar::Graph &graph, expr::UnaryOpType op, const poplar::Tensor &A,
                       poplar::program::Sequence &prog,
                       const poplar::DebugContext &debugContext = {},
                       const poplar::OptionFlags &options = {}) {
  mapInPlace(graph, expr::UnaryOp(op, expr::_1), {A}, prog, debugContext, options);
}
inline void mapWithOutput(poplar::Graph &graph, expr::UnaryOpType op, const poplar::Tensor &A,
                          const poplar::Tensor &out, poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {}) {
  mapWithOutput(graph, expr::UnaryOp(op, expr::_1), {A}, out, prog, debugContext, options);
}
inline poplar::Tensor map(poplar::Graph &graph, expr::BinaryOpType op, const poplar::Tensor &A,
                          const poplar::Tensor &B, poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {}) {
  return map(graph, expr::BinaryOp(op, expr::_1, expr::_2), {A, B}, prog, debugContext, options);
}
inline void mapInPlace(poplar::Graph &graph, expr::BinaryOpType op, const poplar::Tensor &A,
                       const poplar::Tensor &B, poplar::program::Sequence &prog,
                       const poplar::DebugContext &debugContext = {},
                       const poplar::OptionFlags &options = {}) {
  mapInPlace(graph, expr::BinaryOp(op, expr::_1, expr::_2), {A, B}, prog, debugContext, options);
}
inline void mapWithOutput(poplar::Graph &graph, expr::BinaryOpType op, const poplar::Tensor &A,
                          const poplar::Tensor &B, const poplar::Tensor &out,
                          poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {}) {
  mapWithOutput(graph, expr::BinaryOp(op, expr::_1, expr::_2), {A, B}, out, prog, debugContext,
                options);
}
inline poplar::Tensor map(poplar::Graph &graph, expr::TernaryOpType op, const poplar::Tensor &A,
                          const poplar::Tensor &B, const poplar::Tensor &C,
                          poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {}) {
  return map(graph, expr::TernaryOp(op, expr::_1, expr::_2, expr::_3), {A, B, C}, prog,
             debugContext, options);
}
inline void mapInPlace(poplar::Graph &graph, expr::TernaryOpType op, const poplar::Tensor &A,
                       const poplar::Tensor &B, const poplar::Tensor &C,
                       poplar::program::Sequence &prog,
                       const poplar::DebugContext &debugContext = {},
                       const poplar::OptionFlags &options = {}) {
  mapInPlace(graph, expr::TernaryOp(op, expr::_1, expr::_2, expr::_3), {A, B, C}, prog,
             debugContext, options);
}
inline void mapWithOutput(poplar::Graph &graph, expr::TernaryOpType op, const poplar::Tensor &A,
                          const poplar::Tensor &B, const poplar::Tensor &C,
                          const poplar::Tensor &out, poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {},
                          const poplar::OptionFlags &options = {}) {
  mapWithOutput(graph, expr::TernaryOp(op, expr::_1, expr::_2, expr::_3), {A, B, C}, out, prog,
                debugContext, options);
}

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
