// How the workers of a tile share samples, without a division, which a tile has no instruction for.
#ifndef IPULSE_LIF_POPLAR_TURNS_H
#define IPULSE_LIF_POPLAR_TURNS_H

#include <poplar/Vertex.hpp>

/// Calls work(sample, first, last) for this worker's share of samples x pairs of neurons: whole
/// samples, or a sixth of every one if there are fewer samples than workers.
template <typename Work>
inline void forSamples(unsigned worker, unsigned samples, unsigned pairs, const Work &work) {
  constexpr unsigned workers = poplar::MultiVertex::numWorkers();
  if (samples >= workers) {
    for (unsigned sample = worker; sample < samples; sample += workers)
      work(sample, 0u, pairs);
    return;
  }
  const unsigned first = pairs * worker / workers, last = pairs * (worker + 1) / workers;
  for (unsigned sample = 0; sample < samples && first < last; ++sample)
    work(sample, first, last);
}

#endif
