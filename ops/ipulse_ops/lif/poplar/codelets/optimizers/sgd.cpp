// Stochastic gradient descent on the weights of a tile, as
// worker/ipulse_worker/runner/model/optimizer.py has it.
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

#include "../pair.h"
#include "rounding.h"

using namespace poplar;

// W: the type of the weights, float or half.
template <typename W> class SgdUpdate : public MultiVertex {
public:
  SgdUpdate();

  InOut<Vector<W, VectorLayout::ONE_PTR, 8>> weights;     // [pairCount] pairs, and so are the next
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> momenta; // used if momentum is not 0
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> gradients;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> rate; // [1]
  Input<Vector<int, VectorLayout::ONE_PTR, 4>> update; // [1], read by stochastic rounding
  const unsigned pairCount, rounding, key, place;      // of Rounding
  const float momentum;
  const bool nesterov;

  bool compute(unsigned worker) {
    const float2 *g = pairs(&gradients[0]);
    W *w = &weights[0];
    float2 *m = pairs(&momenta[0]);
    const Rounding round{rounding, key, static_cast<unsigned>(update[0]), place};
    const float step = rate[0], kept = momentum;
    const bool ahead = nesterov;
    for (unsigned p = worker; p < pairCount; p += numWorkers()) {
      float2 direction = g[p];
      if (kept != 0.0f) {
        direction = kept * m[p] + g[p];
        m[p] = direction;
        if (ahead)
          direction = g[p] + kept * direction;
      }
      round.store(w, p, pairOf(w, p) - step * direction);
    }
    return true;
  }
};
template class SgdUpdate<float>;
template class SgdUpdate<half>;
