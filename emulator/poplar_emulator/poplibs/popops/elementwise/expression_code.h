#ifndef IPULSE_POPLIBS_EXPRESSION_CODE_H
#define IPULSE_POPLIBS_EXPRESSION_CODE_H

#include <vector>

#include <poplar/Tensor.hpp>
#include <popops/Expr.hpp>

namespace popops {

enum class Code : unsigned { Argument, Constant, Cast, Unary, Binary, Select, Clamp };

/// One step of an expression in postfix order. `type` is the result's.
struct Instruction {
  unsigned code, operand, type;
};
constexpr std::size_t kWordsPerInstruction = 3;

/// An expression as stored in a vertex.
struct ExpressionCode {
  std::vector<unsigned> words;
  std::vector<float> constants; // two floats a constant: its value is their sum
  poplar::Type result;
};

/// Raises poputil::poplibs_error for a placeholder without a tensor and for operands of types
/// that do not go together.
ExpressionCode encode(const expr::Expr &expr, const std::vector<poplar::Tensor> &ts);

} // namespace popops

#endif
