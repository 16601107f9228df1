// The currents of a convolution of spikes (ops/ipulse_ops/conv/spike_conv_reference.py), for a part
// of the outputs.
#include <poplar/Vertex.hpp>

#include "../slots.h"
#include "add_spike.h"
#include "convolution.h"

using namespace poplar;

// The bias, then the weights of the spikes by ascending slot: neither tiles nor workers change the
// order of a sum. Ids that are no input's, and counts beyond the slots, are ignored.
template <typename T> class ConvCurrents : public MultiVertex {
public:
  ConvCurrents();

  Input<Vector<T, VectorLayout::ONE_PTR, 4>> ids; // [rows, slots]
  Input<Vector<T, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> kernel; // [height, width, channels, filters]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> bias;   // [filters], read if biased
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> geometry;
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> currents; // [rows, positions, filters]
  const unsigned rows, slots, countWidth, firstPosition, positions;
  const bool biased;

  bool compute(unsigned worker) {
    const Convolution conv(&geometry[0]);
    const unsigned all = rows * positions;
    const unsigned begin = all * worker / numWorkers(), end = all * (worker + 1) / numWorkers();
    for (unsigned place = begin; place < end;) {
      const unsigned row = place / positions, first = place - row * positions;
      const unsigned rest = positions - first;
      const unsigned own = rest < end - place ? rest : end - place;
      run(conv, row, firstPosition + first, own, &currents[place * conv.filters]);
      place += own;
    }
    return true;
  }

private:
  // The outputs [first, first + own) of a row.
  void run(const Convolution &conv, unsigned row, unsigned first, unsigned own, float *to) {
    // Copied: the compiler does not know that stores leave the fields as they are.
    const unsigned filters = conv.filters;
    const float *from = &bias[0];
    if (biased)
      for (unsigned p = 0; p < own; ++p)
        for (unsigned f = 0; f < filters; ++f)
          to[p * filters + f] = from[f];
    else
      for (unsigned i = 0; i < own * filters; ++i)
        to[i] = 0.0f;
    const unsigned spikes = countOf(counts[row * countWidth]);
    const T *list = &ids[row * slots];
    for (unsigned k = 0; k < spikes && k < slots; ++k)
      if (isNeuron(list[k], conv.sites()))
        addSpike(conv, static_cast<unsigned>(static_cast<int>(list[k])), &kernel[0], first, own,
                 to);
  }
};
template class ConvCurrents<float>;
template class ConvCurrents<int>;
