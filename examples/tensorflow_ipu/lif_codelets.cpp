// One time step of leaky integrate-and-fire neurons, and its gradient with a surrogate.
#include <poplar/Vertex.hpp>

#include <cmath>

using poplar::Input;
using poplar::Output;
using poplar::Vector;
using poplar::Vertex;

class LifStep : public Vertex {
public:
  Input<Vector<float>> membrane;
  Input<Vector<float>> current;
  float decay;
  Output<Vector<float>> nextMembrane;
  Output<Vector<float>> spikes;

  bool compute() {
    for (unsigned i = 0; i < membrane.size(); ++i) {
      const float reached = decay * membrane[i] + (1.0f - decay) * current[i];
      spikes[i] = reached > 1.0f ? 1.0f : 0.0f;
      nextMembrane[i] = reached * (1.0f - spikes[i]);
    }
    return true;
  }
};

// The spike's derivative is 1 / (1 + 10 |v - 1|)^2; the reset has no gradient.
class LifStepGradient : public Vertex {
public:
  Input<Vector<float>> membrane;
  Input<Vector<float>> current;
  Input<Vector<float>> byNextMembrane;
  Input<Vector<float>> bySpikes;
  float decay;
  Output<Vector<float>> byMembrane;
  Output<Vector<float>> byCurrent;

  bool compute() {
    for (unsigned i = 0; i < membrane.size(); ++i) {
      const float reached = decay * membrane[i] + (1.0f - decay) * current[i];
      const float kept = reached > 1.0f ? 0.0f : 1.0f;
      const float width = 1.0f + 10.0f * std::fabs(reached - 1.0f);
      const float by = byNextMembrane[i] * kept + bySpikes[i] / (width * width);
      byMembrane[i] = decay * by;
      byCurrent[i] = (1.0f - decay) * by;
    }
    return true;
  }
};
