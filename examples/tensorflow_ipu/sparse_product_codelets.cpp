// The product of a matrix and binary vectors that are lists of ids, and its gradient by the matrix.
// A vertex has some rows of the matrix; the ids of all samples are sent to its tile.
#include <poplar/Vertex.hpp>

using poplar::Input;
using poplar::Output;
using poplar::Vector;
using poplar::Vertex;

class SparseProduct : public Vertex {
public:
  Input<Vector<int>> ids;       // [batch, slots]
  Input<Vector<int>> counts;    // [batch], of the slots that are in use
  Input<Vector<float>> weights; // [rows, columns]
  unsigned rows;
  Output<Vector<float>> sums; // [rows, batch]

  bool compute() {
    const unsigned batch = counts.size(), slots = ids.size() / batch;
    const unsigned columns = weights.size() / rows;
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned sample = 0; sample < batch; ++sample) {
        float sum = 0.0f;
        for (int slot = 0; slot < counts[sample]; ++slot)
          sum += weights[row * columns + ids[sample * slots + slot]];
        sums[row * batch + sample] = sum;
      }
    return true;
  }
};

class SparseProductGradient : public Vertex {
public:
  Input<Vector<int>> ids;
  Input<Vector<int>> counts;
  Input<Vector<float>> bySums; // [rows, batch]
  unsigned rows;
  Output<Vector<float>> byWeights;

  bool compute() {
    const unsigned batch = counts.size(), slots = ids.size() / batch;
    const unsigned columns = byWeights.size() / rows;
    for (unsigned at = 0; at < byWeights.size(); ++at)
      byWeights[at] = 0.0f;
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned sample = 0; sample < batch; ++sample)
        for (int slot = 0; slot < counts[sample]; ++slot)
          byWeights[row * columns + ids[sample * slots + slot]] += bySums[row * batch + sample];
    return true;
  }
};
