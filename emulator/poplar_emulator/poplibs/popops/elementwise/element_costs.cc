#include "element_operations.h"

namespace popops {

using expr::BinaryOpType;
using expr::UnaryOpType;
using poplar::Type;

// PopLibs 3.3, lib/popops/popopsCycleEstimators.cpp, for float. Half has twice the width at the
// same cycles, and operations that the table does not have cost what a comparison does: inferred.
LoopCost costOf(UnaryOpType op, Type type) {
  const unsigned width = type == poplar::HALF ? 4 : type == poplar::FLOAT ? 2 : 1;
  switch (op) {
  case UnaryOpType::EXPONENT:
  case UnaryOpType::INVERSE:
    return {6, width};
  case UnaryOpType::SQRT:
    return {10, width};
  case UnaryOpType::TANH:
  case UnaryOpType::SIGMOID:
  case UnaryOpType::LOGARITHM:
    return {12, width};
  case UnaryOpType::RSQRT:
    return {8, width};
  case UnaryOpType::SQUARE:
  case UnaryOpType::NEGATE:
    return {2, width};
  case UnaryOpType::ABSOLUTE:
    return {1, 1};
  case UnaryOpType::SIGNUM:
    return {5, 1};
  case UnaryOpType::RELU:
    return {3, width};
  case UnaryOpType::SIN:
  case UnaryOpType::COS:
    return {2300, 1};
  case UnaryOpType::TAN:
    return {5100, 1};
  default:
    return {14, 4};
  }
}

LoopCost costOf(BinaryOpType op, Type type) {
  const unsigned width = type == poplar::HALF ? 4 : 2;
  const bool integer = type != poplar::FLOAT && type != poplar::HALF;
  switch (op) {
  case BinaryOpType::ADD:
  case BinaryOpType::SUBTRACT:
  case BinaryOpType::MULTIPLY:
    return integer ? LoopCost{7, 1} : LoopCost{1, width};
  case BinaryOpType::DIVIDE:
    return integer ? LoopCost{277, 1} : LoopCost{10, width};
  case BinaryOpType::MAXIMUM:
  case BinaryOpType::MINIMUM:
    return {3, width};
  case BinaryOpType::POWER:
    return {312, 1};
  case BinaryOpType::REMAINDER:
    return {133, 2};
  default:
    return {14, 4};
  }
}

} // namespace popops
