// One step of the neurons of a tile: reset, current, update
// (ops/ipulse_ops/lif/reference/network_pass.py, u[t]).
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

#include "integrate.h"

using namespace poplar;

// W: the type of the weights. S: of the states. [samples, neurons] is `u`; sources are the layer's
// input and, if it is recurrent, itself.
template <typename W, typename S> class Integrate : public MultiVertex {
public:
  Integrate();

  Vector<Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>>> ids;
  Vector<Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>>> counts;
  Vector<Input<Vector<W, VectorLayout::ONE_PTR, 8>>> weights;
  Vector<unsigned> slots; // of a sample, by source
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> bias;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> decay;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> scale;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> threshold;
  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ownIds; // read if resetOnEmission
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> ownCounts;
  InOut<Vector<S, VectorLayout::ONE_PTR, 8>> u;
  Input<unsigned> step;  // read if recordsDrive
  Input<unsigned> drawn; // the step of the whole sequence, read if isRandom
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 8>>> drive; // v and i, [time, samples, row]
  const unsigned samples, pairCount, firstNeuron, ownSlots;
  Input<Vector<int, VectorLayout::ONE_PTR, 4>> seed; // low word, high word; read if isRandom
  const unsigned reset, layer;
  const bool resetOnEmission, recordsDrive, isRandom;

  bool compute(unsigned worker) {
    return integrate<S, PlainReset>(*this, worker,
                                    [](unsigned, unsigned, float2 current) { return current; });
  }
};
template class Integrate<float, float>;
template class Integrate<float, half>;
template class Integrate<half, float>;
template class Integrate<half, half>;

template <typename W, typename S> class IntegrateSynapse : public MultiVertex {
public:
  IntegrateSynapse();

  Vector<Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>>> ids;
  Vector<Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>>> counts;
  Vector<Input<Vector<W, VectorLayout::ONE_PTR, 8>>> weights;
  Vector<unsigned> slots;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> bias;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> decay;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> scale;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> threshold;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> synapseDecay;
  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ownIds;
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> ownCounts;
  InOut<Vector<S, VectorLayout::ONE_PTR, 8>> u;
  InOut<Vector<S, VectorLayout::ONE_PTR, 8>> i;
  Input<unsigned> step;
  Input<unsigned> drawn;
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 8>>> drive;
  const unsigned samples, pairCount, firstNeuron, ownSlots;
  Input<Vector<int, VectorLayout::ONE_PTR, 4>> seed; // low word, high word; read if isRandom
  const unsigned reset, layer;
  const bool resetOnEmission, recordsDrive, isRandom;

  bool compute(unsigned worker) {
    const float2 *decay = pairs(&synapseDecay[0]);
    const States<IntegrateSynapse> states(*this, kRoundedSynapse);
    S *state = &i[0];
    return integrate<S, PlainReset>(*this, worker, [&](unsigned b, unsigned p, float2 current) {
      const float2 before = pairOf(state, b * pairCount + p);
      return states.store(state, b, p, decay[p] * before + (1.0f - decay[p]) * current);
    });
  }
};
template class IntegrateSynapse<float, float>;
template class IntegrateSynapse<float, half>;
template class IntegrateSynapse<half, float>;
template class IntegrateSynapse<half, half>;
