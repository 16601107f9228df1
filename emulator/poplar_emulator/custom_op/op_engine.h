#ifndef IPULSE_EMULATOR_OP_ENGINE_H
#define IPULSE_EMULATOR_OP_ENGINE_H

#include "compiled_op.h"

namespace custom_op {

/// The op's engine on a device of its size, where the first call puts it. Raises std::runtime_error
/// when there is none.
poplar::Engine &onDevice(CompiledOp &op);
/// Raises std::runtime_error if the op writes to an input without having promised to.
void forward(CompiledOp &op, const void *const *in, void *const *out);
/// Puts an earlier forward pass back.
void restore(CompiledOp &op, const void *const *inputs, const void *const *outputs);
void backward(CompiledOp &op, const void *const *in, void *const *out);

} // namespace custom_op

#endif
