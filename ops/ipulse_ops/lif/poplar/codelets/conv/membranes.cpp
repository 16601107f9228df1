// The membranes of LIF neurons behind a convolution (ops/ipulse_ops/conv/reference.py), in some
// steps of a sample and for a part of the neurons: with the bits of the kernel on CPUs.
#include <poplar/Vertex.hpp>

#include "../slots.h"
#include "add_spike.h"
#include "reset.h"

using namespace poplar;

// A step begins with the decayed membrane after the reset, and the bias; then the weights of the
// spikes are added by ascending slot. Weights and bias have the factor of the current in them.
template <typename T> class ConvMembranes : public MultiVertex {
public:
  ConvMembranes();

  Input<Vector<T, VectorLayout::ONE_PTR, 4>> ids; // [steps, slots]
  Input<Vector<T, VectorLayout::ONE_PTR, 4>> counts;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> kernel; // [height, width, channels, filters]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> bias;   // [filters], read if biased
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> geometry;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> before;     // [positions, filters], read if goesOn
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> membranes; // [steps, positions, filters]
  const unsigned steps, slots, countWidth, firstPosition, positions, reset;
  const float decay, threshold;
  const bool biased, goesOn;

  bool compute(unsigned worker) {
    const Convolution conv(&geometry[0]);
    const unsigned filters = conv.filters;
    const unsigned begin = positions * worker / numWorkers();
    const unsigned own = positions * (worker + 1) / numWorkers() - begin;
    const float *last = goesOn ? &before[begin * filters] : nullptr;
    for (unsigned t = 0; own && t < steps; ++t) {
      float *u = &membranes[(t * positions + begin) * filters];
      start(u, last, own, filters);
      const unsigned spikes = countOf(counts[t * countWidth]);
      const T *list = &ids[t * slots];
      for (unsigned k = 0; k < spikes && k < slots; ++k)
        if (isNeuron(list[k], conv.sites()))
          addSpike(conv, static_cast<unsigned>(static_cast<int>(list[k])), &kernel[0],
                   firstPosition + begin, own, u);
      last = u;
    }
    return true;
  }

private:
  void start(float *u, const float *last, unsigned own, unsigned filters) {
    const float *from = &bias[0];
    for (unsigned p = 0; p < own; ++p)
      for (unsigned f = 0; f < filters; ++f) {
        const unsigned i = p * filters + f;
        float v = 0.0f;
        if (last)
          v = decay * afterReset(reset, threshold, last[i]);
        u[i] = biased ? (last ? v + from[f] : from[f]) : v;
      }
  }
};
template class ConvMembranes<float>;
template class ConvMembranes<int>;
