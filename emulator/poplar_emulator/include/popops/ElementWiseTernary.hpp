// Part of ElementWise.hpp: select and clamp, of tensors and numbers.
#ifndef popops_ElementWiseTernary_hpp
#define popops_ElementWiseTernary_hpp

#include <type_traits>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popops/ElementWise.hpp>

namespace popops {
namespace ternary_detail {

/// An operation's operands: tensors get placeholders, numbers stand in the expression.
struct Operands {
  std::vector<poplar::Tensor> tensors;
  expr::Any add(const poplar::Tensor &t) {
    tensors.push_back(t);
    return expr::PlaceHolder(static_cast<unsigned>(tensors.size()));
  }
  template <typename T> expr::Any add(T value) { return expr::Const(value); }
};

template <typename A, typename B, typename C>
expr::TernaryOp expression(expr::TernaryOpType op, Operands &operands, const A &a, const B &b,
                           const C &c) {
  const expr::Any x = operands.add(a), y = operands.add(b), z = operands.add(c);
  return {op, x, y, z};
}

template <typename T> struct IsOperand {
  static constexpr bool value =
      std::is_same<T, poplar::Tensor>::value || std::is_arithmetic<T>::value;
};
/// Enabled if one of the operands is a tensor, which determines type and shape of the result.
template <typename A, typename B, typename C>
using IfOperands =
    typename std::enable_if<IsOperand<A>::value && IsOperand<B>::value && IsOperand<C>::value &&
                            !(std::is_arithmetic<A>::value && std::is_arithmetic<B>::value &&
                              std::is_arithmetic<C>::value)>::type;

} // namespace ternary_detail

#define POPOPS_TERNARY(NAME, OP)                                                                   \
  template <typename A, typename B, typename C, typename = ternary_detail::IfOperands<A, B, C>>    \
  poplar::Tensor NAME(                                                                             \
      poplar::Graph &graph, const A &a, const B &b, const C &c, poplar::program::Sequence &prog,   \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    ternary_detail::Operands operands;                                                             \
    const auto e = ternary_detail::expression(expr::TernaryOpType::OP, operands, a, b, c);         \
    return map(graph, e, operands.tensors, prog, debugContext, options);                           \
  }                                                                                                \
  template <typename B, typename C, typename = ternary_detail::IfOperands<poplar::Tensor, B, C>>   \
  void NAME##InPlace(poplar::Graph &graph, const poplar::Tensor &a, const B &b, const C &c,        \
                     poplar::program::Sequence &prog,                                              \
                     const poplar::DebugContext &debugContext = {},                                \
                     const poplar::OptionFlags &options = {}) {                                    \
    ternary_detail::Operands operands;                                                             \
    const auto e = ternary_detail::expression(expr::TernaryOpType::OP, operands, a, b, c);         \
    mapInPlace(graph, e, operands.tensors, prog, debugContext, options);                           \
  }                                                                                                \
  template <typename A, typename B, typename C, typename = ternary_detail::IfOperands<A, B, C>>    \
  void NAME##WithOutput(poplar::Graph &graph, const A &a, const B &b, const C &c,                  \
                        const poplar::Tensor &out, poplar::program::Sequence &prog,                \
                        const poplar::DebugContext &debugContext = {},                             \
                        const poplar::OptionFlags &options = {}) {                                 \
    ternary_detail::Operands operands;                                                             \
    const auto e = ternary_detail::expression(expr::TernaryOpType::OP, operands, a, b, c);         \
    mapWithOutput(graph, e, operands.tensors, out, prog, debugContext, options);                   \
  }
POPOPS_TERNARY(select, SELECT)
POPOPS_TERNARY(clamp, CLAMP)
#undef POPOPS_TERNARY

} // namespace popops

#endif
