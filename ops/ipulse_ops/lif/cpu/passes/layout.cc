#include "layout.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "support/pool.h"

namespace lif {

// Bytes of a panel's weights that fit most L2 caches.
constexpr int64_t PANEL_BYTES = 1 << 20;
// Most neurons of a panel where all membranes of a long layer are stored: the forward pass is
// faster with narrow panels then.
constexpr int LONG_LAYER_WIDTH = 64;
// Panels of up to this width serve layers of any number of inputs.
constexpr int ALWAYS_WIDTH = 32;

// Neurons of a chunk, from sizes alone: sums may depend on it, and must not on the kernel.
static int chunk_neurons(const LifNetwork &network, int number) {
  // Wide panels amortise the reading of ids over more neurons, unless they are mostly padding or
  // exceed the cache.
  const LifLayer &layer = network.layer[number];
  int64_t column_bytes = inputs_of(network, number) * int64_t(sizeof(float));
  int best = 0;
  int64_t least = 0;
  for (int width = MAX_WIDTH; width >= SUM_LANES; width /= 2) {
    if (width > ALWAYS_WIDTH && width * column_bytes > PANEL_BYTES)
      continue;
    if (width > LONG_LAYER_WIDTH && !is_sparse(layer) && is_long(network, layer.neurons))
      continue;
    int64_t padded = static_cast<int64_t>(layer.neurons + width - 1) / width * width;
    if (!best || padded + padded / 8 < least) {
      best = width;
      least = padded;
    }
  }
  return best;
}

Panels cut(const Kernel &kernel, const LifNetwork &network, int number) {
  int neurons = network.layer[number].neurons, chunk = chunk_neurons(network, number);
  int vectors = std::min(chunk / kernel.lanes, MAX_VECTORS), width = vectors * kernel.lanes;
  int panels = chunk / width;
  return {neurons, vectors, width, (neurons + chunk - 1) / chunk * panels, panels};
}

#define LIF_COUNT(name) +1
constexpr int PACKED = 5 LIF_GENERAL_CONSTANTS(LIF_COUNT); // decay, scale, both thresholds, bias
#undef LIF_COUNT

LayerConstants::LayerConstants(const LifLayer &layer, const Panels &panels)
    : width_(panels.width), values_(int64_t(PACKED) * panels.count * panels.width) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  // Nothing reaches it, and zero times it is zero.
  constexpr float never = std::numeric_limits<float>::max();
  const int64_t padded = static_cast<int64_t>(panels.count) * panels.width;
  float *next = values_.get();
  // One value per neuron, `absent` without an array; `padding` behind the last neuron.
  auto fill = [&](const float *from, float absent, float padding) -> const float * {
    float *to = next;
    for (int64_t i = 0; i < padded; ++i)
      to[i] = i >= layer.neurons ? padding : from ? from[i] : absent;
    next += padded;
    return to;
  };
  auto pack = [&](const float *from) { return from ? fill(from, 0, 0) : nullptr; };
  first_.decay = fill(layer.decay, 0, 0);
  first_.scale = fill(layer.scale, 0, 0);
  first_.threshold = fill(layer.threshold, never, never);
  first_.second = fill(layer.second_threshold, -infinity, never);
  first_.bias = pack(layer.bias);
#define LIF_PACK(name) first_.name = pack(layer.name);
  LIF_GENERAL_CONSTANTS(LIF_PACK)
#undef LIF_PACK
}

Constants LayerConstants::of(int panel) const {
  Constants found = first_;
  const int64_t skipped = panel * width_;
  for (const float **each : {&found.decay, &found.scale, &found.threshold, &found.second})
    *each += skipped;
  auto skip = [skipped](const float *&array) {
    if (array)
      array += skipped;
  };
  skip(found.bias);
#define LIF_SKIP(name) skip(found.name);
  LIF_GENERAL_CONSTANTS(LIF_SKIP)
#undef LIF_SKIP
  return found;
}

std::unique_ptr<Buffer<float>> pack_weights(const Kernel &kernel, int threads, const float *weights,
                                            int inputs, int neurons, const Panels &panels,
                                            bool transposed, int storage) {
  int64_t length =
      transposed ? int64_t(neurons) * panels.width : inputs * row_words(panels, storage);
  std::unique_ptr<Buffer<float>> packed(new Buffer<float>(length * panels.count));
  auto pack = transposed ? kernel.pack_transposed : kernel.pack;
  parallel_for(threads, panels.count, [&](int64_t p, int) {
    pack(weights, inputs, neurons, panels.first(static_cast<int>(p)), panels.width, storage,
         packed->get() + p * length);
  });
  return packed;
}

const float *WorkerPanel::get(int worker, int panel) {
  float *packed = packed_.get() + worker * words_ * together_;
  if (held_[worker] == panel)
    return packed;
  for (int k = 0; k < together_; ++k)
    pack_(weights_, rows_, columns_, panels_.first(panel + k), panels_.width, storage_,
          packed + k * words_);
  held_[worker] = panel;
  return packed;
}

} // namespace lif
