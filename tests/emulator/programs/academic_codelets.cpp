// Codelets of the kind that research programs have: halos, graphs, sparse events.
#include <poplar/Vertex.hpp>
#ifdef __IPU__
#include <ipu_intrinsics>
#endif

using namespace poplar;

/// One Jacobi step of a block of rows, with the row above and the row below from other tiles.
class Jacobi : public MultiVertex {
public:
  Input<Vector<float>> above;
  Input<Vector<float>> block;
  Input<Vector<float>> below;
  Output<Vector<float>> next;
  const unsigned width;

  bool compute(unsigned worker) {
    const unsigned rows = block.size() / width;
    for (unsigned r = worker; r < rows; r += numWorkers()) {
      const float *up = r ? &block[(r - 1) * width] : &above[0];
      const float *down = r + 1 < rows ? &block[(r + 1) * width] : &below[0];
      const float *row = &block[r * width];
      for (unsigned c = 0; c < width; ++c) {
        const float west = c ? row[c - 1] : 0.f, east = c + 1 < width ? row[c + 1] : 0.f;
        next[r * width + c] = 0.25f * (up[c] + down[c] + west + east);
      }
    }
    return true;
  }
};

/// Distances of this tile's nodes, from the edges that end in them (compressed rows). Returns
/// whether nothing changed.
class Relax : public Vertex {
public:
  Input<Vector<unsigned>> first;
  Input<Vector<unsigned>> source;
  Input<Vector<unsigned>> known;
  Output<Vector<unsigned>> next;
  unsigned base;

  bool compute() {
    bool settled = true;
    for (unsigned n = 0; n < next.size(); ++n) {
      unsigned best = known[base + n];
      for (unsigned e = first[n]; e < first[n + 1]; ++e) {
        const unsigned over = known[source[e]];
        if (over != ~0u && over + 1 < best)
          best = over + 1;
      }
      settled &= best == known[base + n];
      next[n] = best;
    }
    return settled;
  }
};

/// Adds the rows of the inputs that fired: events are (id, count) as floats, as TensorFlow keeps
/// them.
template <typename FPType> class SparseSum : public Vertex {
public:
  Vector<Input<Vector<FPType, VectorLayout::ONE_PTR, 8>>> weights;
  Input<Vector<float, VectorLayout::ONE_PTR>> ids;
  Input<float> count;
  InOut<Vector<FPType, VectorLayout::SPAN, 8>> sums;
  FPType decay;

  bool compute() {
    const auto n = static_cast<unsigned>(*count);
    for (unsigned i = 0; i < sums.size(); ++i) {
      FPType sum = decay * sums[i];
      for (unsigned k = 0; k < n; ++k)
        sum += weights[i][static_cast<unsigned>(ids[k])];
      sums[i] = sum;
    }
    return true;
  }
};
template class SparseSum<float>;
template class SparseSum<half>;

/// Compares neighbours: one round of an odd-even sort.
class CompareExchange : public Vertex {
public:
  InOut<int> low, high;

  bool compute() {
    if (*low > *high) {
      const int kept = low;
      *low = *high;
      *high = kept;
    }
    return true;
  }
};

/// The dot product of a row with a vector, to be reduced over tiles.
class Dot : public Vertex {
public:
  Input<Vector<float>> a, b;
  Output<float> out;
  bool compute();
};

bool Dot::compute() {
  float sum = 0;
  for (unsigned i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  *out = sum;
  return true;
}
