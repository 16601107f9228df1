// Networks of every kind through the C interface, and what all kernels must agree on.
// Sizes that are not a multiple of anything; every array is exactly as long as it must be.
#ifndef TESTS_OPS_NETWORK_CASES_H
#define TESTS_OPS_NETWORK_CASES_H

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "interface/lif.h"

inline unsigned state = 1; // of the random numbers

inline unsigned draw(unsigned below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

struct Case {
  int steps, batch, inputs, input_slots, delay, reset_gradient, threads;
  std::vector<int> neurons; // the readout last
  int slots;                // of a layer at most; 0: one per neuron
  bool gated;
  unsigned variant; // 0: what the fast loops run; else a number that every choice is taken from
};

inline float *allocate(void *context, int32_t layer, size_t floats) {
  auto &membranes = *static_cast<std::vector<std::vector<float>> *>(context);
  membranes[layer].assign(floats, 0);
  static float nothing;
  return floats ? membranes[layer].data() : &nothing;
}

// Results that all kernels must share: the last layer's spikes, and the bits of all floats.
struct Result {
  double spikes = 0, gradients = 0; // gradients: the sum of their absolute values
  uint64_t digest = 14695981039346656037u;

  void add(const float *values, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      uint32_t word;
      memcpy(&word, values + i, sizeof word);
      digest = (digest ^ word) * 1099511628211u; // FNV-1a, by words
    }
  }
};

