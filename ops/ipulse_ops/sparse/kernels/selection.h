// Fills the slots of one sample and step by the rules of reference/select_spikes.py.
#ifndef IPULSE_OPS_SPARSE_SELECTION_H
#define IPULSE_OPS_SPARSE_SELECTION_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace ipulse {

enum class Policy { INDEX, CYCLIC, TOP };

struct Selected {
  int32_t spikes, filled, dropped;
};

class Selection {
public:
  Selection(int64_t neurons, int64_t slots, Policy policy)
      : neurons_(static_cast<int32_t>(neurons)), slots_(static_cast<int32_t>(slots)),
        policy_(policy), spiking_(neurons + 1), gradient_(neurons + 1) {}

  // second: NULL makes all that do not spike gradient-only. offset: of the policy cyclic, else 0.
  Selected operator()(const float *u, const float *threshold, const float *second, int32_t offset,
                      float *ids) {
    spiking_size_ = gradient_size_ = 0;
    scan(u, threshold, second, offset, neurons_);
    scan(u, threshold, second, 0, offset);
    int32_t spikes = std::min(spiking_size_, slots_);
    int32_t filled = std::min(spiking_size_ + gradient_size_, slots_);
    choose(u, offset, spikes, spiking_size_, spiking_.data());
    choose(u, offset, filled - spikes, gradient_size_, gradient_.data());
    std::copy_n(spiking_.data(), spikes, ids);
    std::copy_n(gradient_.data(), filled - spikes, ids + spikes);
    std::fill(ids + filled, ids + slots_, 0.0F);
    return {spikes, filled, spiking_size_ - spikes};
  }

private:
  // Without branches: who spikes is hard to predict.
  void scan(const float *u, const float *threshold, const float *second, int32_t begin,
            int32_t end) {
    int32_t spiking = spiking_size_, gradient = gradient_size_;
    for (int32_t n = begin; n < end; ++n) {
      bool spikes = u[n] > threshold[n];
      spiking_[spiking] = n;
      spiking += spikes;
      gradient_[gradient] = n;
      gradient += !spikes && (!second || u[n] > second[n]);
    }
    spiking_size_ = spiking;
    gradient_size_ = gradient;
  }

  // Makes the first `kept` of `size` ids the chosen ones, ascending.
  void choose(const float *u, int32_t offset, int32_t kept, int32_t size, int32_t *ids) const {
    if (policy_ == Policy::TOP && kept < size) {
      std::nth_element(ids, ids + kept, ids + size, [u](int32_t a, int32_t b) {
        bool nan_a = std::isnan(u[a]), nan_b = std::isnan(u[b]); // the last of all
        if (nan_a != nan_b)
          return nan_b;
        return nan_a || u[a] == u[b] ? a < b : u[a] > u[b];
      });
      std::sort(ids, ids + kept);
    }
    if (policy_ == Policy::CYCLIC) {
      int32_t *wrapped = std::find_if(ids, ids + kept, [=](int32_t id) { return id < offset; });
      std::rotate(ids, wrapped, ids + kept);
    }
  }

  int32_t neurons_, slots_;
  Policy policy_;
  // One entry more than ids: the scan writes behind the last.
  std::vector<int32_t> spiking_, gradient_;
  int32_t spiking_size_ = 0, gradient_size_ = 0;
};

} // namespace ipulse

#endif
