// The C interface: checks what it is given, picks a kernel, and keeps the time.
#include "interface/lif.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>

#include "kernels/word.h"
#include "passes/checks.h"
#include "passes/layout.h"
#include "passes/phases.h"
#include "passes/sequence.h"
#include "support/pool.h"
#include "support/rounding.h"

namespace lif {

const Kernel &pick_kernel(uint64_t arch) {
#define LIF_KERNEL(name, needs)                                                                    \
  if ((arch & (needs)) == (needs))                                                                 \
    return kernel_##name();
#include "kernels/kernels.inc"
#undef LIF_KERNEL
  return kernel_scalar();
}

namespace {

struct Listed {
  const char *name;
  uint64_t arch;
};

const Listed LISTED[] = {
#define LIF_KERNEL(name, arch) {#name, arch},
#include "kernels/kernels.inc"
#undef LIF_KERNEL
};

std::atomic<int64_t> forward_nanoseconds{0}, backward_nanoseconds{0};
std::atomic<int64_t> forward_calls{0}, backward_calls{0};

class Timer {
public:
  Timer(std::atomic<int64_t> &nanoseconds, std::atomic<int64_t> &calls)
      : nanoseconds_(nanoseconds), calls_(calls), start_(std::chrono::steady_clock::now()) {}
  ~Timer() {
    auto spent = std::chrono::steady_clock::now() - start_;
    nanoseconds_ += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
    ++calls_;
  }

private:
  std::atomic<int64_t> &nanoseconds_, &calls_;
  std::chrono::steady_clock::time_point start_;
};

template <class Run> int guarded(const Message &message, Run run) {
  StandardRounding rounding;
  try {
    return run() ? LIF_OK : LIF_INVALID;
  } catch (const std::bad_alloc &) {
    message.fail("out of memory");
    return LIF_OUT_OF_MEMORY;
  } catch (const std::exception &error) { // wrong spikes, or a thread that would not start
    message.fail("%s", error.what());
  }
  return LIF_INVALID;
}

} // namespace
} // namespace lif

using namespace lif;

extern "C" int lif_forward(const LifNetwork *network, const LifForward *result, char *text,
                           size_t size) {
  Message message{text, size};
  return guarded(message, [&] {
    Timer timer(forward_nanoseconds, forward_calls);
    if (!check_network(*network, message) || !check_forward(*network, *result, message))
      return false;
    run_forward(clocked(pick_kernel(network->arch & supported_arch())), *network, *result);
    return true;
  });
}

extern "C" int lif_backward(const LifNetwork *network, const LifBackward *gradient, char *text,
                            size_t size) {
  Message message{text, size};
  return guarded(message, [&] {
    Timer timer(backward_nanoseconds, backward_calls);
    const Kernel &kernel = clocked(pick_kernel(network->arch & supported_arch()));
    if (!check_network(*network, message) || !check_backward(kernel, *network, *gradient, message))
      return false;
    run_backward(kernel, *network, *gradient);
    return true;
  });
}

extern "C" size_t lif_bits_words(int32_t steps, int32_t batch, const LifLayer *layer) {
  return BitRows::bytes(*layer, static_cast<int64_t>(steps) * batch) / sizeof(uint32_t);
}

extern "C" int lif_slots(int32_t steps, int32_t batch, const LifLayer *layer, const uint32_t *words,
                         int32_t threads, int32_t slots, float *ids, char *text, size_t size) {
  Message message{text, size};
  return guarded(message, [&] {
    if (slots < 1 || slots > layer->slots)
      return message.fail("slots must be 1 to %d; got %d", layer->slots, slots);
    BitRows bits(*layer, static_cast<int64_t>(steps) * batch, words);
    parallel_for(threads ? threads : default_threads(), batch, [&](int64_t b, int) {
      for (int t = 0; t < steps; ++t) {
        int64_t row = (b * steps + t) * bits.row_bytes;
        float *slot = ids + (static_cast<int64_t>(t) * batch + b) * slots;
        float *end = slot + slots;
        for (bool spiking : {true, false})
          for (int64_t byte = 0; byte < bits.row_bytes; byte += 8) {
            uint64_t set = load_word(bits.emitted + row + byte);
            if (!spiking)
              set = ~set & (bits.kept ? load_word(bits.kept + row + byte) : ~uint64_t(0));
            // Behind the last neuron there is none, and behind the last slot there is no place.
            for (; set && slot < end; set &= set - 1)
              *slot++ = static_cast<float>(8 * byte + __builtin_ctzll(set));
          }
        std::fill(slot, end, 0.0f);
      }
    });
    return true;
  });
}

extern "C" LifTimings lif_timings(void) {
  return {1e-9 * static_cast<double>(forward_nanoseconds),
          1e-9 * static_cast<double>(backward_nanoseconds), forward_calls, backward_calls};
}

extern "C" void lif_reset_timings(void) {
  forward_nanoseconds = backward_nanoseconds = forward_calls = backward_calls = 0;
}

extern "C" uint64_t lif_supported_arch(void) { return supported_arch(); }

extern "C" const char *lif_kernel_name(uint64_t arch) {
  return pick_kernel(arch & supported_arch()).name;
}

extern "C" int32_t lif_kernel_count(void) { return sizeof LISTED / sizeof *LISTED; }

extern "C" const char *lif_kernel_at(int32_t index, uint64_t *arch) {
  if (index < 0 || index >= lif_kernel_count())
    return nullptr;
  *arch = LISTED[index].arch;
  return LISTED[index].name;
}

extern "C" int32_t lif_default_threads(void) { return default_threads(); }
