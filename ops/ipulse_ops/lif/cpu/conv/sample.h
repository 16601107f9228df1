// One sample of a convolution: its events, and its run forward in time.
#ifndef IPULSE_OPS_LIF_CPU_SAMPLE_H
#define IPULSE_OPS_LIF_CPU_SAMPLE_H

#include <vector>

#include "kernels/kernel.h"
#include "plan.h"

namespace lif {

// The events of a sample, end to end.
struct ConvEvents {
  std::vector<int32_t> ids;    // of the filled slots
  std::vector<int64_t> start;  // of each step, and behind the last
  std::vector<int32_t> counts; // of each step: spikes; gradient-only slots follow them

  // Throws std::invalid_argument for a count or an id out of range.
  void read(const ConvLayer &layer, int32_t inputs, int sample);
};

// The states and spikes of a sample. A run forward writes it step by step.
struct ConvTrace {
  std::vector<int32_t> spikes, others;           // end to end; others: of layers with a gate
  std::vector<int64_t> spike_start, other_start; // of each step, and behind the last
  std::vector<float> membranes;                  // [time, floats], if they are kept
  std::vector<float> spike_u, other_u;           // of the spikes and the others, if they are kept
};

class ConvSample {
public:
  ConvSample(const ConvLayer &layer, const Kernel &kernel, const ConvPlan &plan,
             const std::vector<float> &weights);

  // Runs sample `b`. membranes: they are kept for a backward pass.
  void run(int b, bool membranes);

  const ConvEvents &events() const { return events_; }
  const ConvTrace &trace() const { return trace_; }

private:
  const ConvLayer &layer_;
  const ConvKernel &kernel_;
  const ConvPlan &plan_;
  const std::vector<float> &weights_;
  std::vector<float> bias_, plane_;
  std::vector<int32_t> spikes_, others_;
  ConvEvents events_;
  ConvTrace trace_;
};

} // namespace lif

#endif
