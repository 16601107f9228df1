// Fills the slots by the policy "top" (ops/ipulse_ops/reference/select_spikes.py): the neurons with
// the highest membranes, equal ones by ascending id. The slots have ascending ids.
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

#include "best.h"
#include "candidates.h"
#include "join.h"

using namespace poplar;

// As ListCandidates; if there are more than slots, the best of them.
template <typename S> class ListTopCandidates : public MultiVertex {
public:
  ListTopCandidates();

  Input<Vector<S, VectorLayout::ONE_PTR, 4>> u; // [samples, neurons]
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> threshold;
  Input<Vector<float, VectorLayout::ONE_PTR, 4>> secondThreshold;
  Input<Vector<float, VectorLayout::SPAN, 4>> table;
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids;   // [samples, stride]
  Vector<Output<Vector<float, VectorLayout::ONE_PTR, 4>>> values; // phi, u
  Output<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts; // [samples, 2]: spiking, others listed
  const unsigned samples, neurons, firstNeuron, slots, stride;
  const unsigned kind;
  const float parameter;

  bool compute(unsigned worker) {
    for (unsigned b = worker; b < samples; b += numWorkers()) {
      const S *row = &u[b * neurons];
      unsigned short *list = &ids[b * stride];
      const auto spikes = [&](unsigned i) { return row[i] > threshold[i]; };
      const auto isOther = [&](unsigned i) { return row[i] > secondThreshold[i] && !spikes(i); };
      unsigned spiking = 0, others = 0;
      for (unsigned i = 0; i < neurons; ++i) {
        spiking += spikes(i);
        others += isOther(i);
      }
      const unsigned front = spiking < slots ? spiking : slots;
      const unsigned back = others < slots - front ? others : slots - front;
      unsigned next = 0;
      listBest(row, &list[0], front, spiking, spikes,
               [&](unsigned i) { list[next++] = static_cast<unsigned short>(i); });
      next = slots;
      listBest(row, &list[slots - back], back, others, isOther,
               [&](unsigned i) { list[--next] = static_cast<unsigned short>(i); });
      counts[2 * b] = spiking;
      counts[2 * b + 1] = back;
      describe(*this, b, front, back);
    }
    return true;
  }

private:
  /// put(i) for the best `wanted` of the `found` neurons that belong, ascending. scratch: as many.
  template <typename Belongs, typename Put>
  void listBest(const S *row, unsigned short *scratch, unsigned wanted, unsigned found,
                const Belongs &belongs, const Put &put) const {
    if (wanted == 0)
      return;
    const auto worse = [&](unsigned a, unsigned b) {
      return row[a] < row[b] || (row[a] == row[b] && a > b);
    };
    unsigned worst = 0;
    if (found > wanted) {
      Best<decltype(worse)> best(scratch, wanted, worse);
      for (unsigned i = 0; i < neurons; ++i)
        if (belongs(i))
          best.offer(i);
      worst = best.worst();
    }
    for (unsigned i = 0; i < neurons; ++i)
      if (belongs(i) && (found == wanted || !worse(i, worst)))
        put(i);
  }
};
template class ListTopCandidates<float>;
template class ListTopCandidates<half>;

// As JoinCandidates, on one worker: the best of all lists are found together.
class JoinTopCandidates : public MultiVertex {
public:
  JoinTopCandidates();

  Input<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> ids;   // [chunks, stride]
  Vector<Input<Vector<float, VectorLayout::ONE_PTR, 4>>> values; // phi, u
  Input<Vector<unsigned, VectorLayout::ONE_PTR, 4>> counts;      // [chunks, 2]
  Input<unsigned> step;
  Output<Vector<unsigned short, VectorLayout::ONE_PTR, 4>> slotIds; // of this step
  Output<Vector<unsigned, VectorLayout::ONE_PTR, 4>> slotCounts;    // spikes, filled slots
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> idHistory;
  Vector<InOut<Vector<float, VectorLayout::ONE_PTR, 4>>> valueHistories;
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> countHistory; // [time, 2]
  InOut<Vector<float, VectorLayout::ONE_PTR, 4>> droppedHistory;
  const unsigned chunks, listSlots, stride, slots;

  float value(unsigned i, unsigned from) const { return values[i][from]; }
  bool keepsIds() const { return true; }
  bool compute(unsigned worker) {
    if (worker != 0)
      return true;
    join(*this, 0, 1,
         [&](const auto &listed, const auto &place, int by, unsigned room, auto &share) {
           unsigned found = 0;
           for (unsigned c = 0; c < chunks; ++c)
             found += listed(c);
           if (found <= room) {
             for (unsigned c = 0; c < chunks; ++c)
               share.put(place(c), by, listed(c));
             return;
           }
           if (room == 0)
             return;
           const auto worse = [&](unsigned a, unsigned b) {
             return values[1][a] < values[1][b] ||
                    (values[1][a] == values[1][b] && ids[a] > ids[b]);
           };
           const auto forEach = [&](const auto &visit) {
             for (unsigned c = 0; c < chunks; ++c)
               for (unsigned k = 0; k < listed(c); ++k)
                 visit(place(c) + static_cast<int>(k) * by);
           };
           // The heap occupies the slots that its candidates are written to; the worst is read
           // first.
           Best<decltype(worse)> best(&slotIds[share.filled()], room, worse);
           forEach([&](unsigned from) { best.offer(from); });
           const unsigned worst = best.worst();
           forEach([&](unsigned from) {
             if (!worse(from, worst))
               share.put(from, by, 1);
           });
         });
    return true;
  }
};
