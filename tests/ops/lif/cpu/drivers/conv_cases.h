// Convolutions of every kind through the C interface; every array is exactly as long as it must be.
#ifndef TESTS_OPS_CONV_CASES_H
#define TESTS_OPS_CONV_CASES_H

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "interface/conv.h"

struct ConvCase {
  int steps, batch, threads;
  unsigned variant; // a number that every choice is taken from

  // Runs both passes; add(values, count) gets every result. Returns the number of spikes.
  template <class Draw, class Add> double run(uint64_t arch, Draw draw, Add add) const;
};

namespace conv_cases {

inline float *allocate(void *context, int64_t slots) {
  auto &[places, ids] = *static_cast<std::pair<size_t, std::vector<float>> *>(context);
  ids.resize(places * static_cast<size_t>(slots));
  static float nothing;
  return ids.empty() ? &nothing : ids.data();
}

} // namespace conv_cases

template <class Draw, class Add> double ConvCase::run(uint64_t arch, Draw draw, Add add) const {
  unsigned left = variant;
  auto choose = [&](unsigned choices) {
    unsigned chosen = left % choices;
    left /= choices;
    return static_cast<int>(chosen);
  };
  const size_t places = size_t(steps) * static_cast<size_t>(batch);
  auto floats = [&](size_t count, float low, float high) {
    std::vector<float> values(count);
    for (float &value : values)
      value = low + (high - low) * static_cast<float>(draw(1000)) / 1000;
    return values;
  };
  ConvLayer n{};
  n.steps = steps;
  n.batch = batch;
  const bool crowded = choose(2); // many spikes, sorted as those of a layer are
  n.input_slots = crowded ? 250 : 9;
  n.height = 6, n.width = 7, n.channels = 4;
  n.channels_first = choose(2);
  n.kernel_height = 3, n.kernel_width = 2;
  n.groups = 1 + choose(2);
  n.filters = choose(2) ? 18 : 6;
  n.stride_y = 1 + choose(2), n.stride_x = 1 + choose(2);
  n.dilation_y = 1 + choose(2), n.dilation_x = 1 + choose(2);
  n.pad_y = choose(2), n.pad_x = 1;
  n.out_height = (n.height + 2 * n.pad_y - 2 * n.dilation_y - 1) / n.stride_y + 1;
  n.out_width = (n.width + 2 * n.pad_x - n.dilation_x - 1) / n.stride_x + 1;
  n.pool_height = 1, n.pool_width = 1 + choose(2);
  n.delay = choose(2);
  n.reset = choose(3), n.reset_gradient = choose(3);
  n.gated = choose(2);
  n.threads = threads;
  n.arch = arch;
  n.decay = 0.8f, n.threshold = 1, n.second_threshold = 0.3f;
  n.weight_scale = 0.7f, n.bias_scale = 0.5f;
  const std::vector<float> table = {0, 0.5f, 1, 0.25f};
  n.surrogate = {choose(5), 10, 0.5f, static_cast<int32_t>(table.size()), table.data()};
  std::vector<int32_t> ids(places * static_cast<size_t>(n.input_slots)), counts(places), filled;
  for (auto &id : ids)
    id = static_cast<int32_t>(draw(static_cast<unsigned>(n.height * n.width * n.channels)));
  for (size_t place = 0; crowded && place < places; ++place)
    std::sort(ids.begin() + int64_t(place) * n.input_slots,
              ids.begin() + int64_t(place + 1) * n.input_slots);
  const std::vector<uint16_t> narrow_ids(ids.begin(), ids.end());
  for (auto &count : counts) {
    count = static_cast<int32_t>(draw(static_cast<unsigned>(n.input_slots) + 1));
    filled.push_back(count + static_cast<int32_t>(draw(unsigned(n.input_slots - count) + 1)));
  }
  const bool narrow = choose(2), has_bias = choose(2), more = choose(2);
  n.id_bytes = narrow ? 2 : 4;
  n.ids = narrow ? static_cast<const void *>(narrow_ids.data()) : ids.data();
  n.counts = counts.data();
  n.filled = more ? filled.data() : nullptr;
  const std::vector<float> weights = floats(
      size_t(n.kernel_height * n.kernel_width * n.channels / n.groups * n.filters), -0.5f, 1);
  const std::vector<float> bias = floats(size_t(n.filters), 0, 0.2f);
  n.weights = weights.data();
  n.bias = has_bias ? bias.data() : nullptr;
  char message[256] = "";
  auto must = [&](int failed) {
    if (failed) {
      fprintf(stderr, "convolution %u: %s\n", variant, message);
      exit(1);
    }
  };
  std::vector<float> pairs(2 * places), activity(2 * places);
  double spikes = 0;
  for (int keep : {0, 1}) { // the last run is what the gradient needs
    n.keep = keep;
    std::pair<size_t, std::vector<float>> listed{places, {}};
    const ConvForward forward{pairs.data(), activity.data(), &listed, conv_cases::allocate};
    must(lif_conv_forward(&n, &forward, message, sizeof message));
    add(listed.second.data(), listed.second.size());
    add(pairs.data(), pairs.size());
    add(activity.data(), activity.size());
    if (!keep)
      continue;
    for (size_t place = 0; place < places; ++place)
      spikes += activity[2 * place];
    const std::vector<float> by_slot = floats(listed.second.size(), -1, 1);
    std::vector<float> by_weights(weights.size()), by_bias(bias.size()),
        by_inputs(more ? ids.size() : 0);
    const ConvBackward backward{
        places ? static_cast<int64_t>(by_slot.size() / places) : 1,
        listed.second.data(),
        pairs.data(),
        by_slot.data(),
        by_weights.data(),
        has_bias ? by_bias.data() : nullptr,
        more ? by_inputs.data() : nullptr,
    };
    must(lif_conv_backward(&n, &backward, message, sizeof message));
    for (const auto *grads : {&by_weights, &by_bias, &by_inputs})
      add(grads->data(), grads->size());
  }
  return spikes;
}

#endif
