#include "phases.h"

#include <atomic>
#include <chrono>

namespace lif {
namespace {

// Every function of a kernel that works on rows, weights or bits.
#define LIF_PHASES(phase)                                                                          \
  phase(pack) phase(pack_transposed) phase(transpose) phase(lif_forward) phase(leaky_forward)      \
      phase(general_forward) phase(replay_adaptation) phase(select) phase(gather)                  \
          phase(count_bits) phase(list_bits) phase(leaky_backward) phase(sampled_product)          \
              phase(sparse_backward) phase(dense_product) phase(add_blocks) phase(spread_products) \
                  phase(dense_backward) phase(general_backward) phase(weight_gradient)

enum Phase {
#define LIF_PHASE(name) PHASE_##name,
  LIF_PHASES(LIF_PHASE)
#undef LIF_PHASE
      PHASES
};

const char *const NAMES[] = {
#define LIF_PHASE(name) #name,
    LIF_PHASES(LIF_PHASE)
#undef LIF_PHASE
};

std::atomic<bool> clock_on{false};
std::atomic<int> layer{0};
std::atomic<const Kernel *> inner{nullptr};
std::atomic<int64_t> nanoseconds[PHASES][LIF_PHASE_LAYERS];

class Clock {
public:
  explicit Clock(Phase phase) : phase_(phase), start_(std::chrono::steady_clock::now()) {}
  ~Clock() {
    auto spent = std::chrono::steady_clock::now() - start_;
    nanoseconds[phase_][layer.load(std::memory_order_relaxed)].fetch_add(
        std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count(),
        std::memory_order_relaxed);
  }

private:
  Phase phase_;
  std::chrono::steady_clock::time_point start_;
};

template <Phase phase, auto member> struct Clocked;

template <Phase phase, class Result, class... Arguments, Result (*Kernel::*member)(Arguments...)>
struct Clocked<phase, member> {
  static Result call(Arguments... arguments) {
    Clock clock(phase);
    return (inner.load(std::memory_order_relaxed)->*member)(arguments...);
  }
};

Kernel with_clock(const Kernel &kernel) {
  Kernel copy = kernel;
#define LIF_PHASE(name) copy.name = Clocked<PHASE_##name, &Kernel::name>::call;
  LIF_PHASES(LIF_PHASE)
#undef LIF_PHASE
  return copy;
}

} // namespace

const Kernel &clocked(const Kernel &kernel) {
  if (!clock_on)
    return kernel;
  inner = &kernel;
  static thread_local Kernel copy;
  copy = with_clock(kernel);
  return copy;
}

void enter_layer(int number) { layer = number < LIF_PHASE_LAYERS ? number : LIF_PHASE_LAYERS - 1; }

} // namespace lif

using namespace lif;

extern "C" void lif_clock_phases(int on) {
  clock_on = on != 0;
  for (auto &phase : nanoseconds)
    for (auto &spent : phase)
      spent = 0;
}

extern "C" const char *lif_phase_at(int32_t index, double *seconds) {
  if (index < 0 || index >= PHASES)
    return nullptr;
  for (int number = 0; number < LIF_PHASE_LAYERS; ++number)
    seconds[number] = 1e-9 * static_cast<double>(nanoseconds[index][number]);
  return NAMES[index];
}
