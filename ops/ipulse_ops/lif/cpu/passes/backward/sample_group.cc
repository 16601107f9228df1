#include "sample_group.h"

#include <algorithm>
#include <cstring>

#include "layer_plan.h"

namespace lif {
namespace {

// Bytes of the membranes of a group's widest layer, about: enough to keep threads busy.
constexpr int64_t MEMBRANE_BYTES = 16 << 20;

} // namespace

int samples_of_group(const Kernel &kernel, const LifNetwork &n, const LifBackward &gradient) {
  if (n.store != LIF_STORE_SPIKES)
    return n.batch;
  BackwardCall call(kernel, n, gradient, nullptr);
  int64_t widest = 1;
  for (int number = 0; number < n.layers + n.leaky_readout; ++number) {
    widest = std::max<int64_t>(widest, n.layer[number].neurons);
    // It halves the samples, so that another number of them would change the products' bits.
    if (number < n.layers &&
        plan_layer(call, number, false).strategy == LayerPlan::Strategy::STRASSEN)
      return n.batch;
  }
  int64_t sample_bytes = 4 * widest * std::max(1, n.steps);
  // A sample of each thread at least: recurrent layers have no smaller tasks.
  int64_t samples = std::max<int64_t>(call.threads, MEMBRANE_BYTES / sample_bytes);
  return static_cast<int>(std::min<int64_t>(n.batch, samples));
}

SampleGroup::SampleGroup(const LifNetwork &network, const LifBackward &gradient, int samples)
    : all_(network), all_gradient_(gradient), network_(network), gradient_(gradient),
      records_(gradient.record, gradient.record + network.layers), grad_spikes_(network.layers),
      grad_u_(network.layers), spikes_copies_(network.layers), u_copies_(network.layers),
      bits_(network.layers) {
  network_.whole_batch = whole_batch_of(network);
  if (gradient.grad_inputs)
    grad_inputs_.resize(int64_t(samples) * network.steps * network.input_slots);
}

void SampleGroup::read(int first, int samples) {
  first_ = first;
  network_.batch = samples;
  network_.ids = part(all_.ids, int64_t(all_.input_slots) * all_.id_bytes, ids_);
  auto counts = [&](const int32_t *whole, Bytes &copy) {
    return static_cast<const int32_t *>(part(whole, sizeof *whole, copy));
  };
  network_.counts = counts(all_.counts, counts_);
  network_.filled = counts(all_.filled, filled_);
  auto floats = [&](const float *whole, int64_t size, Bytes &copy) {
    return static_cast<const float *>(part(whole, size * int64_t(sizeof *whole), copy));
  };
  if (all_.leaky_readout)
    gradient_.grad_membrane =
        floats(all_gradient_.grad_membrane, all_.layer[all_.layers].neurons, grad_membrane_);
  for (int number = 0; number < all_.layers; ++number) {
    const LifLayer &layer = all_.layer[number];
    records_[number].bits = bits_of(layer, all_gradient_.record[number].bits, bits_[number]);
    if (all_gradient_.grad_spikes) {
      int slots = all_gradient_.grad_slots ? all_gradient_.grad_slots[number] : layer.slots;
      grad_spikes_[number] =
          floats(all_gradient_.grad_spikes[number], slots, spikes_copies_[number]);
    }
    if (all_gradient_.grad_u)
      grad_u_[number] = floats(all_gradient_.grad_u[number], layer.neurons, u_copies_[number]);
  }
  gradient_.record = records_.data();
  if (all_gradient_.grad_spikes)
    gradient_.grad_spikes = grad_spikes_.data();
  if (all_gradient_.grad_u)
    gradient_.grad_u = grad_u_.data();
  if (all_gradient_.grad_inputs)
    gradient_.grad_inputs = grad_inputs_.data();
}

void SampleGroup::write_back() const {
  if (!all_gradient_.grad_inputs)
    return;
  int64_t slots = all_.input_slots, floats = network_.batch * slots;
  for (int64_t t = 0; t < all_.steps; ++t)
    std::copy_n(&grad_inputs_[t * floats], floats,
                all_gradient_.grad_inputs + (t * all_.batch + first_) * slots);
}

const void *SampleGroup::part(const void *whole, size_t size, Bytes &copy) const {
  if (!whole)
    return nullptr;
  size_t bytes = network_.batch * size;
  copy.resize(std::max<size_t>(1, all_.steps * bytes));
  for (size_t t = 0; t < size_t(all_.steps); ++t)
    memcpy(copy.data() + t * bytes,
           static_cast<const char *>(whole) + (t * all_.batch + first_) * size, bytes);
  return copy.data();
}

// The sets of a record, one behind the other: see BitRows.
const uint32_t *SampleGroup::bits_of(const LifLayer &layer, const uint32_t *whole,
                                     std::vector<uint32_t> &copy) const {
  size_t sets = 1 + is_sparse(layer) + is_truncated(layer);
  size_t sample = all_.steps * row_bytes_of(layer.neurons) / sizeof(uint32_t);
  copy.resize(std::max<size_t>(1, sets * network_.batch * sample));
  for (size_t set = 0; set < sets; ++set)
    std::copy_n(whole + (set * all_.batch + first_) * sample, network_.batch * sample,
                copy.data() + set * network_.batch * sample);
  return copy.data();
}

} // namespace lif
