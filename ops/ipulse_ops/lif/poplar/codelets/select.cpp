// Fills the slots of a sample and step (ops/ipulse_ops/reference/select_spikes.py, policies "index"
// and "cyclic"): chunks of neurons list their candidates, and each sample joins its chunks' lists.
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

#include "candidates.h"
#include "join.h"
#include "philox.h"

using namespace poplar;

// S: the type of the state. The candidates among neurons [firstNeuron, firstNeuron + neurons) of
// some samples: from the front the spikes, from the back the gradient-only ones, and all with their
// surrogate. They are looked at by ascending id; a chunk that has the sample's offset, from there
// on and then from its first neuron on. A list has as many slots as may be of use: what finds none
// comes after who did.
template <typename S> class ListCandidates : public MultiVertex {
public:
  ListCandidates();

  Input<Vector<S, VectorLayout::ONE_PTR, 4>> u; // [samples, neurons]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> threshold;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> secondThreshold;
  Input<Vector<float, VectorLayout::SPAN, 4>> table;
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> offsets;      // [samples], 0 for "index"
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids;   // [samples, stride]
  Vector<Output<Vector<float, VectorLayout::ONE_PTR, 4>>> values; // phi, and u if asked for
  Output<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts; // [samples, 2]: spiking, others listed
  const unsigned samples, neurons, firstNeuron, slots, stride;
  const unsigned kind;
  const float parameter;

  bool compute(unsigned worker) {
    const float *upper = &threshold[0], *lower = &secondThreshold[0];
    const unsigned most = slots;
    for (unsigned b = worker; b < samples; b += numWorkers()) {
      const S *row = &u[b * neurons];
      unsigned short *list = &ids[b * stride];
      unsigned spiking = 0, front = 0, back = most;
      const auto look = [&](unsigned from, unsigned to) {
        for (unsigned i = from; i < to; ++i) {
          const float x = static_cast<float>(row[i]);
          if (x > upper[i]) {
            ++spiking;
            if (front < most) {
              back = front < back ? back : back + 1; // the last gradient-only one gives way
              list[front++] = static_cast<unsigned short>(i);
            }
          } else if (x > lower[i] && front < back) {
            list[--back] = static_cast<unsigned short>(i);
          }
        }
      };
      const unsigned offset = offsets[b] - firstNeuron;
      const unsigned start = offset < neurons ? offset : 0;
      look(start, neurons);
      look(0, start);
      counts[2 * b] = spiking;
      counts[2 * b + 1] = most - back;
      describe(*this, b, front, most - back);
    }
    return true;
  }
};
template class ListCandidates<float>;
template class ListCandidates<half>;

// A sample's slots: as many spikes as there is room for, then gradient-only neurons. What comes
// after the filled slots is 0 in the histories [time, slots].
class JoinCandidates : public MultiVertex {
public:
  JoinCandidates();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids; // [chunks, stride]
  Vector<Input<Vector<float, VectorLayout::ONE_PTR, 4>>> values;
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts; // [chunks, 2]
  Input<unsigned> offset;
  Input<unsigned> step;
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> slotIds; // of this step
  Output<Vector<unsigned, VectorLayout::ONE_PTR, 4>> slotCounts;    // spikes, filled slots
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> idHistory;
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 4>>> valueHistories;
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> countHistory; // [time, 2]
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> droppedHistory;
  const unsigned chunks, chunkNeurons, listSlots, stride, slots;

  float value(unsigned i, unsigned from) const { return values[i][from]; }
  bool keepsIds() const { return true; }
  bool compute(unsigned worker) {
    joinByOffset(*this, worker, numWorkers());
    return true;
  }
};

// Where the policy "cyclic" begins (ops/ipulse_ops/reference/select_spikes.py,
// cyclic_offsets).
class DrawOffset : public MultiVertex {
public:
  DrawOffset();

  Input<Vector<int, VectorLayout::ONE_PTR, 4>> seed; // low word, high word
  Input<unsigned> step;
  Output<unsigned> offset;
  const unsigned layer, sample, neurons;

  bool compute(unsigned worker) {
    if (worker != 0)
      return true;
    const unsigned word =
        firstOfPhilox(*step, layer, sample, kCyclicOffset, static_cast<unsigned>(seed[0]),
                      static_cast<unsigned>(seed[1]));
    *offset = highWord(word, neurons);
    return true;
  }
};
