#include "element_operations.h"

#include <cmath>
#include <cstdint>

namespace popops {
namespace {

using expr::BinaryOpType;
using expr::UnaryOpType;
using poplar::Type;

bool isFloat(Type t) { return t == poplar::FLOAT || t == poplar::HALF; }

std::uint32_t bitsOf(double a) { return static_cast<std::uint32_t>(static_cast<std::int64_t>(a)); }

double signedWord(std::uint32_t bits, Type type) {
  return type == poplar::INT ? static_cast<double>(static_cast<std::int32_t>(bits))
                             : static_cast<double>(bits);
}

double multiply(double a, double b, Type type) {
  if (isFloat(type))
    return a * b;
  return static_cast<double>(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(static_cast<std::int64_t>(a)) *
                                static_cast<std::uint64_t>(static_cast<std::int64_t>(b))));
}

double divide(double a, double b, Type type) {
  if (isFloat(type))
    return a / b;
  return b == 0 ? 0 : std::trunc(a / b);
}

} // namespace

double apply(UnaryOpType op, double a, Type type) {
  switch (op) {
  case UnaryOpType::ABSOLUTE:
    return std::fabs(a);
  case UnaryOpType::ASIN:
    return std::asin(a);
  case UnaryOpType::BITWISE_NOT:
    return signedWord(~bitsOf(a), type);
  case UnaryOpType::CBRT:
    return std::cbrt(a);
  case UnaryOpType::CEIL:
    return std::ceil(a);
  case UnaryOpType::COS:
    return std::cos(a);
  case UnaryOpType::COUNT_LEADING_ZEROS:
    return bitsOf(a) ? __builtin_clz(bitsOf(a)) : 32;
  case UnaryOpType::ERF:
    return std::erf(a);
  case UnaryOpType::EXPONENT:
    return std::exp(a);
  case UnaryOpType::EXPONENT2:
    return std::exp2(a);
  case UnaryOpType::EXPONENT_MINUS_ONE:
    return std::expm1(a);
  case UnaryOpType::FLOOR:
    return std::floor(a);
  case UnaryOpType::GELU_ERF:
    return a / 2 * (1 + std::erf(a / std::sqrt(2.0)));
  case UnaryOpType::INVERSE:
    return 1 / a;
  case UnaryOpType::IS_FINITE:
    return std::isfinite(a);
  case UnaryOpType::IS_INF:
    return std::isinf(a);
  case UnaryOpType::IS_NAN:
    return std::isnan(a);
  case UnaryOpType::LOGARITHM:
    return std::log(a);
  case UnaryOpType::LOGARITHM_ONE_PLUS:
    return std::log1p(a);
  case UnaryOpType::LOGICAL_NOT:
    return a == 0;
  case UnaryOpType::NEARBY_INT:
    return std::nearbyint(a);
  case UnaryOpType::NEGATE:
    return -a;
  case UnaryOpType::POPCOUNT:
    return __builtin_popcount(bitsOf(a));
  case UnaryOpType::RELU:
    return a > 0 ? a : 0;
  case UnaryOpType::ROUND:
    return std::round(a);
  case UnaryOpType::RSQRT:
    return 1 / std::sqrt(a);
  case UnaryOpType::SIGMOID:
    return 1 / (1 + std::exp(-a));
  case UnaryOpType::SIGNUM:
    return (a > 0) - (a < 0);
  case UnaryOpType::SIN:
    return std::sin(a);
  case UnaryOpType::SQRT:
    return std::sqrt(a);
  case UnaryOpType::SQUARE:
    return multiply(a, a, type);
  case UnaryOpType::TAN:
    return std::tan(a);
  case UnaryOpType::TANH:
    return std::tanh(a);
  case UnaryOpType::TRUNC:
    return std::trunc(a);
  }
  return 0;
}

