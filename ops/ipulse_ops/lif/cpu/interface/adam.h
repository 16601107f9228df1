// Adam over all of a network's weights in one pass, behind a plain C interface.
//
//   m += (1 - beta_1) (g - m);  v += (1 - beta_2) (g^2 - v)
//   w  = (1 - rate decay) w - rate sqrt(1 - beta_2^t) / (1 - beta_1^t) m / (sqrt(v) + epsilon)
//
// at update t, from 1 (Kingma and Ba 2015, section 2, last paragraph; the decay is decoupled as in
// Loshchilov and Hutter 2019, algorithm 2). The same bits on every instruction set and for any
// number of threads.
#ifndef IPULSE_OPS_LIF_CPU_ADAM_H
#define IPULSE_OPS_LIF_CPU_ADAM_H

#include "lif.h"

#ifdef __cplusplus
extern "C" {
#endif

// One matrix: `count` floats each. What is read and what is written may be the same memory.
typedef struct LifAdamMatrix {
  int64_t count;
  const float *weights, *means, *squares, *gradients;
  float *new_weights, *new_means, *new_squares;
} LifAdamMatrix;

typedef struct LifAdam {
  uint32_t version; // LIF_ABI_VERSION
  int32_t matrices;
  const LifAdamMatrix *matrix;
  int64_t update; // t
  float rate, beta_1, beta_2, epsilon, weight_decay;
  int32_t threads; // as in LifNetwork
  uint64_t arch;
} LifAdam;

// Returns and `message` as lif_forward's.
LIF_API int lif_adam(const LifAdam *, char *message, size_t size);

#ifdef __cplusplus
}
#endif

#endif
