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

LayerConstants::LayerConstants(const LifLayer &layer, const Panels &panels)
    : width_(panels.width), padded_(static_cast<int64_t>(panels.count) * panels.width),
      synapse_(layer.synapse_decay), bias_(layer.bias), adapts_(adapts(layer)),
      values_(8 * padded_) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  // Nothing reaches it, and zero times it is zero.
  constexpr float never = std::numeric_limits<float>::max();
  float *decay = values_.get(), *scale = decay + padded_, *threshold = scale + padded_,
        *second = threshold + padded_, *synapse_decay = second + padded_,
        *bias = synapse_decay + padded_, *adaptation_decay = bias + padded_,
        *adaptation_strength = adaptation_decay + padded_;
  for (int64_t i = 0; i < padded_; ++i) {
    bool real = i < layer.neurons;
    decay[i] = real ? layer.decay[i] : 0;
    scale[i] = real ? layer.scale[i] : 0;
    threshold[i] = real && layer.threshold ? layer.threshold[i] : never;
    second[i] = !real ? never : layer.second_threshold ? layer.second_threshold[i] : -infinity;
    synapse_decay[i] = real && synapse_ ? layer.synapse_decay[i] : 0;
    bias[i] = real && bias_ ? layer.bias[i] : 0;
    adaptation_decay[i] = real && adapts_ ? layer.adaptation_decay[i] : 0;
    adaptation_strength[i] = real && adapts_ ? layer.adaptation_strength[i] : 0;
  }
}

Constants LayerConstants::of(int panel) const {
  const float *first = values_.get() + panel * width_;
  return {first,
          first + padded_,
          first + 2 * padded_,
          first + 3 * padded_,
          synapse_ ? first + 4 * padded_ : nullptr,
          bias_ ? first + 5 * padded_ : nullptr,
          adapts_ ? first + 6 * padded_ : nullptr,
          adapts_ ? first + 7 * padded_ : nullptr};
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
