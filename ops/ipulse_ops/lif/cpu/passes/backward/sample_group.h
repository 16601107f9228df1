// Samples of a batch as a smaller batch of their own, so that what a backward pass computes again
// and its gradients of currents never exist for all samples at once.
#ifndef IPULSE_OPS_LIF_CPU_SAMPLE_GROUP_H
#define IPULSE_OPS_LIF_CPU_SAMPLE_GROUP_H

#include <vector>

#include "kernels/kernel.h"

namespace lif {

// Samples that the backward pass takes at a time: fewer than all where only spikes are stored and
// the membranes of all samples would be large. Gradients are the same to the bit.
int samples_of_group(const Kernel &kernel, const LifNetwork &network, const LifBackward &gradient);

class SampleGroup {
public:
  // samples: the most of a group. The arguments must outlive this.
  SampleGroup(const LifNetwork &network, const LifBackward &gradient, int samples);

  // Copies samples `first` up to `first + samples`.
  void read(int first, int samples);

  // The call for them. Its sums are written where those of the whole batch are.
  const LifNetwork &network() const { return network_; }
  const LifBackward &gradient() const { return gradient_; }

  // Copies what belongs to single samples to the whole batch.
  void write_back() const;

private:
  // Of [time, batch, `size` bytes], those of the group.
  using Bytes = std::vector<char>;
  const void *part(const void *whole, size_t size, Bytes &copy) const;
  const uint32_t *bits_of(const LifLayer &layer, const uint32_t *whole,
                          std::vector<uint32_t> &copy) const;

  const LifNetwork &all_;
  const LifBackward &all_gradient_;
  int first_ = 0;
  LifNetwork network_;
  LifBackward gradient_;
  std::vector<LifRecord> records_;
  std::vector<const float *> grad_spikes_, grad_u_;
  Bytes ids_, counts_, filled_, grad_membrane_;
  std::vector<Bytes> spikes_copies_, u_copies_;
  std::vector<std::vector<uint32_t>> bits_;
  std::vector<float> grad_inputs_;
};

} // namespace lif

#endif
