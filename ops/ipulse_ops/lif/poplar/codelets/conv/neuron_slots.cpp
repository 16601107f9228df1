// The slots of LIF neurons behind a convolution: spikes, then the others that carry gradient.
#include <poplar/Vertex.hpp>

using namespace poplar;

// Lists neurons by their membranes, both parts ascending; 0 in the slots behind them.
class ConvNeuronSlots : public MultiVertex {
public:
  ConvNeuronSlots();

  Input<Vector<float, VectorLayout::ONE_PTR, 8>> membranes;       // [rows, neurons]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> secondThreshold; // [1], read if gated
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> ids;            // [rows, neurons]
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> counts;         // [rows, 2]
  const unsigned rows, neurons;
  const float threshold;
  const bool gated;

  bool compute(unsigned worker) {
    for (unsigned r = worker; r < rows; r += numWorkers()) {
      const float *u = &membranes[r * neurons];
      float *list = &ids[r * neurons];
      const unsigned spikes = add(u, list, 0, [&](float x) { return x > threshold; });
      unsigned filled = neurons;
      if (gated) {
        const float second = secondThreshold[0];
        filled = add(u, list, spikes, [&](float x) { return x > second && !(x > threshold); });
      } else {
        add(u, list, spikes, [&](float x) { return !(x > threshold); });
      }
      for (unsigned k = filled; k < neurons; ++k)
        list[k] = 0.0f;
      counts[2 * r] = static_cast<float>(static_cast<int>(spikes));
      counts[2 * r + 1] = static_cast<float>(static_cast<int>(filled));
    }
    return true;
  }

private:
  template <typename Which>
  unsigned add(const float *u, float *list, unsigned filled, const Which &which) const {
    for (unsigned n = 0; n < neurons; ++n)
      if (which(u[n]))
        list[filled++] = static_cast<float>(static_cast<int>(n));
    return filled;
  }
};
