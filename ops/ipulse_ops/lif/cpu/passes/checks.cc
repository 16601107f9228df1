#include "checks.h"

#include <cmath>
#include <stdexcept>

#include "layout.h"
#include "sequence.h"

namespace lif {
namespace {

constexpr int MAX_THREADS = 1024;

bool check_choice(const char *name, int value, int choices, const Message &message) {
  return (value >= 0 && value < choices) ||
         message.fail("%s must be 0 to %d; got %d", name, choices - 1, value);
}

// In messages layers count from 1, the readout included.
//
// NaN is below nothing and at least nothing, so that it is refused, too.
bool check_bounds(const char *name, const float *values, float least, float most, const char *words,
                  int neurons, int number, const Message &message) {
  for (int i = 0; values && i < neurons; ++i)
    if (!(values[i] >= least && values[i] <= most))
      return message.fail("layer %d: %s[%d] is %g; it must be %s", number, name, i,
                          static_cast<double>(values[i]), words);
  return true;
}

// Refuses constants that the equations exclude: a decay above 1, a second threshold above the
// first. A leaky readout reads only some of them.
bool check_constants(const LifLayer &layer, int number, bool readout, const Message &message) {
#define LIF_CHECK(name, least, most, words)                                                        \
  if (!check_bounds(#name, layer.name, least, most, words, layer.neurons, number, message))        \
    return false;
  LIF_BOUNDED_CONSTANTS(LIF_CHECK)
#undef LIF_CHECK
  for (int i = 0; i < layer.neurons; ++i) {
    if (!std::isfinite(layer.scale[i]))
      return message.fail("layer %d: scale[%d] is %g; it must be finite", number, i,
                          static_cast<double>(layer.scale[i]));
    if (readout)
      continue;
    auto threshold = static_cast<double>(layer.threshold[i]);
    if (std::isnan(threshold))
      return message.fail("layer %d: threshold[%d] is no number", number, i);
    if (layer.second_threshold && !(layer.second_threshold[i] <= layer.threshold[i]))
      return message.fail("layer %d: second_threshold[%d] is %g; it must not be above the "
                          "threshold, %g",
                          number, i, static_cast<double>(layer.second_threshold[i]), threshold);
  }
  return true;
}

bool check_layer(const LifLayer &layer, int number, bool readout, const Message &message) {
  if (layer.neurons < 1)
    return message.fail("layer %d: neurons must be at least 1; got %d", number, layer.neurons);
  if (!layer.decay || !layer.scale || !layer.weights || (!readout && !layer.threshold))
    return message.fail("layer %d: an array is missing", number);
  if (readout ? layer.adaptation_decay || layer.adaptation_strength
              : !layer.adaptation_decay != !layer.adaptation_strength)
    return message.fail("layer %d: adaptation_decay and adaptation_strength must be set together, "
                        "and not of a leaky readout",
                        number);
  if (layer.delay < 0 || layer.delay > LIF_MAX_DELAY)
    return message.fail("layer %d: delay must be 0 to %d; got %d", number, LIF_MAX_DELAY,
                        layer.delay);
  if (!check_constants(layer, number, readout, message))
    return false;
  if (readout)
    return true;
  if (layer.slots < 1 || layer.slots > layer.neurons)
    return message.fail("layer %d: slots must be 1 to %d; got %d", number, layer.neurons,
                        layer.slots);
  return check_choice("policy", layer.policy, 3, message);
}

bool check_surrogate(const LifSurrogate &s, const Message &message) {
  if (!check_choice("surrogate", s.kind, 5, message))
    return false;
  bool by_width = s.kind == LIF_BOXCAR || s.kind == LIF_TABLE;
  float parameter = by_width ? s.width : s.slope;
  if (!(parameter > 0) || !std::isfinite(parameter))
    return message.fail("the surrogate's %s must be above 0; got %g", by_width ? "width" : "slope",
                        static_cast<double>(parameter));
  if (s.kind == LIF_TABLE && (s.size < 2 || !s.values))
    return message.fail("the surrogate's table must have at least 2 values; got %d", s.size);
  return true;
}

// The spikes of step t and sample b.
template <class Id> bool check_place(const LifNetwork &n, int t, int b, const Message &message) {
  int64_t place = int64_t(t) * n.batch + b;
  int32_t count = n.counts[place];
  if (count < 0 || count > n.input_slots)
    return message.fail("counts[%d, %d] is %d; it must be 0 to %d, the slots", t, b, count,
                        n.input_slots);
  int32_t filled = n.filled ? n.filled[place] : count;
  if (filled < count || filled > n.input_slots)
    return message.fail("filled[%d, %d] is %d; it must be %d, the spikes, to %d, the slots", t, b,
                        filled, count, n.input_slots);
  const Id *ids = static_cast<const Id *>(n.ids) + place * n.input_slots;
  for (int k = 0; k < filled; ++k)
    if (static_cast<uint32_t>(ids[k]) >= static_cast<uint32_t>(n.inputs))
      return message.fail("ids[%d, %d, %d] is %d; it must be 0 to %d", t, b, k, ids[k],
                          n.inputs - 1);
  return true;
}

bool check_record(const Kernel &kernel, const LifNetwork &n, const LifRecord &record, int number,
                  const Message &message) {
  int64_t rows = static_cast<int64_t>(n.batch) * n.steps;
  const LifLayer &layer = n.layer[number];
  int64_t needed = 0;
  if (n.store == LIF_STORE_SPIKES) {
    needed = 0;
  } else if (!is_sparse(layer)) {
    needed = dense_membranes(cut(kernel, n, number), rows);
  } else {
    BitRows bits(layer, rows, record.bits);
    needed = kernel.count_bits(bits.kept, rows * bits.row_bytes);
  }
  return static_cast<int64_t>(record.membranes_size) == needed ||
         message.fail("layer %d: its record has %zu membranes and should have %lld; the forward "
                      "pass must be of the same network and store what this one reads",
                      number + 1, record.membranes_size, static_cast<long long>(needed));
}

} // namespace

bool check_network(const LifNetwork &n, const Message &message) {
  if (n.version != LIF_ABI_VERSION)
    return message.fail("the caller speaks version %u of lif.h; this library is version %d",
                        n.version, LIF_ABI_VERSION);
  if (n.steps < 0 || n.batch < 0 || n.inputs < 1 || n.input_slots < 0 || n.layers < 1)
    return message.fail("sizes out of range: steps %d, batch %d, inputs %d, slots %d, layers %d",
                        n.steps, n.batch, n.inputs, n.input_slots, n.layers);
  if (!check_choice("leaky_readout", n.leaky_readout, 2, message) ||
      !check_choice("reset", n.reset, 3, message) ||
      !check_choice("reset_on", n.reset_on, 2, message) ||
      !check_choice("reset_gradient", n.reset_gradient, 3, message) ||
      !check_choice("weights", n.weights, 2, message) ||
      !check_choice("store", n.store, 3, message) || !check_surrogate(n.surrogate, message))
    return false;
  if (n.whole_batch && n.whole_batch < n.batch)
    return message.fail("whole_batch must be 0, or at least the batch of %d; got %d", n.batch,
                        n.whole_batch);
  if (n.id_bytes != 2 && n.id_bytes != 4)
    return message.fail("id_bytes must be 2 or 4; got %d", n.id_bytes);
  if (n.truncate < 0)
    return message.fail("truncate must be at least 0; got %d", n.truncate);
  if (n.threads < 0 || n.threads > MAX_THREADS)
    return message.fail("threads must be 0 to %d; got %d", MAX_THREADS, n.threads);
  for (int number = 0; number < n.layers + n.leaky_readout; ++number) {
    if (!check_layer(n.layer[number], number + 1, number == n.layers, message))
      return false;
    if (n.truncate && n.layer[number].delay)
      return message.fail("layer %d: truncated gradients need a delay of 0; got %d", number + 1,
                          n.layer[number].delay);
  }
  return true;
}

void refuse_spikes(const LifNetwork &n) {
  char text[256] = "the input's spikes changed while they were read";
  auto check = n.id_bytes == 2 ? check_place<uint16_t> : check_place<int32_t>;
  bool right = true;
  for (int t = 0; right && t < n.steps; ++t)
    for (int b = 0; right && b < n.batch; ++b)
      right = check(n, t, b, {text, sizeof text});
  throw std::invalid_argument(text);
}

bool check_forward(const LifNetwork &n, const LifForward &result, const Message &message) {
  if (result.version != LIF_ABI_VERSION)
    return message.fail("LifForward is not version %d", LIF_ABI_VERSION);
  if (n.leaky_readout && !result.membrane && n.steps && n.batch)
    return message.fail("LifForward has no membrane for the leaky readout");
  return true;
}

bool check_backward(const Kernel &kernel, const LifNetwork &n, const LifBackward &gradient,
                    const Message &message) {
  if (gradient.version != LIF_ABI_VERSION)
    return message.fail("LifBackward is not version %d", LIF_ABI_VERSION);
  if (n.store == LIF_STORE_NOTHING)
    return message.fail("the forward pass stored nothing for a backward pass: it ran with "
                        "training=False, or with keep=False");
  if (n.leaky_readout && !gradient.grad_membrane && n.steps && n.batch)
    return message.fail("LifBackward has no gradient by the leaky readout's membrane");
  for (int number = 0; number < n.layers + n.leaky_readout; ++number) {
    const LifLayer &layer = n.layer[number];
    const LifGradient &wanted = gradient.gradient[number];
    bool spiking = number < n.layers;
#define LIF_LACKS(name) || (wanted.name && !layer.name)
#define LIF_LACKS_SPIKING(name) || (wanted.name && !(spiking && layer.name))
    if ((wanted.recurrent && !(spiking && layer.recurrent)) ||
        (wanted.bias && !layer.bias) LIF_GRADIENTS_OF_ALL(LIF_LACKS)
            LIF_GRADIENTS_OF_SPIKING(LIF_LACKS_SPIKING))
      return message.fail("layer %d: a gradient by something that it does not have", number + 1);
    int slots = spiking && gradient.grad_slots ? gradient.grad_slots[number] : layer.slots;
    bool has_slots = is_sparse(layer) ? slots >= 1 && slots <= layer.slots : slots == layer.slots;
    if (spiking && !has_slots)
      return message.fail("layer %d: a gradient by spikes has %d slots", number + 1, slots);
    if (spiking && !check_record(kernel, n, gradient.record[number], number, message))
      return false;
  }
  return true;
}

} // namespace lif
