// The CPU kernels of sparse LIF networks behind a plain C interface: the whole sequence and all
// layers in one call. The equations are in lif/reference/network_pass.py; shapes are [time, batch,
// neurons].
//
// Bit equality. Two calls with the same arguments give the same bits on every instruction set and
// with any number of threads. Forward, each neuron sums its current in slot order and nothing is
// contracted to a fused multiply-add. Backward, the products of a layer's gradient and its weights
// have the orders of kernels/sampled_product.h and kernels/dense_product.h, with fused
// multiply-adds. Whoever changes an order or a rounding raises KERNEL_GENERATION.
#ifndef IPULSE_OPS_LIF_CPU_LIF_H
#define IPULSE_OPS_LIF_CPU_LIF_H

#include <stddef.h>
#include <stdint.h>

#include "constants.h"

#define LIF_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

enum { LIF_ABI_VERSION = 8 };

// The longest delay from layer to layer, in steps.
enum { LIF_MAX_DELAY = 65535 };

// The effect of a spike on the membrane before the next step.
enum LifReset { LIF_RESET_ZERO = 0, LIF_RESET_SUBTRACT = 1, LIF_RESET_NONE = 2 };

// The neurons that are reset: all above the threshold, or those with a slot.
enum LifResetOn { LIF_RESET_ON_STATE = 0, LIF_RESET_ON_EMISSION = 1 };

// The constant part in the gradient of the reset: the spike, the whole reset, nothing.
enum LifResetGradient {
  LIF_RESET_GRADIENT_MASK = 0,
  LIF_RESET_GRADIENT_TERM = 1,
  LIF_RESET_GRADIENT_NONE = 2
};

// The order in which neurons fill the slots.
enum LifPolicy { LIF_POLICY_INDEX = 0, LIF_POLICY_CYCLIC = 1, LIF_POLICY_TOP = 2 };

enum LifSurrogateKind {
  LIF_SUPERSPIKE = 0,
  LIF_ARCTAN = 1,
  LIF_BOXCAR = 2,
  LIF_EXPONENTIAL = 3,
  LIF_TABLE = 4
};

// How a call stores its packed copies of the weights. Bfloat16 is rounded to the nearest, ties to
// even, takes two bytes and is widened where it is read; only a product by all neurons reads a copy
// that was rounded and stays float32. Biases, sums, states and gradients are float32.
enum LifWeights { LIF_WEIGHTS_FLOAT32 = 0, LIF_WEIGHTS_BFLOAT16 = 1 };

// The storage for the backward pass: nothing, which rules it out; the bits and the membranes that
// carry gradient; the bits alone, from which the backward pass runs each layer again, with equal
// gradients to the bit.
enum LifStore { LIF_STORE_NOTHING = 0, LIF_STORE_MEMBRANES = 1, LIF_STORE_SPIKES = 2 };

// The equations are in ../../surrogate.py.
typedef struct LifSurrogate {
  int32_t kind;
  float slope;         // above 0; of SuperSpike, arctan, exponential
  float width;         // above 0; of the boxcar its half, of a table where it ends
  int32_t size;        // of a table, at least 2
  const float *values; // of a table
} LifSurrogate;

// One layer, or the leaky readout, which reads no slots, policy, thresholds or recurrent weights.
// Constants are arrays of `neurons` floats.
typedef struct LifLayer {
  int32_t neurons;
  int32_t slots; // of a sample and step, 1 to neurons
  int32_t policy;
  int32_t detach_adaptation; // 1: spikes are constant where they raise the threshold
  int32_t delay;             // steps that its input spikes take, 0 to LIF_MAX_DELAY
  // Each constant of constants.h; NULL: the layer does not have it. The scale of the current is
  // gain * (1 - decay), and gain where decay is 1. A second threshold is at most the threshold; the
  // two constants of adaptation are set together.
#define LIF_FIELD(name, optional) const float *name;
  LIF_CONSTANTS_OF_ALL(LIF_FIELD)
  LIF_CONSTANTS_OF_SPIKING(LIF_FIELD)
#undef LIF_FIELD
  const float *weights;   // [inputs of the layer, neurons]
  const float *recurrent; // [neurons, neurons], row = who spiked; NULL: not recurrent
  const float *bias;      // [neurons]; NULL: none
} LifLayer;

typedef struct LifNetwork {
  uint32_t version; // LIF_ABI_VERSION
  int32_t steps, batch;
  int32_t inputs;        // channels of the input
  int32_t input_slots;   // slots of a sample and step
  int32_t layers;        // that spike, at least 1
  int32_t leaky_readout; // 1: a leaky readout follows them; 0: the last of them is the readout
  int32_t reset, reset_on, reset_gradient;
  int32_t truncate; // steps after which gradients are cut, at least 1; 0: never
  int32_t weights;  // LifWeights
  int32_t store;    // LifStore; of both passes the same
  int32_t threads;  // to use; 0: as many as the process may run on
  uint64_t arch;    // CPU features that may be used, see arch.h; others are left alone
  uint64_t seed;    // of the policy cyclic
  LifSurrogate surrogate;
  int32_t id_bytes;      // 4: ids are int32_t; 2: uint16_t
  int32_t whole_batch;   // samples of the batch that these are a part of, whose size decides in
                         // which order sums are taken; 0: `batch`
  const void *ids;       // [time, batch, input_slots]
  const int32_t *counts; // [time, batch]
  const int32_t *filled; // [time, batch]: slots that get a gradient, those of gradient-only neurons
                         // after the spikes'; NULL: these alone
  const LifLayer *layer; // layers of them, then the leaky readout
} LifNetwork;