double apply(BinaryOpType op, double a, double b, Type type) {
  switch (op) {
  case BinaryOpType::ADD:
    return a + b;
  case BinaryOpType::ATAN2:
    return std::atan2(a, b);
  case BinaryOpType::BITWISE_AND:
    return signedWord(bitsOf(a) & bitsOf(b), type);
  case BinaryOpType::BITWISE_OR:
    return signedWord(bitsOf(a) | bitsOf(b), type);
  case BinaryOpType::BITWISE_XOR:
    return signedWord(bitsOf(a) ^ bitsOf(b), type);
  case BinaryOpType::BITWISE_XNOR:
    return signedWord(~(bitsOf(a) ^ bitsOf(b)), type);
  case BinaryOpType::DIVIDE:
    return divide(a, b, type);
  case BinaryOpType::EQUAL:
    return a == b;
  case BinaryOpType::GREATER_THAN_EQUAL:
    return a >= b;
  case BinaryOpType::GREATER_THAN:
    return a > b;
  case BinaryOpType::INV_STD_DEV_TO_VARIANCE:
    return 1 / (a * a) - b;
  case BinaryOpType::LESS_THAN_EQUAL:
    return a <= b;
  case BinaryOpType::LOGICAL_AND:
    return a != 0 && b != 0;
  case BinaryOpType::LOGICAL_OR:
    return a != 0 || b != 0;
  case BinaryOpType::LESS_THAN:
    return a < b;
  case BinaryOpType::MAXIMUM:
    return a > b || std::isnan(b) ? a : b;
  case BinaryOpType::MINIMUM:
    return a < b || std::isnan(b) ? a : b;
  case BinaryOpType::MULTIPLY:
    return multiply(a, b, type);
  case BinaryOpType::NOT_EQUAL:
    return a != b;
  case BinaryOpType::POWER:
    return std::pow(a, b);
  case BinaryOpType::REMAINDER:
    return b == 0 && !isFloat(type) ? 0 : std::fmod(a, b);
  case BinaryOpType::SHIFT_LEFT:
    return signedWord(bitsOf(b) > 31 ? 0 : bitsOf(a) << bitsOf(b), type);
  case BinaryOpType::SHIFT_RIGHT:
    return signedWord(bitsOf(b) > 31 ? 0 : bitsOf(a) >> bitsOf(b), type);
  case BinaryOpType::SHIFT_RIGHT_SIGN_EXTEND:
    return std::floor(std::ldexp(a, -static_cast<int>(b)));
  case BinaryOpType::SUBTRACT:
    return a - b;
  case BinaryOpType::VARIANCE_TO_INV_STD_DEV:
    return 1 / std::sqrt(a + b);
  }
  return 0;
}

bool isComparison(BinaryOpType op) {
  switch (op) {
  case BinaryOpType::EQUAL:
  case BinaryOpType::GREATER_THAN_EQUAL:
  case BinaryOpType::GREATER_THAN:
  case BinaryOpType::LESS_THAN_EQUAL:
  case BinaryOpType::LOGICAL_AND:
  case BinaryOpType::LOGICAL_OR:
  case BinaryOpType::LESS_THAN:
  case BinaryOpType::NOT_EQUAL:
    return true;
  default:
    return false;
  }
}

bool isTest(UnaryOpType op) {
  return op == UnaryOpType::IS_FINITE || op == UnaryOpType::IS_INF || op == UnaryOpType::IS_NAN ||
         op == UnaryOpType::LOGICAL_NOT;
}

bool isLogical(UnaryOpType op) { return op == UnaryOpType::LOGICAL_NOT; }
bool isLogical(BinaryOpType op) {
  return op == BinaryOpType::LOGICAL_AND || op == BinaryOpType::LOGICAL_OR;
}
bool isBitwise(UnaryOpType op) {
  return op == UnaryOpType::BITWISE_NOT || op == UnaryOpType::COUNT_LEADING_ZEROS ||
         op == UnaryOpType::POPCOUNT;
}
bool isBitwise(BinaryOpType op) {
  switch (op) {
  case BinaryOpType::BITWISE_AND:
  case BinaryOpType::BITWISE_OR:
  case BinaryOpType::BITWISE_XOR:
  case BinaryOpType::BITWISE_XNOR:
  case BinaryOpType::SHIFT_LEFT:
  case BinaryOpType::SHIFT_RIGHT:
  case BinaryOpType::SHIFT_RIGHT_SIGN_EXTEND:
    return true;
  default:
    return false;
  }
}

double rounded(Type type, double value) {
  switch (type.identity()) {
  case Type::Id::Float:
    return static_cast<float>(value);
  case Type::Id::Half:
    return float(poplar::half(static_cast<float>(value)));
  case Type::Id::Bool:
    return value != 0;
  case Type::Id::Int:
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
  case Type::Id::UnsignedInt:
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
  case Type::Id::Short:
    return static_cast<std::int16_t>(static_cast<std::int64_t>(value));
  case Type::Id::UnsignedShort:
    return static_cast<std::uint16_t>(static_cast<std::int64_t>(value));
  case Type::Id::Char:
  case Type::Id::SignedChar:
    return static_cast<std::int8_t>(static_cast<std::int64_t>(value));
  case Type::Id::UnsignedChar:
    return static_cast<std::uint8_t>(static_cast<std::int64_t>(value));
  default:
    return value;
  }
}

} // namespace popops
