// The vertices of pool_op. popc compiles them for the tiles.
#include <poplar/Vertex.hpp>

class Pool : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> spikes;
  poplar::Output<poplar::Vector<float>> pooled;
  unsigned width;

  bool compute() {
    for (unsigned i = 0; i < pooled.size(); ++i) {
      float largest = spikes[i * width];
      for (unsigned k = 1; k < width; ++k)
        largest = spikes[i * width + k] > largest ? spikes[i * width + k] : largest;
      pooled[i] = largest;
    }
    return true;
  }
};

/// The gradient goes to the first of the largest senders of each group.
class PoolGradient : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> gradient;
  poplar::Input<poplar::Vector<float>> spikes;
  poplar::Output<poplar::Vector<float>> result;
  unsigned width;

  bool compute() {
    for (unsigned i = 0; i < gradient.size(); ++i) {
      unsigned first = 0;
      for (unsigned k = 1; k < width; ++k)
        first = spikes[i * width + k] > spikes[i * width + first] ? k : first;
      for (unsigned k = 0; k < width; ++k)
        result[i * width + k] = k == first ? gradient[i] : 0.0f;
    }
    return true;
  }
};
