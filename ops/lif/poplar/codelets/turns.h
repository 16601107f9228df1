// How the workers of a tile share samples: worker w has the w-th piece of work, the (w + 6)-th, ...
#ifndef IPULSE_LIF_POPLAR_TURNS_H
#define IPULSE_LIF_POPLAR_TURNS_H

#include <poplar/Vertex.hpp>

/// Calls work(sample, first, last) for this worker's share of samples x pairs of neurons. A sample
/// is one piece of work unless there are fewer samples than workers.
template <typename Work>
inline void forSamples(unsigned worker, unsigned samples, unsigned pairs, const Work &work) {
  const unsigned workers = poplar::MultiVertex::numWorkers();
  const unsigned blocks = samples >= workers ? 1 : workers;
  unsigned turn = 0;
  for (unsigned sample = 0; sample < samples; ++sample) {
    for (unsigned block = 0; block < blocks; ++block) {
      if (turn == worker) {
        const unsigned first = pairs * block / blocks, last = pairs * (block + 1) / blocks;
        if (first < last)
          work(sample, first, last);
      }
      turn = turn + 1 == workers ? 0 : turn + 1;
    }
  }
}

#endif
