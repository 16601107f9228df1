// The samples and steps of a tensor as rows, its last axis as their elements, and loops over them.
#ifndef IPULSE_OPS_SPARSE_ROWS_H
#define IPULSE_OPS_SPARSE_ROWS_H

#include <cfenv>
#include <cstdint>
#include <string>

#include "tensorflow/core/platform/threadpool.h"

#include "../../tensorflow_op.h"

namespace ipulse {

inline int64_t last_axis(const Tensor &tensor) { return tensor.dim_size(tensor.dims() - 1); }

inline TensorShape leading_axes(const Tensor &tensor) {
  TensorShape shape = tensor.shape();
  shape.RemoveLastDims(1);
  return shape;
}

inline TensorShape with_axis(TensorShape shape, int64_t size) {
  shape.AddDim(size);
  return shape;
}

// "[3, 2, 1]": where the element number `index` of a shape lies.
inline std::string place(const TensorShape &shape, int64_t index) {
  std::string text;
  for (int axis = shape.dims() - 1; axis >= 0; --axis) {
    text = std::to_string(index % shape.dim_size(axis)) + (text.empty() ? "" : ", ") + text;
    index /= shape.dim_size(axis);
  }
  return "[" + text + "]";
}

// TensorFlow's threads take denormal numbers for zeros, which would move spikes: within this scope
// arithmetic is IEEE's.
class IeeeArithmetic {
public:
  IeeeArithmetic() {
    fegetenv(&before_);
    fesetenv(FE_DFL_ENV);
  }
  ~IeeeArithmetic() { fesetenv(&before_); }
  IeeeArithmetic(const IeeeArithmetic &) = delete;
  IeeeArithmetic &operator=(const IeeeArithmetic &) = delete;

private:
  fenv_t before_;
};

// Calls work(begin, end) for parts of 0 to `total`, on TensorFlow's threads. What work does for one
// index must not depend on where the parts begin: then nothing depends on the threads.
template <typename Work>
void in_parallel(OpKernelContext *c, int64_t total, int64_t cycles_each, const Work &work) {
  if (total <= 0)
    return;
  auto *pool = c->device()->tensorflow_cpu_worker_threads()->workers;
  pool->ParallelFor(total, cycles_each, [&work](int64_t begin, int64_t end) {
    IeeeArithmetic scope;
    work(begin, end);
  });
}

} // namespace ipulse

#endif
