// The spikes of the step at hand, by who sent them, and the time loop's counters.
#ifndef IPULSE_LIF_POPLAR_SPIKE_SOURCE_H
#define IPULSE_LIF_POPLAR_SPIKE_SOURCE_H

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "layout.h"
#include "tile_plan.h"

namespace lif {

/// A tensor [batch, width] of a source, on its samples' tiles of every IPU that needs it: made on
/// some, and sent from the first of those to the others.
class SentTensor {
public:
  SentTensor() = default;
  SentTensor(IpuGraphs &graph, const poplar::Type &type, std::size_t batch, std::size_t width,
             const TilePlan &plan, unsigned source, const std::vector<unsigned> &makers,
             const std::string &name);
  bool valid() const { return !makers.empty(); }
  const poplar::Tensor &on(unsigned ipu) const { return byIpu[ipu]; }
  const poplar::Tensor &home() const { return byIpu[makers[0]]; }
  const std::vector<unsigned> &sentTo() const { return others; }

private:
  std::vector<unsigned> makers, others;
  std::vector<poplar::Tensor> byIpu;
};

/// The spikes of a layer as 16-bit ids. They are sent to another IPU once; its tiles read the copy
/// there.
struct SpikeSource {
  /// makers: the IPUs where vertices write it.
  SpikeSource(IpuGraphs &graph, const TilePlan &plan, unsigned number, std::size_t batch,
              unsigned slots, const std::vector<unsigned> &makers, Arrivals &arrivals);
  unsigned number; // 0 is the input, l + 1 is layer l
  std::size_t batch;
  unsigned slots;
  unsigned stride;   // slots of a sample's row: even, so that rows are whole words
  SentTensor ids;    // unsigned short [batch, stride]
  SentTensor counts; // unsigned int [batch, 2]: spikes, filled slots. Zeros at first
};

/// The data for other IPUs by type, so that all of it is exchanged at once.
class Crossing {
public:
  void add(const SpikeSource &source);
  void add(const SentTensor &sent);
  void add(const poplar::Tensor &from, const poplar::Tensor &to);
  bool empty() const { return ids.empty() && words.empty(); }
  /// name: what those of the copies begin with.
  void addTo(poplar::program::Sequence &program, const std::string &name) const;

private:
  std::vector<poplar::Tensor> ids, sentIds, words, sentWords;
};

/// A step's number, which every IPU has for itself.
class StepNumber {
public:
  StepNumber(IpuGraphs &graph, const TilePlan &plan, const std::string &name);
  /// Returns the tensor that a vertex on this tile reads.
  const poplar::Tensor &on(Place place) const { return byIpu[place.ipu]; }
  poplar::Tensor all() const;

private:
  std::vector<poplar::Tensor> byIpu;
};

/// The time loop's counters.
class Counters {
public:
  Counters(IpuGraphs &graph, const TilePlan &plan, unsigned first);
  /// Vertices that set `now` to `next` and that to `next + by`.
  void advance(IpuGraphs &graph, poplar::ComputeSet set, int by) const;
  /// Sets `next` to the first step.
  poplar::program::Program start() const;
  StepNumber next, now;

private:
  std::vector<Place> tiles;
  poplar::Tensor first;
};

/// The network's input, all steps, brought to its samples' tiles and checked there once a run.
class CheckedInput {
public:
  /// ids [time, batch, slots], counts [time, batch] or [time, batch, 2], of any layout. sorts: by
  /// id; not if gradients by the slots are wanted, which stay where they came in.
  CheckedInput(IpuGraphs &graph, const TilePlan &plan, const poplar::Tensor &ids,
               const poplar::Tensor &counts, unsigned neurons, bool sorts, Arrivals &arrivals);
  /// After the arrivals.
  poplar::program::Program check(IpuGraphs &graph, const TilePlan &plan) const;
  poplar::Tensor given;       // ids as they came, [batch, time, slots]
  poplar::Tensor ids, counts; // unsigned short [batch, time, even number of slots], [.., .., 2]
  poplar::Tensor ignored;     // float [batch, time, 1]

private:
  poplar::Tensor givenCounts;
  unsigned neurons;
  bool sorts;
};

/// Vertices that set a source to what its histories, ids [batch, time, slots] and counts [batch,
/// time, 1 or 2], have at `step + offset`; nothing if that is no step.
void takeSpikes(IpuGraphs &graph, poplar::ComputeSet set, const TilePlan &plan,
                const SpikeSource &source, const poplar::Tensor &ids, const poplar::Tensor &counts,
                const StepNumber &step, unsigned offset);

/// Vertices that set starts [batch, workers + 2] to where each worker's share of the senders begins
/// among the spikes that takeSpikes takes; they must ascend. For codelets/weight_gradients.cpp.
void locateSpikes(IpuGraphs &graph, poplar::ComputeSet set, const TilePlan &plan, unsigned source,
                  unsigned senders, const poplar::Tensor &ids, const poplar::Tensor &counts,
                  const StepNumber &step, unsigned offset, const poplar::Tensor &starts);

} // namespace lif

#endif
