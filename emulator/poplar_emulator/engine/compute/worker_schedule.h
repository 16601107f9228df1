#ifndef IPULSE_EMULATOR_WORKER_SCHEDULE_H
#define IPULSE_EMULATOR_WORKER_SCHEDULE_H

#include <algorithm>
#include <cstdint>

#include "device/machine.h"

namespace poplar::emulator {

/// The times at which the workers of a tile become free, as vertices are assigned in order.
class WorkerSchedule {
public:
  explicit WorkerSchedule(const Machine &machine)
      : machine(machine), count(std::min(machine.workers, kMost)) {}

  unsigned workers() const { return count; }
  /// Returns the worker that becomes free first.
  unsigned next() const {
    return static_cast<unsigned>(std::min_element(busy, busy + count) - busy);
  }
  /// Assigns a Vertex to the worker that becomes free first.
  void runOnOne(std::uint64_t cycles) { *std::min_element(busy, busy + count) += cycles; }
  /// Starts a MultiVertex when all workers are free; cyclesOf(worker) returns the cycles of each.
  template <typename F> void runOnAll(F &&cyclesOf) {
    const std::uint64_t start = slowest();
    for (unsigned w = 0; w < count; ++w)
      busy[w] = start + cyclesOf(w);
  }
  void supervise(std::uint64_t cycles) { supervisor += cycles; }
  /// Cycles of the tile so far.
  std::uint64_t cycles() const {
    return supervisor + slowest() + (slowest() ? machine.superviseCycles : 0);
  }

private:
  static constexpr unsigned kMost = 64;
  std::uint64_t slowest() const { return *std::max_element(busy, busy + count); }

  const Machine &machine;
  unsigned count;
  std::uint64_t busy[kMost] = {}; // until when, by worker
  std::uint64_t supervisor = 0;
};

} // namespace poplar::emulator

#endif
