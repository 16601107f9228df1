// Clipping of a tile's gradients, first by value and then by the norm of all of them, as
// worker/ipulse_worker/runner/model/optimizer.py has it.
#include <cmath>

#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

#include "../pair.h"

using namespace poplar;

namespace {

// NaN stays NaN.
float within(float value, float bound) {
  return value > bound ? bound : value < -bound ? -bound : value;
}

} // namespace

// Bounds each gradient, and sums the squares.
class ClipValues : public MultiVertex {
public:
  ClipValues();

  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> gradients; // [pairCount] pairs
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> squares;  // [workers] of the bounded ones
  const unsigned pairCount;
  const float bound; // infinite: none
  const bool sums;   // whether the squares are written

  bool compute(unsigned worker) {
    float2 *g = pairs(&gradients[0]);
    const float most = bound;
    float2 sum = {0.0f, 0.0f};
    for (unsigned p = worker; p < pairCount; p += numWorkers()) {
      const float2 bounded = {within(g[p][0], most), within(g[p][1], most)};
      g[p] = bounded;
      sum += bounded * bounded;
    }
    if (sums)
      squares[worker] = sum[0] + sum[1];
    return true;
  }
};

// The factor that makes the norm at most 1 / inverse, once for all.
class ClipShare : public MultiVertex {
public:
  ClipShare();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> squares; // [count]
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> share;  // [1]
  const unsigned count;
  const float inverse; // of the largest norm

  bool compute(unsigned worker) {
    if (worker != 0)
      return true;
    float sum = 0.0f, lost = 0.0f; // what rounding took away (Kahan)
    for (unsigned i = 0; i < count; ++i) {
      const float more = squares[i] - lost, next = sum + more;
      lost = (next - sum) - more;
      sum = next;
    }
    const float excess = std::sqrt(sum) * inverse;
    share[0] = excess <= 1.0f ? 1.0f : 1.0f / excess; // of a norm that is no number: neither
    return true;
  }
};

// Multiplies the gradients by the factor.
class ClipNorm : public MultiVertex {
public:
  ClipNorm();

  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> gradients; // [pairCount] pairs
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> share;     // [1]
  const unsigned pairCount;

  bool compute(unsigned worker) {
    float2 *g = pairs(&gradients[0]);
    const float factor = share[0];
    for (unsigned p = worker; p < pairCount; p += numWorkers())
      g[p] = factor * g[p];
    return true;
  }
};
