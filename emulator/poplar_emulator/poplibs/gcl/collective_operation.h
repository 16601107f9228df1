#ifndef IPULSE_POPLIBS_COLLECTIVE_OPERATION_H
#define IPULSE_POPLIBS_COLLECTIVE_OPERATION_H

#include <gcl/CollectiveTypes.hpp>
#include <popops/Operation.hpp>
#include <poputil/exceptions.hpp>

namespace gcl {

/// Returns the reduction of a collective of such elements; MEAN adds first and divides afterwards.
/// Raises poplibs_error for LOCAL, and for MEAN of integers.
inline popops::Operation operationOf(CollectiveOperator op, const poplar::Type &type) {
  if (op == CollectiveOperator::MEAN && type != poplar::FLOAT && type != poplar::HALF)
    throw poputil::poplibs_error("MEAN of " + type.toString() +
                                 " would be cut to whole numbers: cast to float first");
  switch (op) {
  case CollectiveOperator::ADD:
  case CollectiveOperator::MEAN:
    return popops::Operation::ADD;
  case CollectiveOperator::MUL:
    return popops::Operation::MUL;
  case CollectiveOperator::MIN:
    return popops::Operation::MIN;
  case CollectiveOperator::MAX:
    return popops::Operation::MAX;
  case CollectiveOperator::LOGICAL_AND:
    return popops::Operation::LOGICAL_AND;
  case CollectiveOperator::LOGICAL_OR:
    return popops::Operation::LOGICAL_OR;
  case CollectiveOperator::SQUARE_ADD:
    return popops::Operation::SQUARE_ADD;
  default:
    throw poputil::poplibs_error("LOCAL does not reduce over IPUs");
  }
}

} // namespace gcl

#endif
