#ifndef IPULSE_EMULATOR_OP_VALUE_H
#define IPULSE_EMULATOR_OP_VALUE_H

#include <string>
#include <vector>

#include <poplar/Target.hpp>
#include <poplar/Tensor.hpp>

#include "custom_op.h"

namespace custom_op {

/// The type and the shape that an input or an output of an op has in TensorFlow.
struct Value {
  poplar::Type type;
  std::vector<std::size_t> shape;
  std::size_t bytes;

  /// Raises std::invalid_argument for a type that TensorFlow hands to no op.
  static Value of(const poplar::Target &target, const CustomOpTensor &given);
  /// Raises std::runtime_error, which begins with `what`, where `t` is another.
  void check(const poplar::Tensor &t, const std::string &what) const;
};

} // namespace custom_op

#endif
