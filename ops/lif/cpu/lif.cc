// The C interface: checks what it is given, picks a kernel, and keeps the time.
#include "lif.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "layout.h"
#include "pool.h"
#include "sequence.h"

namespace lif {

const Kernel &pick_kernel(uint64_t arch) {
#define LIF_KERNEL(name, needs)                                                                    \
  if ((arch & (needs)) == (needs))                                                                 \
    return kernel_##name();
#include "kernels.inc"
#undef LIF_KERNEL
  return kernel_scalar();
}

namespace {

constexpr int MAX_THREADS = 1024;

struct Listed {
  const char *name;
  uint64_t arch;
};

const Listed LISTED[] = {
#define LIF_KERNEL(name, arch) {#name, arch},
#include "kernels.inc"
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

struct Message {
  char *text;
  size_t size;

  __attribute__((format(printf, 2, 3))) bool fail(const char *format, ...) const {
    va_list arguments;
    va_start(arguments, format);
    if (size)
      vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return false;
  }
};

bool check_layer(const LifLayer &layer, int number, bool readout, const Message &message) {
  if (layer.neurons < 1)
    return message.fail("layer %d: neurons must be at least 1; got %d", number, layer.neurons);
  if (!layer.decay || !layer.scale || !layer.weights || (!readout && !layer.threshold))
    return message.fail("layer %d: an array is missing", number);
  if (!readout && (layer.slots < 1 || layer.slots > layer.neurons))
    return message.fail("layer %d: slots must be 1 to %d; got %d", number, layer.neurons,
                        layer.slots);
  return true;
}

bool check_spikes(const LifNetwork &n, const Message &message) {
  int64_t places = static_cast<int64_t>(n.steps) * n.batch;
  for (int64_t place = 0; place < places; ++place) {
    int t = static_cast<int>(place / n.batch), b = static_cast<int>(place % n.batch);
    int32_t count = n.counts[place];
    if (count < 0 || count > n.input_slots)
      return message.fail("counts[%d, %d] is %d; it must be 0 to %d, the slots", t, b, count,
                          n.input_slots);
    const int32_t *ids = n.ids + place * n.input_slots;
    for (int k = 0; k < count; ++k)
      if (static_cast<uint32_t>(ids[k]) >= static_cast<uint32_t>(n.inputs))
        return message.fail("ids[%d, %d, %d] is %d; it must be 0 to %d", t, b, k, ids[k],
                            n.inputs - 1);
  }
  return true;
}

bool check(const LifNetwork &n, const Message &message) {
  if (n.version != LIF_ABI_VERSION)
    return message.fail("the caller speaks version %u of lif.h; this library is version %d",
                        n.version, LIF_ABI_VERSION);
  if (n.steps < 0 || n.batch < 0 || n.inputs < 1 || n.input_slots < 0 || n.layers < 1)
    return message.fail("sizes out of range: steps %d, batch %d, inputs %d, slots %d, layers %d",
                        n.steps, n.batch, n.inputs, n.input_slots, n.layers);
  if (n.delay < 0 || n.delay > 1)
    return message.fail("delay must be 0 or 1; got %d", n.delay);
  if (n.reset_gradient != LIF_MASK && n.reset_gradient != LIF_TERM)
    return message.fail("reset_gradient must be mask or term; got %d", n.reset_gradient);
  if (n.surrogate != LIF_SUPERSPIKE || !(n.slope > 0))
    return message.fail("the surrogate must be SuperSpike with a slope above 0; got %d, %g",
                        n.surrogate, static_cast<double>(n.slope));
  if (n.threads < 0 || n.threads > MAX_THREADS)
    return message.fail("threads must be 0 to %d; got %d", MAX_THREADS, n.threads);
  for (int number = 0; number <= n.layers; ++number)
    if (!check_layer(n.layer[number], number, number == n.layers, message))
      return false;
  return check_spikes(n, message);
}

bool check_record(const LifNetwork &n, const LifBackward &gradient, const Message &message) {
  int64_t rows = static_cast<int64_t>(n.batch) * n.steps;
  const Kernel &kernel = pick_kernel(n.arch & supported_arch());
  for (int number = 0; number < n.layers; ++number) {
    const LifLayer &layer = n.layer[number];
    const LifRecord &record = gradient.record[number];
    int64_t needed = 0;
    if (!is_sparse(layer)) {
      needed = dense_membranes(cut(kernel, layer.neurons), rows);
    } else {
      BitRows bits(layer, rows, record.bits);
      for (int64_t row = 0; row < rows; ++row) {
        int64_t count;
        kernel.count_bits(bits.kept + row * bits.row_bytes, 1, bits.row_bytes, &count);
        needed += count;
      }
    }
    if (static_cast<int64_t>(record.membranes_size) != needed)
      return message.fail("layer %d: its record has %zu membranes and should have %lld; the "
                          "forward pass must be run with keep set and for the same network",
                          number, record.membranes_size, static_cast<long long>(needed));
  }
  return true;
}

uint64_t load_word(const uint8_t *bits) {
  uint64_t word;
  memcpy(&word, bits, sizeof word);
  return word;
}

template <class Run> int guarded(const Message &message, Run run) {
  try {
    return run() ? LIF_OK : LIF_INVALID;
  } catch (const std::bad_alloc &) {
    message.fail("out of memory");
    return LIF_OUT_OF_MEMORY;
  } catch (const std::exception &error) { // a thread that would not start
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
    if (!check(*network, message))
      return false;
    if (result->version != LIF_ABI_VERSION)
      return message.fail("LifForward is not version %d", LIF_ABI_VERSION);
    run_forward(pick_kernel(network->arch & supported_arch()), *network, *result);
    return true;
  });
}

extern "C" int lif_backward(const LifNetwork *network, const LifBackward *gradient, char *text,
                            size_t size) {
  Message message{text, size};
  return guarded(message, [&] {
    Timer timer(backward_nanoseconds, backward_calls);
    if (!check(*network, message))
      return false;
    if (gradient->version != LIF_ABI_VERSION)
      return message.fail("LifBackward is not version %d", LIF_ABI_VERSION);
    if (!check_record(*network, *gradient, message))
      return false;
    run_backward(pick_kernel(network->arch & supported_arch()), *network, *gradient);
    return true;
  });
}

extern "C" size_t lif_bits_words(int32_t steps, int32_t batch, const LifLayer *layer) {
  return BitRows::bytes(*layer, static_cast<int64_t>(steps) * batch) / sizeof(uint32_t);
}

extern "C" int lif_slots(int32_t steps, int32_t batch, const LifLayer *layer, const uint32_t *words,
                         int32_t threads, float *ids, char *text, size_t size) {
  Message message{text, size};
  return guarded(message, [&] {
    BitRows bits(*layer, static_cast<int64_t>(steps) * batch, words);
    parallel_for(threads ? threads : default_threads(), batch, [&](int64_t b, int) {
      for (int t = 0; t < steps; ++t) {
        int64_t row = (b * steps + t) * bits.row_bytes;
        float *slot = ids + (static_cast<int64_t>(t) * batch + b) * layer->slots;
        float *end = slot + layer->slots;
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
