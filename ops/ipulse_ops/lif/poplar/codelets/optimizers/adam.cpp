// Adam on the weights of a tile (Kingma and Ba 2015, section 2, last paragraph; the decay is
// decoupled as in Loshchilov and Hutter 2019, algorithm 2), as
// ops/ipulse_ops/lif/cpu/bindings/adam.h has it.
#include <cmath>

#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

#include "../pair.h"
#include "rounding.h"

using namespace poplar;

// rate sqrt(1 - beta_2^t) / (1 - beta_1^t) and 1 - rate decay of update t, from 1, once for all.
class AdamRate : public MultiVertex {
public:
  AdamRate();

  Input<Vector<float, VectorLayout::ONE_PTR, 4>> rate; // [1]
  Input<Vector<int, VectorLayout::ONE_PTR, 4>> update; // [1]
  Output<Vector<float, VectorLayout::ONE_PTR, 4>> factors;
  const float logBeta1, logBeta2, weightDecay;

  bool compute(unsigned worker) {
    if (worker != 0)
      return true;
    const auto t = static_cast<float>(update[0]);
    // 1 - beta^t without the digits that 1 - 0.999 would lose.
    factors[0] = rate[0] * std::sqrt(-std::expm1(t * logBeta2)) / -std::expm1(t * logBeta1);
    factors[1] = 1.0f - rate[0] * weightDecay;
    return true;
  }
};

// W: the type of the weights, float or half.
template <typename W> class AdamUpdate : public MultiVertex {
public:
  AdamUpdate();

  InOut<Vector<W, VectorLayout::ONE_PTR, 8>> weights; // [pairCount] pairs, and so are the next
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> means;
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> squares;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> gradients;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> factors; // of AdamRate
  Input<Vector<int, VectorLayout::ONE_PTR, 4>> update;    // [1], read by stochastic rounding
  const unsigned pairCount, rounding, key, place;         // of Rounding
  const float newMean, newSquare, epsilon;                // 1 - beta_1, 1 - beta_2

  bool compute(unsigned worker) {
    const float2 *g = pairs(&gradients[0]);
    W *w = &weights[0];
    float2 *m = pairs(&means[0]), *v = pairs(&squares[0]);
    const Rounding round{rounding, key, static_cast<unsigned>(update[0]), place};
    const float step = factors[0], kept = factors[1];
    for (unsigned p = worker; p < pairCount; p += numWorkers()) {
      const float2 mean = m[p] + newMean * (g[p] - m[p]);
      const float2 square = v[p] + newSquare * (g[p] * g[p] - v[p]);
      const float2 root = {std::sqrt(square[0]), std::sqrt(square[1])};
      m[p] = mean;
      v[p] = square;
      round.store(w, p, kept * pairOf(w, p) - step * mean / (root + epsilon));
    }
    return true;
  }
};
template class AdamUpdate<float>;
template class AdamUpdate<half>;
