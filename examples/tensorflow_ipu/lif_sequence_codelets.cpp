// Leaky integrate-and-fire neurons over a whole sample, and the gradient through time.
// Fields hold [steps, neurons of this vertex], one step after the other.
#include <poplar/Vertex.hpp>

#include <cmath>

using poplar::Input;
using poplar::Output;
using poplar::Vector;
using poplar::Vertex;

class LifSequence : public Vertex {
public:
  Input<Vector<float>> currents;
  unsigned steps;
  float decay;
  Output<Vector<float>> membranes; // before the reset, for the gradient
  Output<Vector<float>> spikes;

  bool compute() {
    const unsigned neurons = currents.size() / steps;
    for (unsigned n = 0; n < neurons; ++n) {
      float membrane = 0.0f;
      for (unsigned at = n; at < currents.size(); at += neurons) {
        membrane = decay * membrane + (1.0f - decay) * currents[at];
        membranes[at] = membrane;
        spikes[at] = membrane > 1.0f ? 1.0f : 0.0f;
        membrane *= 1.0f - spikes[at];
      }
    }
    return true;
  }
};

// The spike's derivative is 1 / (1 + 10 |v - 1|)^2; the reset has no gradient.
class LifSequenceGradient : public Vertex {
public:
  Input<Vector<float>> membranes;
  Input<Vector<float>> bySpikes;
  unsigned steps;
  float decay;
  Output<Vector<float>> byCurrents;

  bool compute() {
    const unsigned neurons = membranes.size() / steps;
    for (unsigned n = 0; n < neurons; ++n) {
      float later = 0.0f; // the gradient by the membrane that the next step begins with
      for (unsigned step = steps; step-- > 0;) {
        const unsigned at = step * neurons + n;
        const float width = 1.0f + 10.0f * std::fabs(membranes[at] - 1.0f);
        const float kept = membranes[at] > 1.0f ? 0.0f : 1.0f;
        const float by = kept * later + bySpikes[at] / (width * width);
        byCurrents[at] = (1.0f - decay) * by;
        later = decay * by;
      }
    }
    return true;
  }
};
