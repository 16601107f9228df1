// The vertices of pool_op. popc compiles them for the tiles.
#include <poplar/Vertex.hpp>

namespace {

/// Returns the weighted sum of a group, minus the threshold.
float above(const float *spikes, const float *gain, unsigned width) {
  float drive = spikes[0] * gain[0];
  for (unsigned k = 1; k < width; ++k)
    drive += spikes[k] * gain[k];
  return drive - 0.5f;
}

} // namespace

class Pool : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> spikes;
  poplar::Input<poplar::Vector<float>> gain;
  poplar::Output<poplar::Vector<float>> pooled;
  unsigned width;

  bool compute() {
    for (unsigned i = 0; i < pooled.size(); ++i)
      pooled[i] = above(&spikes[i * width], &gain[i * width], width) >= 0.0f ? 1.0f : 0.0f;
    return true;
  }
};

/// The gradient of the spikes, and that of the weights for each step and sample.
class PoolGradient : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> gradient;
  poplar::Input<poplar::Vector<float>> spikes;
  poplar::Input<poplar::Vector<float>> gain;
  poplar::Output<poplar::Vector<float>> bySpikes;
  poplar::Output<poplar::Vector<float>> byGain;
  unsigned width;

  bool compute() {
    for (unsigned i = 0; i < gradient.size(); ++i) {
      float distance = above(&spikes[i * width], &gain[i * width], width);
      distance = 1.0f + (distance < 0.0f ? -distance : distance);
      const float byDrive = gradient[i] / (distance * distance); // a surrogate
      for (unsigned k = i * width; k < (i + 1) * width; ++k) {
        bySpikes[k] = byDrive * gain[k];
        byGain[k] = byDrive * spikes[k];
      }
    }
    return true;
  }
};
