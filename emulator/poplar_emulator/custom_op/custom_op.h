// TensorFlow's side of a custom op, behind a C interface: loads a library as TensorFlow for the IPU
// does, builds the op and its gradient into one graph, and runs both on the emulator.
#ifndef IPULSE_EMULATOR_CUSTOM_OP_H
#define IPULSE_EMULATOR_CUSTOM_OP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CustomOpTensor {
  const char *type; // as poplar::Type::toString() says: "float", "int", ...
  uint32_t rank;
  const uint64_t *shape;
} CustomOpTensor;

// The arguments of ipu.custom_ops.precompiled_user_op, and the machine.
typedef struct CustomOpCall {
  const char *library, *codelets, *op_name, *attributes, *gradient_attributes;
  uint32_t api_level; // what this TensorFlow expects: 4 up to SDK 2.2, 5 from SDK 2.3 on
  uint32_t ipus, tiles_per_ipu;
  const char *options; // of the engine, "key=value" a line
  uint32_t inputs, outputs, gradients;
  const CustomOpTensor *input, *output;
  const int64_t *inputs_with_gradients; // `gradients` of them; none: no gradient op is built
  uint32_t separate_gradients; // one gradient op for each of them, as TensorFlow asks for it
  void (*progress)(int step, int total); // told while the programs are compiled, unless NULL
} CustomOpCall;

// An op compiled for that machine, without a device, or NULL; then the error is in `message`.
void *ipulse_custom_op_compile(const CustomOpCall *, char *message, size_t size);
// Whether the op, and its gradient if one is wanted, promise that they may be kept: 1, 0, or -1
// with a message.
int ipulse_custom_op_hashable(const CustomOpCall *, char *message, size_t size);
// The executable of an op that is on no device yet, as bytes that the caller frees with
// ipulse_custom_op_free_text; NULL with a message.
char *ipulse_custom_op_serialize(void *, size_t *bytes, char *message, size_t size);
// The op of such bytes, with nothing compiled; NULL with a message if they are not to be used.
void *ipulse_custom_op_deserialize(const CustomOpCall *, const char *executable, size_t bytes,
                                   char *message, size_t size);
// Onto a device, which forward and backward do if nobody did. 0 if all went well.
int ipulse_custom_op_load(void *, char *message, size_t size);
// 0 if all went well. Forward: every input in, every output out. Backward: a gradient by every
// output in, those of the listed inputs out; of the forward pass before.
int ipulse_custom_op_forward(void *, const void *const *in, void *const *out, char *message,
                             size_t size);
int ipulse_custom_op_backward(void *, const void *const *in, void *const *out, char *message,
                              size_t size);
// Puts an earlier forward pass back, every input and output, for a backward pass of it.
int ipulse_custom_op_restore(void *, const void *const *inputs, const void *const *outputs,
                             char *message, size_t size);
// The engine's profile as JSON, or NULL if it is on no device; freed by the caller with
// ipulse_custom_op_free_text.
char *ipulse_custom_op_profile(void *);
void ipulse_custom_op_free_text(char *);
void ipulse_custom_op_free(void *);

#ifdef __cplusplus
}
#endif

#endif
