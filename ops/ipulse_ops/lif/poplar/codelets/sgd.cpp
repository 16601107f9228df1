// Stochastic gradient descent on the weights of a tile, as
// worker/ipulse_worker/runner/model/optimizer.py has it.
#include <poplar/Vertex.hpp>

#include "pair.h"

using namespace poplar;

class SgdUpdate : public MultiVertex {
public:
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> weights; // [pairCount] pairs, and so are the next
  InOut<Vector<float, VectorLayout::ONE_PTR, 8>> momenta; // used if momentum is not 0
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> gradients;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> rate; // [1]
  const unsigned pairCount;
  const float momentum;
  const bool nesterov;

  bool compute(unsigned worker) {
    const float2 *g = pairs(&gradients[0]);
    float2 *w = pairs(&weights[0]), *m = pairs(&momenta[0]);
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
      w[p] -= step * direction;
    }
    return true;
  }
};
