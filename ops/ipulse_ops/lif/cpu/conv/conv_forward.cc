#include <algorithm>
#include <memory>
#include <new>

#include "conv_passes.h"
#include "sample.h"
#include "sample_groups.h"

namespace lif {
namespace {

// The slots of a sample, until the longest list of all samples is known.
struct SampleSlots {
  std::vector<int32_t> sites;          // of each step: the spikes', then gradient-only ones
  std::vector<int32_t> spikes, others; // of each step, how many
};

class ConvForwardPass {
public:
  ConvForwardPass(const Kernel &kernel, const ConvLayer &layer, const ConvForward &result)
      : kernel_(kernel), layer_(layer), result_(result), plan_(layer), weights_(plan_.packed()),
        threads_(threads_of(layer)), slots_(layer.batch), samples_(threads_), marks_(threads_) {}

  void run() {
    parallel_for(threads_, layer_.batch,
                 [&](int64_t b, int worker) { list(static_cast<int>(b), worker); });
    int64_t most = 1;
    for (const SampleSlots &of_sample : slots_)
      for (int t = 0; t < layer_.steps; ++t)
        most = std::max<int64_t>(most, of_sample.spikes[t] + of_sample.others[t]);
    float *ids = result_.allocate(result_.context, most);
    if (!ids)
      throw std::bad_alloc();
    parallel_for(threads_, layer_.batch,
                 [&](int64_t b, int worker) { write(static_cast<int>(b), worker, most, ids); });
  }

private:
  bool dense() const { return layer_.keep && !layer_.gated; } // every neuron carries gradient

  std::vector<uint16_t> &marks(int worker) {
    marks_[worker].resize(plan_.sites());
    return marks_[worker];
  }

  void list(int b, int worker) {
    std::unique_ptr<ConvSample> &sample = samples_[worker];
    if (!sample)
      sample = std::make_unique<ConvSample>(layer_, kernel_, plan_, weights_);
    sample->run(b, false);
    const ConvTrace &trace = sample->trace();
    SampleSlots &slots = slots_[b];
    std::vector<uint16_t> &mark = marks(worker);
    for (int t = 0; t < layer_.steps; ++t) {
      size_t first = slots.sites.size();
      for (int64_t k = trace.spike_start[t]; k < trace.spike_start[t + 1]; ++k)
        if (int32_t site = plan_.site_of()[trace.spikes[k]]; site >= 0)
          slots.sites.push_back(site);
      size_t second = slots.sites.size();
      for (int64_t k = trace.other_start[t]; layer_.keep && k < trace.other_start[t + 1]; ++k)
        if (int32_t site = plan_.site_of()[trace.others[k]]; site >= 0 && !mark[site]++)
          slots.sites.push_back(site);
      sort_marked(slots.sites, second, mark);
      int64_t spiking = trace.spike_start[t + 1] - trace.spike_start[t],
              others = trace.other_start[t + 1] - trace.other_start[t];
      slots.spikes.push_back(static_cast<int32_t>(second - first));
      slots.others.push_back(static_cast<int32_t>(
          dense() ? partly_silent(slots.sites.data() + first, slots.spikes.back(), mark)
                  : slots.sites.size() - second));
      float *activity = result_.activity + 2 * (int64_t(t) * layer_.batch + b);
      activity[0] = static_cast<float>(spiking);
      activity[1] = static_cast<float>(layer_.gated ? spiking + others : plan_.neurons());
    }
  }

  // Sorts the sites from `first` on, which are those with marks, and takes the marks away. Looking
  // at all marks takes less time than sorting many sites.
  static void sort_marked(std::vector<int32_t> &sites, size_t first, std::vector<uint16_t> &mark) {
    if (16 * (sites.size() - first) < mark.size()) {
      std::sort(sites.begin() + static_cast<int64_t>(first), sites.end());
      for (size_t k = first; k < sites.size(); ++k)
        mark[sites[k]] = 0;
      return;
    }
    for (size_t site = 0; site < mark.size(); ++site)
      if (mark[site]) {
        sites[first++] = static_cast<int32_t>(site);
        mark[site] = 0;
      }
  }

  // How many sites have neurons that do not spike.
  size_t partly_silent(const int32_t *sites, int32_t count, std::vector<uint16_t> &mark) const {
    size_t found = plan_.sites();
    for (int32_t k = 0; k < count; ++k)
      found -= ++mark[sites[k]] == plan_.members_per_site();
    for (int32_t k = 0; k < count; ++k)
      mark[sites[k]] = 0;
    return found;
  }

  void write(int b, int worker, int64_t most, float *ids) {
    const SampleSlots &slots = slots_[b];
    std::vector<uint16_t> &mark = marks(worker);
    const int32_t *from = slots.sites.data();
    for (int t = 0; t < layer_.steps; ++t) {
      int64_t place = int64_t(t) * layer_.batch + b;
      float *to = ids + place * most, *end = to + most;
      int32_t spikes = slots.spikes[t], others = slots.others[t];
      result_.counts[2 * place] = static_cast<float>(spikes);
      result_.counts[2 * place + 1] = static_cast<float>(spikes + others);
      for (int32_t k = 0; k < spikes; ++k)
        *to++ = static_cast<float>(from[k]);
      if (dense()) {
        for (int32_t k = 0; k < spikes; ++k)
          ++mark[from[k]];
        for (int32_t site = 0; site < plan_.sites(); ++site)
          if (mark[site] < plan_.members_per_site())
            *to++ = static_cast<float>(site);
        for (int32_t k = 0; k < spikes; ++k)
          mark[from[k]] = 0;
        from += spikes;
      } else {
        for (int32_t k = spikes; k < spikes + others; ++k)
          *to++ = static_cast<float>(from[k]);
        from += spikes + others;
      }
      std::fill(to, end, 0.0f);
    }
  }

  const Kernel &kernel_;
  const ConvLayer &layer_;
  const ConvForward &result_;
  const ConvPlan plan_;
  const std::vector<float> weights_;
  const int threads_;
  std::vector<SampleSlots> slots_;
  std::vector<std::unique_ptr<ConvSample>> samples_; // of each worker
  std::vector<std::vector<uint16_t>> marks_;         // of each worker, zero between uses
};

} // namespace

void run_conv_forward(const Kernel &kernel, const ConvLayer &layer, const ConvForward &result) {
  ConvForwardPass(kernel, layer, result).run();
}

} // namespace lif
