#ifndef IPULSE_POPLIBS_ELEMENT_OPERATIONS_H
#define IPULSE_POPLIBS_ELEMENT_OPERATIONS_H

#include <poplar/Type.hpp>
#include <popops/ExprOp.hpp>

namespace popops {

/// One element of each operation, as numbers; the caller rounds to the type of the result. Exact
/// for float and half operands, and for integers of up to 32 bits.
double apply(expr::UnaryOpType op, double a, poplar::Type type);
double apply(expr::BinaryOpType op, double a, double b, poplar::Type type);

bool isComparison(expr::BinaryOpType op);
bool isTest(expr::UnaryOpType op);
/// Returns whether the operation works on booleans or on the bits of integers.
bool isLogical(expr::UnaryOpType op);
bool isLogical(expr::BinaryOpType op);
bool isBitwise(expr::UnaryOpType op);
bool isBitwise(expr::BinaryOpType op);

/// Cycles of a worker's inner loop for one vector of elements, and the vector's width.
struct LoopCost {
  double cycles;
  unsigned width;
};
LoopCost costOf(expr::UnaryOpType op, poplar::Type type);
LoopCost costOf(expr::BinaryOpType op, poplar::Type type);

/// Returns the nearest value of the type; integers wrap around, as on the device.
double rounded(poplar::Type type, double value);

} // namespace popops

#endif
