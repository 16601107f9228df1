#ifndef IPULSE_EMULATOR_OP_VALUE_H
#define IPULSE_EMULATOR_OP_VALUE_H

#include <string>
#include <vector>

#include <poplar/Target.hpp>
#include <poplar/Tensor.hpp>

#include "custom_op.h"

namespace custom_op {

/// The type and the shape of an input or an output of an op, as in TensorFlow.
struct Value {
  poplar::Type type;
  std::vector<std::size_t> shape;
  std::size_t bytes;

  /// Raises std::invalid_argument for a type that TensorFlow passes to no op.
  static Value of(const poplar::Target &target, const CustomOpTensor &given);
  /// Raises std::runtime_error if `t` has another type or shape; its message begins with `what`.
  void check(const poplar::Tensor &t, const std::string &what) const;
};

} // namespace custom_op

#endif
