// Variables of the stand-in: a tensor and its lock.
#ifndef TESTS_STAND_IN_RESOURCE_VAR_H
#define TESTS_STAND_IN_RESOURCE_VAR_H

#include <memory>
#include <mutex>

#include "op_kernel.h"

namespace tensorflow {

using mutex = std::mutex;

class Var {
public:
  explicit Var(Tensor value) : tensor_(std::move(value)) {}
  mutex *mu() { return &mutex_; }
  Tensor *tensor() { return &tensor_; }

private:
  mutex mutex_;
  Tensor tensor_;
};

namespace core {
template <typename T> using RefCountPtr = std::shared_ptr<T>;
} // namespace core

inline std::shared_ptr<Var> HandleFromInput(OpKernelContext *c, int index) {
  return c->input(index).resource();
}

inline Status LookupResource(OpKernelContext *, const std::shared_ptr<Var> &handle,
                             core::RefCountPtr<Var> *variable) {
  *variable = handle;
  return handle ? Status() : Status("no such variable");
}

} // namespace tensorflow

#endif
