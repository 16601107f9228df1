// The C interface of convolutions: checks what it is given and picks a kernel.
#include "interface/conv.h"

#include <cmath>
#include <exception>
#include <new>

#include "conv/conv_passes.h"
#include "support/message.h"
#include "support/rounding.h"

namespace lif {
namespace {

bool check_size(const char *name, int value, const Message &message) {
  return value >= 1 || message.fail("%s must be at least 1; got %d", name, value);
}

bool check_conv_sizes(const ConvLayer &n, const Message &message) {
  const struct {
    const char *name;
    int32_t value;
  } sizes[] = {
      {"height", n.height},
      {"width", n.width},
      {"channels", n.channels},
      {"kernel_height", n.kernel_height},
      {"kernel_width", n.kernel_width},
      {"stride_y", n.stride_y},
      {"stride_x", n.stride_x},
      {"dilation_y", n.dilation_y},
      {"dilation_x", n.dilation_x},
      {"groups", n.groups},
      {"filters", n.filters},
      {"out_height", n.out_height},
      {"out_width", n.out_width},
      {"pool_height", n.pool_height},
      {"pool_width", n.pool_width},
  };
  for (const auto &size : sizes)
    if (!check_size(size.name, size.value, message))
      return false;
  if (n.pad_y < 0 || n.pad_x < 0)
    return message.fail("padding must not be negative");
  if (n.channels % n.groups || n.filters % n.groups)
    return message.fail("groups must divide %d channels and %d filters; got %d", n.channels,
                        n.filters, n.groups);
  if (n.pool_height > n.out_height || n.pool_width > n.out_width)
    return message.fail("the pooled output is empty");
  if (n.height > 65535 || n.width > 65535)
    return message.fail("height and width must be at most 65535");
  const int64_t most = 1 << 24; // an id in a float32 is exact
  if (int64_t(n.height) * n.width > most / n.channels ||
      int64_t(n.out_height) * n.out_width > most / n.filters)
    return message.fail("inputs and neurons must be at most %lld", static_cast<long long>(most));
  const int64_t taps = int64_t(n.kernel_height) * n.kernel_width;
  if (taps > (int64_t(1) << 31) / n.channels / n.filters - 1)
    return message.fail("the kernel has too many weights");
  return true;
}

bool check_currents(const ConvLayer &n, const Message &message) {
  if (!check_conv_sizes(n, message))
    return false;
  if (n.steps < 0 || n.batch < 0 || n.input_slots < 0 || n.threads < 0 || n.threads > 1024)
    return message.fail("steps, batch, slots and threads must not be negative");
  if (!std::isfinite(n.weight_scale) || !std::isfinite(n.bias_scale))
    return message.fail("scales must be finite");
  return true;
}

bool check_conv(const ConvLayer &n, const Message &message) {
  if (!check_currents(n, message))
    return false;
  if (n.delay < 0 || n.delay > LIF_MAX_DELAY)
    return message.fail("delay must be 0 to %d; got %d", LIF_MAX_DELAY, n.delay);
  if (n.reset < 0 || n.reset > 2 || n.reset_gradient < 0 || n.reset_gradient > 2)
    return message.fail("reset and reset_gradient must be 0 to 2");
  if (!(n.decay >= 0 && n.decay <= 1))
    return message.fail("decay must be 0 to 1; got %g", static_cast<double>(n.decay));
  if (!(n.threshold > 0))
    return message.fail("threshold must be above 0; got %g", static_cast<double>(n.threshold));
  if (n.gated && !(n.second_threshold <= n.threshold))
    return message.fail("second_threshold is %g; it must not be above the threshold, %g",
                        static_cast<double>(n.second_threshold), static_cast<double>(n.threshold));
  const LifSurrogate &s = n.surrogate;
  if (s.kind < 0 || s.kind > 4 || (s.kind == LIF_TABLE && (s.size < 2 || !s.values)))
    return message.fail("the surrogate is unknown, or its table is too short");
  return true;
}

using Check = bool (*)(const ConvLayer &, const Message &);

template <class Run>
int run_checked(Check check, const ConvLayer &layer, char *text, size_t size, Run run) {
  Message message{text, size};
  StandardRounding rounding;
  try {
    if (!check(layer, message))
      return LIF_INVALID;
    run(pick_kernel(layer.arch & supported_arch()));
    return LIF_OK;
  } catch (const std::bad_alloc &) {
    message.fail("out of memory");
    return LIF_OUT_OF_MEMORY;
  } catch (const std::exception &error) {
    message.fail("%s", error.what());
    return LIF_INVALID;
  }
}

} // namespace
} // namespace lif

extern "C" int lif_conv_forward(const ConvLayer *layer, const ConvForward *result, char *text,
                                size_t size) {
  return lif::run_checked(lif::check_conv, *layer, text, size, [&](const lif::Kernel &kernel) {
    lif::run_conv_forward(kernel, *layer, *result);
  });
}

extern "C" int lif_conv_backward(const ConvLayer *layer, const ConvBackward *gradient, char *text,
                                 size_t size) {
  return lif::run_checked(lif::check_conv, *layer, text, size, [&](const lif::Kernel &kernel) {
    lif::run_conv_backward(kernel, *layer, *gradient);
  });
}

extern "C" int lif_conv_currents(const ConvLayer *layer, float *currents, char *text, size_t size) {
  return lif::run_checked(lif::check_currents, *layer, text, size, [&](const lif::Kernel &kernel) {
    lif::run_conv_currents(kernel, *layer, currents);
  });
}

extern "C" int lif_conv_currents_backward(const ConvLayer *layer,
                                          const ConvCurrentsBackward *gradient, char *text,
                                          size_t size) {
  return lif::run_checked(lif::check_currents, *layer, text, size, [&](const lif::Kernel &kernel) {
    lif::run_conv_currents_backward(kernel, *layer, *gradient);
  });
}
