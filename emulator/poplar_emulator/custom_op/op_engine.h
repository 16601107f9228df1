#ifndef IPULSE_EMULATOR_OP_ENGINE_H
#define IPULSE_EMULATOR_OP_ENGINE_H

#include "compiled_op.h"

namespace custom_op {

/// Returns the op's engine; the first call loads it onto a device of its size. Raises
/// std::runtime_error if there is none.
poplar::Engine &onDevice(CompiledOp &op);
/// Raises std::runtime_error if the op writes to an input without a declared alias.
void forward(CompiledOp &op, const void *const *in, void *const *out);
/// Restores an earlier forward pass.
void restore(CompiledOp &op, const void *const *inputs, const void *const *outputs);
void backward(CompiledOp &op, const void *const *in, void *const *out);

} // namespace custom_op

#endif