// The stored values of a layer. Both calls must have the same `arch`, because each kernel has its
// own layout.
typedef struct LifRecord {
  const uint32_t *bits;  // lif_bits_words() of them: who reset, carries gradient, was emitted
  float *membranes;      // of the neurons that carry gradient; not read if only spikes are stored
  size_t membranes_size; // as `allocate` was asked for, or 0
  int32_t last_use; // 1: the call may write to `membranes`, where it saves their size in memory
} LifRecord;

// Asked once per layer, as soon as the sizes are known. Returns a pointer for `floats` floats, 64
// bytes aligned where it can be, or NULL to stop the call.
typedef float *(*LifAllocate)(void *context, int32_t layer, size_t floats);

// "Per layer" is per layer that spikes, unless it says otherwise.
typedef struct LifForward {
  uint32_t version;     // LIF_ABI_VERSION
  float *membrane;      // [time, batch, classes] of the leaky readout; NULL without one
  uint32_t **bits;      // per layer, lif_bits_words() each
  float **counts;       // per layer [time, batch, 2]: spikes, and with gradient-only neurons
  float **dropped;      // per layer [time, batch]: spiking neurons without a slot
  float **u;            // per layer [time, batch, neurons] or NULL; NULL: of no layer
  void *context;        // handed to allocate
  LifAllocate allocate; // of a layer's membranes; called if the network stores membranes
} LifForward;

// Where the gradients of one layer are written; NULL: not wanted. Each by what LifLayer has under
// the same name; decay and scale count as independent. Only what the layer has, and recurrent and
// the constants of layers that spike not of a leaky readout.
typedef struct LifGradient {
  float *weights;   // [inputs of the layer, neurons]
  float *recurrent; // [neurons, neurons]
  float *bias;      // this and the rest [neurons]
#define LIF_FIELD(name) float *name;
  LIF_GRADIENTS(LIF_FIELD)
#undef LIF_FIELD
} LifGradient;

typedef struct LifBackward {
  uint32_t version; // LIF_ABI_VERSION
  const LifRecord *record;
  const float *grad_membrane;      // [time, batch, classes] of the leaky readout; NULL without one
  const float *const *grad_spikes; // per layer [time, batch, slots] or NULL; NULL: all zeros
  const int32_t *grad_slots;       // per layer the slots of grad_spikes, at least as many as are
                                   // filled; NULL: those of the layer
  const float *const *grad_u;      // per layer [time, batch, neurons] or NULL; NULL: all zeros
  const LifGradient *gradient;     // per layer and leaky readout
  float *grad_inputs;              // [time, batch, input_slots], 0 behind the filled slots; or NULL
} LifBackward;

typedef struct LifTimings {
  double forward_seconds, backward_seconds;
  int64_t forward_calls, backward_calls;
} LifTimings;

// The result of a call. If it is not LIF_OK, `message` has the reason (at most `size` bytes,
// terminated by 0).
enum { LIF_OK = 0, LIF_INVALID = 1, LIF_OUT_OF_MEMORY = 2 };

LIF_API int lif_forward(const LifNetwork *, const LifForward *, char *message, size_t size);
LIF_API int lif_backward(const LifNetwork *, const LifBackward *, char *message, size_t size);

// Length of a layer's `bits`.
LIF_API size_t lif_bits_words(int32_t steps, int32_t batch, const LifLayer *layer);

// Writes the first `slots` slots of a layer as ids [time, batch, slots], zeros behind the last
// filled one.
LIF_API int lif_slots(int32_t steps, int32_t batch, const LifLayer *layer, const uint32_t *bits,
                      int32_t threads, int32_t slots, float *ids, char *message, size_t size);

// Seconds and calls since the library was loaded or the last reset, of all threads.
LIF_API LifTimings lif_timings(void);
LIF_API void lif_reset_timings(void);

// Where that time goes. Off at first, and then it costs nothing; one call at a time while it is on.
// Switching it either way starts again from zero.
enum { LIF_PHASE_LAYERS = 16 };
LIF_API void lif_clock_phases(int on);

// The name of a part of the kernels and its seconds, of all threads together, in each layer; the
// readout is the layer behind the last. NULL behind the last part. Later layers are added up.
LIF_API const char *lif_phase_at(int32_t index, double seconds[LIF_PHASE_LAYERS]);

// The CPU features of this machine that the kernels know, and the kernel that a mask picks.
LIF_API uint64_t lif_supported_arch(void);
LIF_API const char *lif_kernel_name(uint64_t arch);

// The list of kernels: its length, and the name and needed features of each.
LIF_API int32_t lif_kernel_count(void);
LIF_API const char *lif_kernel_at(int32_t index, uint64_t *arch);

// Threads that a call with threads = 0 uses.
LIF_API int32_t lif_default_threads(void);

// Memory that keeps its pages between calls, because page faults cost more than some kernels. It is
// aligned to 64 bytes. give() needs the size that was passed to take().
LIF_API void *lif_memory_take(size_t bytes);
LIF_API void lif_memory_give(void *memory, size_t bytes);

// Moves what is in memory of the caller's into huge pages, as far as these lie within it and the
// system has them. It keeps its address, and may be read and written meanwhile.
LIF_API void lif_memory_settle(const void *memory, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
