// The inner loops of a convolution: what they read and write.
//
// A plane holds a number for each neuron, filters innermost, and is padded to whole CONV_BLOCKs.
#ifndef IPULSE_OPS_LIF_CPU_CONV_KERNEL_H
#define IPULSE_OPS_LIF_CPU_CONV_KERNEL_H

#include <cstdint>

#include "interface/conv.h"

namespace lif {

constexpr int CONV_BLOCK = 64; // floats
constexpr int CONV_LANES = 16; // channels that are summed together

// Where an input's weights and outputs begin.
struct ConvSite {
  int32_t row;    // channel * kernel_height: of its packed weights
  int32_t target; // of its group in a position
  uint16_t x, y;
};

// A row of outputs that an input's row reaches.
struct ConvRow {
  int32_t target; // in a plane
  int32_t tap;    // of the kernel
};

// Neighbouring floats of a row of outputs, and of packed weights, that an input's column reaches.
struct ConvRun {
  int32_t target, weights;
  int32_t stride; // from a row of packed weights to the next
  int32_t floats;
};

struct ConvTables {
  const ConvSite *site;     // of each input id
  const int32_t *first_row; // of each y, and behind the last
  const ConvRow *row;
  const int32_t *first_run; // of each x, and behind the last
  const ConvRun *run;
};

// Neighbouring outputs that places reach, and the rows of transposed weights that lead there.
struct ConvSegment {
  int32_t target, floats; // from the place's first output
  int64_t row;
};

// Places of the input that reach outputs by the same taps.
struct ConvPlaces {
  const int32_t *first; // of each place: its first output in a plane
  const int32_t *place; // y * width + x of the input
  int32_t places;
  const ConvSegment *segment;
  int32_t segments;
};

// A step of all neurons of a sample: who spikes, and the membranes with which the next step begins.
struct ConvFire {
  const float *u;
  float *next;       // may be u
  const float *bias; // a plane, or null
  int64_t floats;    // of a plane, in whole blocks
  int32_t neurons;
  float decay, threshold, second_threshold;
  int reset;
  bool gated;
  // Written, with room for a plane each: spikes, and others above the second threshold.
  int32_t *spikes, *others;
  int32_t spike_count, other_count;
};

// A step back in time where all neurons carry gradient: lambda of this step from lambda of the step
// after it.
struct ConvAdjoint {
  const float *u;
  const float *e; // dL/ds
  float *lambda;
  int64_t floats;
  float decay, threshold;
  int reset, reset_gradient;
  const LifSurrogate *surrogate;
};

struct ConvKernel {
  // Adds the weights of each event to a plane. A vector behind the weights can be read.
  void (*scatter)(const ConvTables &, const int32_t *events, int64_t count, const float *weights,
                  float *plane);
  // Adds the plane at each event to its weights.
  void (*collect)(const ConvTables &, const int32_t *events, int64_t count, const float *plane,
                  float *weights);
  // The product of each event's weights with the plane.
  void (*gather)(const ConvTables &, const int32_t *events, int64_t count, const float *weights,
                 const float *plane, float *out);
  // The products of all channels at each place with the plane; `width` floats are a row of the
  // transposed weights, and a place of `out`.
  void (*gather_places)(const ConvPlaces &, const float *weights, int64_t width, const float *plane,
                        float *out);
  void (*fire)(ConvFire &);
  void (*adjoint)(const ConvAdjoint &);
  void (*decay)(float *plane, int64_t floats, float factor);
  void (*add)(float *to, const float *from, int64_t floats);
  // Adds the floats of a plane at each target to one row of weights. A vector behind the plane can
  // be read.
  void (*collect_row)(const float *plane, const int32_t *targets, int64_t count, float *weights,
                      int64_t floats);
};

} // namespace lif

#endif