inline void run(const Case &c, uint64_t arch, Result &result) {
  unsigned left = c.variant;
  auto choose = [&](unsigned choices) {
    unsigned chosen = left % choices;
    left /= choices;
    return static_cast<int>(chosen);
  };
  bool leaky = !choose(2), recurrent = choose(2), synapse = choose(2), bias = choose(2);
  bool narrow = choose(2), everything = choose(2);
  int reset = choose(3), policy = choose(3), reset_on = choose(2), no_detach = choose(2);
  int stored = choose(2), surrogate = choose(5), weight_type = choose(2);
  bool adapts = choose(2);
  int layers = static_cast<int>(c.neurons.size()) - leaky;
  size_t places = size_t(c.steps) * c.batch;
  std::vector<int32_t> ids(places * c.input_slots), counts(places);
  for (auto &id : ids)
    id = static_cast<int32_t>(draw(c.inputs));
  for (auto &count : counts)
    count = static_cast<int32_t>(draw(c.input_slots + 1));
  std::vector<int32_t> filled = counts;
  for (auto &count : filled)
    count += static_cast<int32_t>(draw(c.input_slots + 1 - count));
  std::vector<std::vector<float>> arrays;
  auto array = [&](size_t length, float low, float high) {
    std::vector<float> values(length);
    for (float &value : values)
      value = low + (high - low) * static_cast<float>(draw(1000)) / 1000;
    arrays.push_back(std::move(values));
    return arrays.back().data();
  };
  std::vector<LifLayer> layer(c.neurons.size());
  int inputs = c.inputs;
  for (size_t i = 0; i < layer.size(); ++i) {
    int n = c.neurons[i];
    layer[i].neurons = n;
    layer[i].delay = i ? c.delay * int(i) : reset;
    layer[i].slots = c.slots && c.slots < n ? c.slots : n;
    layer[i].decay = array(n, 0.5f, 0.9f);
    layer[i].scale = array(n, 1, 2);
    layer[i].threshold = array(n, 0.8f, 1.2f);
    layer[i].second_threshold = c.gated ? array(n, 0.2f, 0.7f) : nullptr;
    layer[i].weights = array(size_t(inputs) * n, -0.5f, 0.6f);
    layer[i].policy = policy;
    layer[i].synapse_decay = synapse ? array(n, 0.1f, 0.5f) : nullptr;
    if (adapts && int(i) < layers) {
      layer[i].adaptation_decay = array(n, 0.5f, 0.9f);
      layer[i].adaptation_strength = array(n, 0.1f, 0.5f);
      layer[i].detach_adaptation = bias;
    }
    layer[i].bias = bias ? array(n, 0, 0.2f) : nullptr;
    layer[i].recurrent = recurrent && int(i) < layers ? array(size_t(n) * n, -0.1f, 0.1f) : nullptr;
    inputs = n;
  }
  LifNetwork network{};
  network.version = LIF_ABI_VERSION;
  network.steps = c.steps;
  network.batch = c.batch;
  network.inputs = c.inputs;
  network.input_slots = c.input_slots;
  network.layers = layers;
  network.leaky_readout = leaky;
  network.reset = reset;
  network.reset_on = reset_on;
  network.reset_gradient = no_detach ? LIF_RESET_GRADIENT_NONE : c.reset_gradient;
  network.truncate = c.delay || reset ? 0 : 2; // it needs layers without delays
  network.weights = weight_type;
  network.store = stored ? LIF_STORE_SPIKES : LIF_STORE_MEMBRANES;
  network.seed = c.variant;
  network.threads = c.threads;
  network.arch = arch;
  const std::vector<float> table = {0, 0.5f, 1, 0.25f};
  network.surrogate = {surrogate, 10, 0.5f, static_cast<int32_t>(table.size()), table.data()};
  const std::vector<uint16_t> narrow_ids(ids.begin(), ids.end());
  network.id_bytes = narrow ? 2 : 4;
  network.ids = narrow ? static_cast<const void *>(narrow_ids.data()) : ids.data();
  network.counts = counts.data();
  network.filled = everything ? filled.data() : nullptr;
  network.layer = layer.data();
  std::vector<float> membrane(places * c.neurons.back());
  std::vector<std::vector<float>> pairs(layers), dropped(layers), membranes(layers), direct(layers);
  std::vector<std::vector<uint32_t>> bits(layers);
  std::vector<float *> pairs_at, dropped_at;
  std::vector<uint32_t *> bits_at;
  std::vector<const float *> direct_at, grad_u_at;
  std::vector<std::vector<float>> u(layers);
  std::vector<float *> u_at;
  for (int i = 0; i < layers; ++i) {
    pairs[i].resize(2 * places);
    dropped[i].resize(places);
    bits[i].resize(lif_bits_words(c.steps, c.batch, &layer[i]));
    direct[i].assign(places * layer[i].slots, 0.5f);
    pairs_at.push_back(pairs[i].data());
    dropped_at.push_back(dropped[i].data());
    bits_at.push_back(bits[i].data());
    u[i].resize(places * layer[i].neurons);
    u_at.push_back(i % 2 ? nullptr : u[i].data());
    grad_u_at.push_back(i % 2 ? nullptr : u[i].data());
    direct_at.push_back(i % 2 ? nullptr : direct[i].data());
  }
  char message[256] = "";
  auto must = [&](int failed) {
    if (failed) {
      fprintf(stderr, "%s\n", message);
      exit(1);
    }
  };
  LifForward forward{};
  forward.version = LIF_ABI_VERSION;
  forward.membrane = leaky ? membrane.data() : nullptr;
  forward.u = everything ? u_at.data() : nullptr;
  forward.bits = bits_at.data();
  forward.counts = pairs_at.data();
  forward.dropped = dropped_at.data();
  forward.context = &membranes;
  forward.allocate = allocate;
  must(lif_forward(&network, &forward, message, sizeof message));
  std::vector<LifRecord> record(layers);
  for (int i = 0; i < layers; ++i) {
    record[i] = {bits[i].data(), membranes[i].data(), membranes[i].size(), 1};
    std::vector<float> slots(places * layer[i].slots);
    must(lif_slots(c.steps, c.batch, &layer[i], bits[i].data(), c.threads, layer[i].slots,
                   slots.data(), message, sizeof message));
  }
  std::deque<std::vector<float>> grads;
  auto grad = [&](bool wanted, size_t length) -> float * {
    if (!wanted)
      return nullptr;
    grads.emplace_back(length);
    return grads.back().data();
  };
  std::vector<LifGradient> grads_at;
  inputs = c.inputs;
  for (const LifLayer &one : layer) {
    size_t n = one.neurons;
    bool spiking = int(grads_at.size()) < layers;
    grads_at.push_back({grad(true, inputs * n), grad(one.recurrent, n * n), grad(one.bias, n),
                        grad(everything, n), grad(everything, n),
                        grad(everything && one.synapse_decay, n), grad(everything && spiking, n),
                        grad(everything && one.adaptation_decay, n),
                        grad(everything && one.adaptation_strength, n)});
    inputs = one.neurons;
  }
  LifBackward backward{};
  backward.version = LIF_ABI_VERSION;
  backward.record = record.data();
  backward.grad_membrane = leaky ? membrane.data() : nullptr;
  backward.grad_u = everything ? grad_u_at.data() : nullptr;
  backward.grad_inputs = grad(everything, places * c.input_slots);
  backward.grad_spikes = direct_at.data();
  backward.gradient = grads_at.data();
  must(lif_backward(&network, &backward, message, sizeof message));
  for (size_t place = 0; place < places; ++place)
    result.spikes += pairs[layers - 1][2 * place];
  result.add(membrane.data(), membrane.size());
  for (const auto &values : grads) {
    result.add(values.data(), values.size());
    for (float value : values)
      result.gradients += std::fabs(static_cast<double>(value));
  }
}

#endif
