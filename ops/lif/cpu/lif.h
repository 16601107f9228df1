// The CPU kernels of sparse LIF networks behind a plain C interface: the whole sequence and all
// layers in one call. The equations are in ../reference.py; shapes are [time, batch, neurons].
//
// Bit equality. Two calls with the same arguments give the same bits, whatever `threads` is. The
// forward pass gives the same bits on every instruction set: each neuron sums its current in slot
// order and nothing is contracted to a fused multiply-add. The backward pass sums dot products in
// vector lanes, so its results on two instruction sets differ by rounding.
#ifndef IPULSE_OPS_LIF_CPU_LIF_H
#define IPULSE_OPS_LIF_CPU_LIF_H

#include <stddef.h>
#include <stdint.h>

#define LIF_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

enum { LIF_ABI_VERSION = 1 };

enum LifResetGradient { LIF_MASK = 0, LIF_TERM = 1 };

enum LifSurrogate { LIF_SUPERSPIKE = 0 };

// One layer, or the readout, which reads neurons, decay, scale and weights alone.
// Constants are arrays of `neurons` floats.
typedef struct LifLayer {
  int32_t neurons;
  int32_t slots;                 // of a sample and step, 1 to neurons
  const float *decay;            // 0 <= decay < 1
  const float *scale;            // of the input current: gain * (1 - decay)
  const float *threshold;        // spike where u > threshold
  const float *second_threshold; // gradient where u > second_threshold; NULL: everywhere
  const float *weights;          // [inputs of the layer, neurons]
} LifLayer;

typedef struct LifNetwork {
  uint32_t version; // LIF_ABI_VERSION
  int32_t steps, batch;
  int32_t inputs;      // channels of the input
  int32_t input_slots; // slots of a sample and step
  int32_t layers;      // without the readout, at least 1
  int32_t delay;       // steps from layer to layer: 0 or 1
  int32_t reset_gradient;
  int32_t surrogate;
  float slope;           // of the surrogate
  int32_t threads;       // to use; 0: as many as the process may run on
  uint64_t arch;         // CPU features that may be used, see arch.h; others are left alone
  const int32_t *ids;    // [time, batch, input_slots]
  const int32_t *counts; // [time, batch]
  const LifLayer *layer; // layers + 1 of them, the readout last
} LifNetwork;

// What the backward pass needs of a layer. Its content belongs to the kernel that wrote it; two
// calls belong together only with the same `arch`.
typedef struct LifRecord {
  const uint32_t *bits;   // lif_bits_words() of them: who reset, carries gradient, was emitted
  const float *membranes; // of the neurons that carry gradient
  size_t membranes_size;  // as `allocate` was asked for
} LifRecord;

// Asked once per layer, as soon as the sizes are known. Returns a pointer for `floats` floats, 64
// bytes aligned where it can be, or NULL to stop the call.
typedef float *(*LifAllocate)(void *context, int32_t layer, size_t floats);

typedef struct LifForward {
  uint32_t version;     // LIF_ABI_VERSION
  int32_t keep;         // 1: also write what the backward pass needs
  float *membrane;      // [time, batch, classes]: of the readout
  uint32_t **bits;      // per layer, lif_bits_words() each
  float **counts;       // per layer [time, batch, 2]: spikes, and with gradient-only neurons
  float **dropped;      // per layer [time, batch]: spiking neurons without a slot
  void *context;        // handed to allocate
  LifAllocate allocate; // of a layer's membranes; not called if keep is 0
} LifForward;

typedef struct LifBackward {
  uint32_t version; // LIF_ABI_VERSION
  const LifRecord *record;
  const float *grad_membrane;      // [time, batch, classes]
  const float *const *grad_spikes; // per layer [time, batch, slots], or NULL for zeros
  float *const *grad_weights;      // layers + 1 arrays [inputs of the layer, neurons], written
} LifBackward;

typedef struct LifTimings {
  double forward_seconds, backward_seconds;
  int64_t forward_calls, backward_calls;
} LifTimings;

// What a call returns; if not LIF_OK, the reason is in `message` (at most `size` bytes, ends with
// 0).
enum { LIF_OK = 0, LIF_INVALID = 1, LIF_OUT_OF_MEMORY = 2 };

LIF_API int lif_forward(const LifNetwork *, const LifForward *, char *message, size_t size);
LIF_API int lif_backward(const LifNetwork *, const LifBackward *, char *message, size_t size);

// Length of a layer's `bits`.
LIF_API size_t lif_bits_words(int32_t steps, int32_t batch, const LifLayer *layer);

// Writes the slots of a layer as ids [time, batch, slots], zeros behind the last filled one.
LIF_API int lif_slots(int32_t steps, int32_t batch, const LifLayer *layer, const uint32_t *bits,
                      int32_t threads, float *ids, char *message, size_t size);

// Seconds and calls since the library was loaded or the last reset, of all threads.
LIF_API LifTimings lif_timings(void);
LIF_API void lif_reset_timings(void);

// The CPU features of this machine that the kernels know, and the kernel that a mask picks.
LIF_API uint64_t lif_supported_arch(void);
LIF_API const char *lif_kernel_name(uint64_t arch);

// The list of kernels: its length, and the name and needed features of each.
LIF_API int32_t lif_kernel_count(void);
LIF_API const char *lif_kernel_at(int32_t index, uint64_t *arch);

// Threads that a call with threads = 0 uses.
LIF_API int32_t lif_default_threads(void);

// Memory whose pages stay mapped between calls: page faults of fresh memory cost more than some of
// the kernels. Alignment 64. give() needs the size that take() was asked for.
LIF_API void *lif_memory_take(size_t bytes);
LIF_API void lif_memory_give(void *memory, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
