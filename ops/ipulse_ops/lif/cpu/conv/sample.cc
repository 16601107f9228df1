#include "sample.h"

#include <stdexcept>
#include <string>

namespace lif {
namespace {

template <class Id> bool copy_events(const Id *from, int32_t count, int32_t inputs, int32_t *to) {
  bool wrong = false;
  for (int32_t k = 0; k < count; ++k) {
    to[k] = static_cast<int32_t>(from[k]);
    wrong |= static_cast<uint32_t>(from[k]) >= static_cast<uint32_t>(inputs);
  }
  return !wrong;
}

[[noreturn]] void refuse_events(const char *what, int t, int b) {
  throw std::invalid_argument(std::string(what) + " at time " + std::to_string(t) + ", sample " +
                              std::to_string(b));
}

} // namespace

void ConvEvents::read(const ConvLayer &n, int32_t inputs, int b) {
  start.assign(1, 0);
  counts.clear();
  for (int t = 0; t < n.steps; ++t) {
    int64_t place = int64_t(t) * n.batch + b;
    int32_t count = n.counts[place], filled = n.filled ? n.filled[place] : count;
    if (count < 0 || filled < count || filled > n.input_slots)
      refuse_events("counts must be 0 to the number of slots, and spikes at most the filled slots",
                    t, b);
    counts.push_back(count);
    start.push_back(start.back() + filled);
  }
  ids.resize(start.back());
  for (int t = 0; t < n.steps; ++t) {
    int64_t place = (int64_t(t) * n.batch + b) * n.input_slots;
    auto filled = static_cast<int32_t>(start[t + 1] - start[t]);
    int32_t *to = ids.data() + start[t];
    if (!(n.id_bytes == 2
              ? copy_events(static_cast<const uint16_t *>(n.ids) + place, filled, inputs, to)
              : copy_events(static_cast<const int32_t *>(n.ids) + place, filled, inputs, to)))
      refuse_events(("ids must be 0 to " + std::to_string(inputs - 1)).c_str(), t, b);
  }
}

ConvSample::ConvSample(const ConvLayer &layer, const Kernel &kernel, const ConvPlan &plan,
                       const std::vector<float> &weights)
    : layer_(layer), kernel_(kernel.conv), plan_(plan), weights_(weights),
      plane_(2 * plan.floats()), spikes_(plan.floats()), others_(plan.floats()) {
  if (layer.bias) {
    bias_.assign(plan.floats(), 0.0f);
    for (int32_t n = 0; n < plan.neurons(); ++n)
      bias_[n] = layer.bias_scale * layer.bias[n % layer.filters];
  }
}

void ConvSample::run(int b, bool membranes) {
  const int64_t floats = plan_.floats();
  events_.read(layer_, plan_.inputs(), b);
  const bool dense = membranes && !layer_.gated;
  if (dense)
    trace_.membranes.resize((layer_.steps + 1) * floats);
  trace_.spikes.clear();
  trace_.others.clear();
  trace_.spike_u.clear();
  trace_.other_u.clear();
  trace_.spike_start.assign(1, 0);
  trace_.other_start.assign(1, 0);
  auto at = [&](int t) {
    // The membranes of a step are overwritten by the next step unless somebody reads them.
    return dense ? trace_.membranes.data() + t * floats
                 : plane_.data() + (membranes ? t % 2 * floats : 0);
  };
  for (int64_t i = 0; i < floats; ++i)
    at(0)[i] = layer_.bias ? bias_[i] : 0.0f;
  for (int t = 0; t < layer_.steps; ++t) {
    float *u = at(t);
    if (int before = t - layer_.delay; before >= 0)
      kernel_.scatter(plan_.tables(), events_.ids.data() + events_.start[before],
                      events_.counts[before], weights_.data(), u);
    ConvFire fire{};
    fire.u = u;
    fire.next = at(t + 1);
    fire.bias = layer_.bias ? bias_.data() : nullptr;
    fire.floats = floats;
    fire.neurons = plan_.neurons();
    fire.decay = layer_.decay;
    fire.threshold = layer_.threshold;
    fire.second_threshold = layer_.second_threshold;
    fire.reset = layer_.reset;
    fire.gated = layer_.gated;
    fire.spikes = spikes_.data();
    fire.others = others_.data();
    kernel_.fire(fire);
    int32_t *spike_end = fire.spikes + fire.spike_count,
            *other_end = fire.others + fire.other_count;
    trace_.spikes.insert(trace_.spikes.end(), fire.spikes, spike_end);
    trace_.others.insert(trace_.others.end(), fire.others, other_end);
    trace_.spike_start.push_back(static_cast<int64_t>(trace_.spikes.size()));
    trace_.other_start.push_back(static_cast<int64_t>(trace_.others.size()));
    if (!membranes || dense)
      continue;
    for (const int32_t *n = fire.spikes; n < spike_end; ++n)
      trace_.spike_u.push_back(u[*n]);
    for (const int32_t *n = fire.others; n < other_end; ++n)
      trace_.other_u.push_back(u[*n]);
  }
}

} // namespace lif
