#ifndef IPULSE_EMULATOR_COUNTERS_H
#define IPULSE_EMULATOR_COUNTERS_H

#include <cstdint>

namespace poplar::emulator {

/// What this thread's codelets have done. popc adds to it in every basic block, by offset: the
/// order of the members is part of what popc writes.
struct Counters {
  std::uint64_t bundles, loads, stores, flops;
};

} // namespace poplar::emulator

extern "C" {
extern __attribute__((
    tls_model("initial-exec"))) thread_local poplar::emulator::Counters popc_counters;
}

#endif
