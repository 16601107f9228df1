// The part of TensorFlow that the ops use, with tensors in memory of exactly their size and with
// its own threads, because TensorFlow cannot be built for a sanitizer.
#ifndef TESTS_STAND_IN_OP_KERNEL_H
#define TESTS_STAND_IN_OP_KERNEL_H

#include <algorithm>
#include <any>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "op_definition.h"
#include "shape_inference.h"
#include "status.h"
#include "tensor.h"
#include "tensorflow/core/platform/threadpool.h"

namespace tensorflow {

constexpr const char *DEVICE_CPU = "CPU";

// An op's name and attributes.
struct Node {
  std::string op;
  std::map<std::string, std::any> attributes;

  // Where an argument begins and ends among all; all of them without a name.
  std::pair<int, int> range(const std::vector<Argument> &arguments, const std::string &name) const {
    int end = 0;
    for (const Argument &argument : arguments) {
      const int begin = end;
      end += argument.number.empty() ? 1 : std::any_cast<int>(attributes.at(argument.number));
      if (argument.name == name)
        return {begin, end};
    }
    if (!name.empty())
      std::abort(); // the op has none of that name
    return {0, end};
  }
};

class OpKernelConstruction {
public:
  explicit OpKernelConstruction(const Node &node) : node_(node) {}
  template <typename T> Status GetAttr(const std::string &name, T *value) const {
    *value = std::any_cast<T>(node_.attributes.at(name));
    return Status();
  }
  void CtxFailure(const Status &status) { status_ = status; }
  const Status &status() const { return status_; }

private:
  const Node &node_;
  Status status_;
};

struct CpuWorkerThreads {
  thread::ThreadPool *workers;
};

struct DeviceBase {
  CpuWorkerThreads threads;
  CpuWorkerThreads *tensorflow_cpu_worker_threads() { return &threads; }
};

class OpInputList {
public:
  const Tensor &operator[](int index) const { return first[index]; }
  const Tensor *first = nullptr;
};

class OpOutputList {
public:
  Status allocate(int index, const TensorShape &shape, Tensor **tensor) {
    *tensor = &first[index];
    **tensor = Tensor(DT_FLOAT, shape);
    return Status();
  }
  void set(int index, const Tensor &tensor) { first[index] = tensor; }
  Tensor *first = nullptr;
};

class OpKernelContext {
public:
  OpKernelContext(const Node &node, std::vector<Tensor> inputs, int64_t threads)
      : node_(node), definition_(op_definitions().at(node.op)), inputs_(std::move(inputs)),
        pool_(threads), device_{{&pool_}} {
    outputs_.resize(static_cast<size_t>(node.range(definition_.outputs, "").second));
    if (node.range(definition_.inputs, "").second != num_inputs())
      std::abort(); // not as many as the op says
  }
  const Tensor &input(int index) const { return inputs_.at(static_cast<size_t>(index)); }
  Status input(const char *name, const Tensor **tensor) const {
    *tensor = &input(node_.range(definition_.inputs, name).first);
    return Status();
  }
  Status input_list(const char *name, OpInputList *list) const {
    list->first = inputs_.data() + node_.range(definition_.inputs, name).first;
    return Status();
  }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  Status allocate_output(int index, const TensorShape &shape, Tensor **tensor) {
    *tensor = &outputs_.at(static_cast<size_t>(index));
    **tensor = Tensor(type_of_output(index), shape);
    return Status();
  }
  Status allocate_output(const char *name, const TensorShape &shape, Tensor **tensor) {
    return allocate_output(node_.range(definition_.outputs, name).first, shape, tensor);
  }
  Status output_list(const char *name, OpOutputList *list) {
    list->first = outputs_.data() + node_.range(definition_.outputs, name).first;
    return Status();
  }
  Status allocate_temp(DataType type, const TensorShape &shape, Tensor *tensor) {
    *tensor = Tensor(type, shape);
    return Status();
  }
  DeviceBase *device() { return &device_; }
  const Status &status() const { return status_; }
  void CtxFailure(const Status &status) { status_ = status; }
  std::vector<Tensor> &outputs() { return outputs_; }

private:
  // Outputs are floats or doubles.
  DataType type_of_output(int index) const {
    for (const Argument &output : definition_.outputs)
      if (index < node_.range(definition_.outputs, output.name).second)
        return output.type == "double" ? DT_DOUBLE : DT_FLOAT;
    std::abort(); // the op has none
  }

  const Node &node_;
  const OpDefinition &definition_;
  std::vector<Tensor> inputs_, outputs_;
  thread::ThreadPool pool_;
  DeviceBase device_;
  Status status_;
};

class OpKernel {
public:
  explicit OpKernel(OpKernelConstruction *) {}
  virtual ~OpKernel() = default;
  virtual void Compute(OpKernelContext *) = 0;
};

// One call of an op, as TensorFlow makes it: outputs, unless the status says what was wrong.
inline std::vector<Tensor> call(const Node &node, std::vector<Tensor> inputs, int64_t threads,
                                Status *status) {
  OpKernelConstruction construction(node);
  std::unique_ptr<OpKernel> kernel = op_definitions().at(node.op).kernel(&construction);
  *status = construction.status();
  if (!status->ok())
    return {};
  OpKernelContext context(node, std::move(inputs), threads);
  kernel->Compute(&context);
  *status = context.status();
  return status->ok() ? std::move(context.outputs()) : std::vector<Tensor>();
}

} // namespace tensorflow

#define OP_REQUIRES(context, condition, error)                                                     \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      (context)->CtxFailure(error);                                                                \
      return;                                                                                      \
    }                                                                                              \
  } while (0)
#define OP_REQUIRES_OK(context, expression)                                                        \
  do {                                                                                             \
    auto status_of_it = (expression);                                                              \
    OP_REQUIRES(context, status_of_it.ok(), status_of_it);                                         \
  } while (0)

#endif
