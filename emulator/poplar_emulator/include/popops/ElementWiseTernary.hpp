// Part of ElementWise.hpp: select and clamp, of tensors and numbers.
#ifndef popops_ElementWiseTernary_hpp
#define popops_ElementWiseTernary_hpp

#include <popops/ElementWise.hpp>

namespace popops {

#define POPOPS_TERNARY(NAME, OP)                                                                   \
  template <typename A, typename B, typename C, typename = operand_detail::IfOperands<A, B, C>>    \
  poplar::Tensor NAME(                                                                             \
      poplar::Graph &graph, const A &a, const B &b, const C &c, poplar::program::Sequence &prog,   \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {}) {    \
    operand_detail::Operands operands;                                                             \
    const auto e = operand_detail::expression(expr::TernaryOpType::OP, operands, a, b, c);         \
    return map(graph, e, operands.tensors, prog, debugContext, options);                           \
  }                                                                                                \
  template <typename B, typename C, typename = operand_detail::IfOperands<poplar::Tensor, B, C>>   \
  void NAME##InPlace(poplar::Graph &graph, const poplar::Tensor &a, const B &b, const C &c,        \
                     poplar::program::Sequence &prog,                                              \
                     const poplar::DebugContext &debugContext = {},                                \
                     const poplar::OptionFlags &options = {}) {                                    \
    operand_detail::Operands operands;                                                             \
    const auto e = operand_detail::expression(expr::TernaryOpType::OP, operands, a, b, c);         \
    mapInPlace(graph, e, operands.tensors, prog, debugContext, options);                           \
  }                                                                                                \
  template <typename A, typename B, typename C, typename = operand_detail::IfOperands<A, B, C>>    \
  void NAME##WithOutput(poplar::Graph &graph, const A &a, const B &b, const C &c,                  \
                        const poplar::Tensor &out, poplar::program::Sequence &prog,                \
                        const poplar::DebugContext &debugContext = {},                             \
                        const poplar::OptionFlags &options = {}) {                                 \
    operand_detail::Operands operands;                                                             \
    const auto e = operand_detail::expression(expr::TernaryOpType::OP, operands, a, b, c);         \
    mapWithOutput(graph, e, operands.tensors, out, prog, debugContext, options);                   \
  }
POPOPS_TERNARY(select, SELECT)
POPOPS_TERNARY(clamp, CLAMP)
#undef POPOPS_TERNARY

} // namespace popops

#endif
