#ifndef IPULSE_EMULATOR_WORKER_SCHEDULE_H
#define IPULSE_EMULATOR_WORKER_SCHEDULE_H

#include <algorithm>
#include <cstdint>

#include "device/machine.h"

namespace poplar::emulator {

/// When the workers of a tile are free, as vertices are given to them one after the other.
class WorkerSchedule {
public:
  explicit WorkerSchedule(const Machine &machine)
      : machine(machine), count(std::min(machine.workers, kMost)) {}

  unsigned workers() const { return count; }
  /// The worker that is free first.
  unsigned next() const {
    return static_cast<unsigned>(std::min_element(busy, busy + count) - busy);
  }
  /// A Vertex goes to the worker that is free first.
  void runOnOne(std::uint64_t cycles) { *std::min_element(busy, busy + count) += cycles; }
  /// A MultiVertex starts when all are free; cyclesOf(worker) is what each takes.
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
