// Tile side of leaky_neurons.cpp: one step of leaky integrate-and-fire neurons, and the product of
// a matrix's row with a vector.
#include <poplar/Vertex.hpp>

using namespace poplar;

// The workers of a tile share its neurons: worker w has neurons w, w + 6, ...
class LeakyStep : public MultiVertex {
public:
  LeakyStep();

  Input<Vector<float, VectorLayout::ONE_PTR, 8>> current;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> membrane;
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> spikes;
  const unsigned neurons;
  const float decay;
  const float threshold;

  bool compute(unsigned worker) {
    for (unsigned i = worker; i < neurons; i += numWorkers()) {
      const float u = decay * membrane[i] + (1 - decay) * current[i];
      const bool fires = u > threshold;
      spikes[i] = fires ? 1.0f : 0.0f;
      membrane[i] = fires ? 0.0f : u;
    }
    return true;
  }
};

template <typename T> class RowProduct : public Vertex {
public:
  Input<Vector<T, VectorLayout::SPAN>> row;
  Input<Vector<T, VectorLayout::ONE_PTR>> x;
  Output<T> y;

  bool compute() {
    T sum = 0;
    for (unsigned i = 0; i < row.size(); ++i)
      sum += row[i] * x[i];
    *y = sum;
    return true;
  }
};
template class RowProduct<float>;
