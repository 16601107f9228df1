// The error message of a call, written to the caller's buffer.
#ifndef IPULSE_OPS_LIF_CPU_MESSAGE_H
#define IPULSE_OPS_LIF_CPU_MESSAGE_H

#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace lif {

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

} // namespace lif

#endif
