#include <popops/ExprOpUtils.hpp>

#include <ostream>

#include <poputil/exceptions.hpp>

#include "../../poputil/names.h"

namespace popops::expr {
namespace {

constexpr std::pair<UnaryOpType, const char *> kUnary[] = {
    {UnaryOpType::ABSOLUTE, "ABSOLUTE"},
    {UnaryOpType::ASIN, "ASIN"},
    {UnaryOpType::BITWISE_NOT, "BITWISE_NOT"},
    {UnaryOpType::CBRT, "CBRT"},
    {UnaryOpType::CEIL, "CEIL"},
    {UnaryOpType::COS, "COS"},
    {UnaryOpType::COUNT_LEADING_ZEROS, "COUNT_LEADING_ZEROS"},
    {UnaryOpType::ERF, "ERF"},
    {UnaryOpType::EXPONENT, "EXPONENT"},
    {UnaryOpType::EXPONENT2, "EXPONENT2"},
    {UnaryOpType::EXPONENT_MINUS_ONE, "EXPONENT_MINUS_ONE"},
    {UnaryOpType::FLOOR, "FLOOR"},
    {UnaryOpType::GELU_ERF, "GELU_ERF"},
    {UnaryOpType::INVERSE, "INVERSE"},
    {UnaryOpType::IS_FINITE, "IS_FINITE"},
    {UnaryOpType::IS_INF, "IS_INF"},
    {UnaryOpType::IS_NAN, "IS_NAN"},
    {UnaryOpType::LOGARITHM, "LOGARITHM"},
    {UnaryOpType::LOGARITHM_ONE_PLUS, "LOGARITHM_ONE_PLUS"},
    {UnaryOpType::LOGICAL_NOT, "LOGICAL_NOT"},
    {UnaryOpType::NEARBY_INT, "NEARBY_INT"},
    {UnaryOpType::NEGATE, "NEGATE"},
    {UnaryOpType::POPCOUNT, "POPCOUNT"},
    {UnaryOpType::RELU, "RELU"},
    {UnaryOpType::ROUND, "ROUND"},
    {UnaryOpType::RSQRT, "RSQRT"},
    {UnaryOpType::SIGMOID, "SIGMOID"},
    {UnaryOpType::SIGNUM, "SIGNUM"},
    {UnaryOpType::SIN, "SIN"},
    {UnaryOpType::SQRT, "SQRT"},
    {UnaryOpType::SQUARE, "SQUARE"},
    {UnaryOpType::TAN, "TAN"},
    {UnaryOpType::TANH, "TANH"},
    {UnaryOpType::TRUNC, "TRUNC"},
};

constexpr std::pair<BinaryOpType, const char *> kBinary[] = {
    {BinaryOpType::ADD, "ADD"},
    {BinaryOpType::ATAN2, "ATAN2"},
    {BinaryOpType::BITWISE_AND, "BITWISE_AND"},
    {BinaryOpType::BITWISE_OR, "BITWISE_OR"},
    {BinaryOpType::BITWISE_XOR, "BITWISE_XOR"},
    {BinaryOpType::BITWISE_XNOR, "BITWISE_XNOR"},
    {BinaryOpType::DIVIDE, "DIVIDE"},
    {BinaryOpType::EQUAL, "EQUAL"},
    {BinaryOpType::GREATER_THAN_EQUAL, "GREATER_THAN_EQUAL"},
    {BinaryOpType::GREATER_THAN, "GREATER_THAN"},
    {BinaryOpType::INV_STD_DEV_TO_VARIANCE, "INV_STD_DEV_TO_VARIANCE"},
    {BinaryOpType::LESS_THAN_EQUAL, "LESS_THAN_EQUAL"},
    {BinaryOpType::LOGICAL_AND, "LOGICAL_AND"},
    {BinaryOpType::LOGICAL_OR, "LOGICAL_OR"},
    {BinaryOpType::LESS_THAN, "LESS_THAN"},
    {BinaryOpType::MAXIMUM, "MAXIMUM"},
    {BinaryOpType::MINIMUM, "MINIMUM"},
    {BinaryOpType::MULTIPLY, "MULTIPLY"},
    {BinaryOpType::NOT_EQUAL, "NOT_EQUAL"},
    {BinaryOpType::POWER, "POWER"},
    {BinaryOpType::REMAINDER, "REMAINDER"},
    {BinaryOpType::SHIFT_LEFT, "SHIFT_LEFT"},
    {BinaryOpType::SHIFT_RIGHT, "SHIFT_RIGHT"},
    {BinaryOpType::SHIFT_RIGHT_SIGN_EXTEND, "SHIFT_RIGHT_SIGN_EXTEND"},
    {BinaryOpType::SUBTRACT, "SUBTRACT"},
    {BinaryOpType::VARIANCE_TO_INV_STD_DEV, "VARIANCE_TO_INV_STD_DEV"},
};

constexpr std::pair<TernaryOpType, const char *> kTernary[] = {
    {TernaryOpType::CLAMP, "CLAMP"},
    {TernaryOpType::SELECT, "SELECT"},
};

template <typename E, std::size_t N>
std::ostream &print(std::ostream &os, const poplar::emulator::Names<E, N> &names, E value) {
  for (const auto &entry : names)
    if (entry.first == value)
      return os << entry.second;
  throw poputil::poplibs_error("there is no operator with the number " +
                               std::to_string(static_cast<int>(value)));
}

} // namespace

std::ostream &ostream_ext::operator<<(std::ostream &os, const UnaryOpType &t) {
  return print(os, kUnary, t);
}
std::ostream &ostream_ext::operator<<(std::ostream &os, const BinaryOpType &t) {
  return print(os, kBinary, t);
}
std::ostream &ostream_ext::operator<<(std::ostream &os, const TernaryOpType &t) {
  return print(os, kTernary, t);
}

} // namespace popops::expr
