// Memory that keeps its pages between calls. A training step touches tens of megabytes that
// malloc would hand back to the system; faulting them in again costs more than some kernels.
#ifndef IPULSE_OPS_LIF_CPU_MEMORY_H
#define IPULSE_OPS_LIF_CPU_MEMORY_H

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

#include "interface/lif.h"

namespace lif {

// `count` values, not initialised, given back at the end of the scope. Throws std::bad_alloc.
template <class T> class Buffer {
  static_assert(std::is_trivial<T>::value, "nothing is constructed here");

public:
  explicit Buffer(size_t count) : bytes_(count * sizeof(T)) {
    data_ = static_cast<T *>(lif_memory_take(bytes_));
    if (!data_)
      throw std::bad_alloc();
  }
  ~Buffer() { lif_memory_give(data_, bytes_); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  T *get() const { return data_; }
  T &operator[](size_t index) const { return data_[index]; }

private:
  size_t bytes_;
  T *data_;
};

} // namespace lif

#endif
