// The gradients of the membranes of LIF neurons behind a convolution: lambda of
// ops/ipulse_ops/conv/reference.py, for all steps of a sample and a part of the neurons.
#include <poplar/Vertex.hpp>

#include "../surrogate.h"
#include "reset.h"

using namespace poplar;

class ConvAdjoint : public MultiVertex {
public:
  ConvAdjoint();

  Input<Vector<float, VectorLayout::ONE_PTR, 8>> membranes;       // [steps, neurons]
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> bySpikes;        // dL/ds
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> secondThreshold; // [1], read if gated
  Input<Vector<float, VectorLayout::SPAN, 4>> table;
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> byMembranes; // [steps, neurons]
  const unsigned steps, neurons, reset, resetGradient, kind;
  const float decay, threshold, parameter;
  const bool gated;

  bool compute(unsigned worker) {
    const unsigned begin = neurons * worker / numWorkers();
    const unsigned end = neurons * (worker + 1) / numWorkers();
    const float second = gated ? secondThreshold[0] : 0.0f;
    const bool whole = resetGradient == kResetWhole;
    const bool zeroed = reset == kResetToZero && resetGradient != kResetTerm;
    for (unsigned n = begin; n < end; ++n) {
      float lambda = 0.0f;
      for (unsigned t = steps; t-- > 0;) {
        const unsigned at = t * neurons + n;
        const float u = membranes[at], kappa = decay * lambda;
        const bool spikes = u > threshold;
        if (gated && !spikes && !(u > second)) {
          lambda = kappa;
        } else {
          float e = bySpikes[at];
          if (whole && reset == kResetToZero)
            e -= u * kappa;
          else if (whole && reset == kResetBySubtraction)
            e -= threshold * kappa;
          const float phi = surrogate(kind, parameter, &table[0], table.size(), u - threshold);
          lambda = phi * e + (zeroed && spikes ? 0.0f : kappa);
        }
        byMembranes[at] = lambda;
      }
    }
    return true;
  }
};
