// The C interface of custom ops: loads an op's library as TensorFlow for the IPU does, builds the
// op and its gradient into one graph, and runs both on the emulator.
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
  void (*progress)(int step, int total); // called while the programs are compiled, unless NULL
  uint32_t streamed; // inputs that a stream copies to the device in every forward pass
  const uint32_t *streamed_inputs; // ascending; the others stay there
  // Outputs that a stream copies to the host after every forward pass, ascending; the others stay
  // there. With one or more, the gradients are copied after every backward pass.
  uint32_t streamed_back;
  const uint32_t *streamed_outputs;
} CustomOpCall;

// Compiles an op for that machine; no device is needed. Returns NULL on an error, which is in
// `message`.
void *ipulse_custom_op_compile(const CustomOpCall *, char *message, size_t size);
// Returns 1 if the metadata of the op, and of its gradient if one is wanted, set is_hashable, else
// 0; -1 on an error, which is in `message`.
int ipulse_custom_op_hashable(const CustomOpCall *, char *message, size_t size);
// Returns the executable of an op that is not on a device yet. The caller frees the bytes with
// ipulse_custom_op_free_text. NULL on an error, which is in `message`.
char *ipulse_custom_op_serialize(void *, size_t *bytes, char *message, size_t size);
// Makes an op from such bytes without compiling. NULL if they are not usable; `message` says why.
void *ipulse_custom_op_deserialize(const CustomOpCall *, const char *executable, size_t bytes,
                                   char *message, size_t size);
// Loads the op onto a device; forward and backward do so if necessary. Returns 0 on success.
int ipulse_custom_op_load(void *, char *message, size_t size);
// Runs a pass; returns 0 on success. Forward: every input, then every output. Backward: the
// gradients of every output, then those of the listed inputs, for the last forward pass.
int ipulse_custom_op_forward(void *, const void *const *in, void *const *out, char *message,
                             size_t size);
int ipulse_custom_op_backward(void *, const void *const *in, void *const *out, char *message,
                              size_t size);
// Restores the inputs and outputs of an earlier forward pass, for its backward pass.
int ipulse_custom_op_restore(void *, const void *const *inputs, const void *const *outputs,
                             char *message, size_t size);
// Returns the engine's profile as JSON, or NULL if the op is on no device. The caller frees it with
// ipulse_custom_op_free_text.
char *ipulse_custom_op_profile(void *);
void ipulse_custom_op_free_text(char *);
void ipulse_custom_op_free(void *);

#ifdef __cplusplus
}
#endif

#endif
