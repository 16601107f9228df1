// The spikes of the step at hand, by who sent them, and the time loop's counters.
#ifndef IPULSE_LIF_POPLAR_SPIKE_SOURCE_H
#define IPULSE_LIF_POPLAR_SPIKE_SOURCE_H

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "layout.h"
#include "tile_plan.h"

namespace lif {

/// What tiles that need it are sent: 16-bit ids, the only thing about a spike that leaves an IPU.
/// It does so once: where the spikes go to another IPU, its tiles read a copy that lies there.
struct SpikeSource {
  SpikeSource(IpuGraphs &graph, const TilePlan &plan, unsigned number, unsigned batch,
              unsigned slots, Arrivals &arrivals);
  unsigned number; // 0 is the input, l + 1 is layer l
  unsigned slots;
  unsigned stride;       // slots of a sample's row: even, so that rows are whole words
  poplar::Tensor ids;    // unsigned short [batch, stride]
  poplar::Tensor counts; // unsigned int [batch, 2]: spikes, filled slots. Zeros at first
  poplar::Tensor sentIds, sentCounts; // on the IPU of the next layer: the same tensors, or copies
  bool crosses = false;               // whether they are copies

  /// As the tiles of a weight matrix read them: 0 is the next layer's, 1 the layer's own.
  const poplar::Tensor &idsFor(std::size_t matrix) const { return matrix == 0 ? sentIds : ids; }
  const poplar::Tensor &countsFor(std::size_t matrix) const {
    return matrix == 0 ? sentCounts : counts;
  }
};

/// What sources have for other IPUs, by type, so that all of it crosses at once.
class Crossing {
public:
  void add(const SpikeSource &source);
  void add(const poplar::Tensor &from, const poplar::Tensor &to);
  void addTo(poplar::program::Sequence &program) const;

private:
  std::vector<poplar::Tensor> ids, sentIds, words, sentWords;
};

/// A tensor [batch, ...] like `like`, on the tiles of a source's samples, but of the IPU of the
/// layer that the source's spikes go to; `like` itself if that is the source's own.
poplar::Tensor onNextIpu(IpuGraphs &graph, const TilePlan &plan, unsigned source,
                         const poplar::Tensor &like, const std::string &name);

/// A step's number, which every IPU has for itself.
class StepNumber {
public:
  StepNumber(IpuGraphs &graph, const TilePlan &plan, const std::string &name);
  /// As a vertex on this tile reads it.
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
