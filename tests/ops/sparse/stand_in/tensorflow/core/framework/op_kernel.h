// As much of TensorFlow as the sparse ops use, in memory of exactly their tensors' size and on
// threads of its own: TensorFlow's process cannot be built for a sanitizer.
#ifndef TESTS_STAND_IN_OP_KERNEL_H
#define TESTS_STAND_IN_OP_KERNEL_H

#include <any>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace tensorflow {

using int64 = int64_t;
enum DataType { DT_FLOAT, DT_INT32, DT_INT64, DT_UINT16 };
template <typename T> constexpr DataType TYPE = DT_FLOAT;
template <> inline constexpr DataType TYPE<int32_t> = DT_INT32;
template <> inline constexpr DataType TYPE<int64_t> = DT_INT64;
template <> inline constexpr DataType TYPE<uint16_t> = DT_UINT16;
constexpr const char *DEVICE_CPU = "CPU";

class Status {
public:
  Status() = default;
  explicit Status(std::string message) : message_(std::move(message)), ok_(false) {}
  bool ok() const { return ok_; }
  const std::string &message() const { return message_; }

private:
  std::string message_;
  bool ok_ = true;
};

namespace errors {
template <typename... Parts> Status InvalidArgument(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
  return Status(text.str());
}
} // namespace errors

class TensorShape {
public:
  TensorShape() = default;
  TensorShape(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  int dims() const { return static_cast<int>(sizes_.size()); }
  int64_t dim_size(int axis) const { return sizes_.at(static_cast<size_t>(axis)); }
  void AddDim(int64_t size) { sizes_.push_back(size); }
  void RemoveLastDims(int axes) { sizes_.resize(sizes_.size() - static_cast<size_t>(axes)); }
  bool operator==(const TensorShape &other) const { return sizes_ == other.sizes_; }
  int64_t num_elements() const {
    int64_t product = 1;
    for (int64_t size : sizes_)
      product *= size;
    return product;
  }
  std::string DebugString() const {
    std::string text;
    for (int64_t size : sizes_)
      text += (text.empty() ? "" : ",") + std::to_string(size);
    return "[" + text + "]";
  }

private:
  std::vector<int64_t> sizes_;
};

template <typename T> struct Flat {
  T *first;
  T *data() const { return first; }
  T &operator()(int64_t index) const { return first[index]; }
};

class Tensor {
public:
  Tensor() = default;
  template <typename T> static Tensor of(TensorShape shape, const std::vector<T> &values) {
    Tensor made(TYPE<T>, std::move(shape), sizeof(T));
    if (!values.empty())
      std::memcpy(made.bytes_.get(), values.data(), values.size() * sizeof(T));
    return made;
  }
  Tensor(DataType type, TensorShape shape, size_t each)
      : type_(type), shape_(std::move(shape)),
        bytes_(new char[static_cast<size_t>(shape_.num_elements()) * each]) {}
  DataType dtype() const { return type_; }
  const TensorShape &shape() const { return shape_; }
  int dims() const { return shape_.dims(); }
  int64_t dim_size(int axis) const { return shape_.dim_size(axis); }
  int64_t NumElements() const { return shape_.num_elements(); }
  template <typename T> Flat<T> flat() { return {reinterpret_cast<T *>(bytes_.get())}; }
  template <typename T> Flat<const T> flat() const {
    return {reinterpret_cast<const T *>(bytes_.get())};
  }

private:
  DataType type_ = DT_FLOAT;
  TensorShape shape_;
  std::shared_ptr<char[]> bytes_;
};

namespace thread {
// A new thread for each of a few unequal parts.
class ThreadPool {
public:
  explicit ThreadPool(int64_t threads) : threads_(threads) {}
  void ParallelFor(int64_t total, int64_t, const std::function<void(int64_t, int64_t)> &work) {
    const int64_t parts = std::min(total, threads_);
    std::vector<std::thread> started;
    for (int64_t part = 0; part < parts; ++part)
      started.emplace_back(work, total * part / parts, total * (part + 1) / parts);
    for (std::thread &one : started)
      one.join();
  }

private:
  int64_t threads_;
};
} // namespace thread

struct CpuWorkerThreads {
  thread::ThreadPool *workers;
};

struct DeviceBase {
  CpuWorkerThreads threads;
  CpuWorkerThreads *tensorflow_cpu_worker_threads() { return &threads; }
};

class OpKernelConstruction {
public:
  explicit OpKernelConstruction(std::map<std::string, std::any> attributes)
      : attributes_(std::move(attributes)) {}
  template <typename T> Status GetAttr(const std::string &name, T *value) const {
    *value = std::any_cast<T>(attributes_.at(name));
    return Status();
  }
  void CtxFailure(const Status &status) { status_ = status; }
  const Status &status() const { return status_; }

private:
  std::map<std::string, std::any> attributes_;
  Status status_;
};

class OpKernelContext {
public:
  OpKernelContext(std::vector<Tensor> inputs, int64_t threads)
      : inputs_(std::move(inputs)), outputs_(4), pool_(threads), device_{{&pool_}} {}
  const Tensor &input(int index) const { return inputs_.at(static_cast<size_t>(index)); }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  Status allocate_output(int index, const TensorShape &shape, Tensor **tensor) {
    *tensor = &outputs_.at(static_cast<size_t>(index));
    **tensor = Tensor(DT_FLOAT, shape, sizeof(float));
    return Status();
  }
  DeviceBase *device() { return &device_; }
  const Status &status() const { return status_; }
  void CtxFailure(const Status &status) { status_ = status; }
  const Tensor &output(int index) const { return outputs_.at(static_cast<size_t>(index)); }

private:
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

namespace shape_inference {
// Shapes while tracing are not asked here: declared, and never called.
struct DimensionHandle {};
struct ShapeHandle {};
class InferenceContext {
public:
  ShapeHandle input(int);
  void set_output(int, ShapeHandle);
  Status WithRank(ShapeHandle, int64_t, ShapeHandle *);
  Status WithRankAtLeast(ShapeHandle, int64_t, ShapeHandle *);
  Status WithRankAtMost(ShapeHandle, int64_t, ShapeHandle *);
  Status WithValue(DimensionHandle, int64_t, DimensionHandle *);
  Status Subshape(ShapeHandle, int64_t, int64_t, ShapeHandle *);
  Status Merge(ShapeHandle, ShapeHandle, ShapeHandle *);
  Status Concatenate(ShapeHandle, ShapeHandle, ShapeHandle *);
  template <typename T> Status GetAttr(const char *, T *);
  DimensionHandle Dim(ShapeHandle, int64_t);
  DimensionHandle MakeDim(int64_t);
  DimensionHandle UnknownDim();
  ShapeHandle MakeShape(std::initializer_list<DimensionHandle>);
  ShapeHandle Vector(DimensionHandle);
  bool RankKnown(ShapeHandle);
  int Rank(ShapeHandle);
};
} // namespace shape_inference

struct Registration {
  Registration &Input(const char *) { return *this; }
  Registration &Output(const char *) { return *this; }
  Registration &Attr(const char *) { return *this; }
  template <typename Function> Registration &SetShapeFn(Function) { return *this; }
};

} // namespace tensorflow

#define STAND_IN_JOIN(a, b) a##b
#define STAND_IN_NAME(a, b) STAND_IN_JOIN(a, b)
#define REGISTER_OP(name)                                                                          \
  [[maybe_unused]] static const tensorflow::Registration STAND_IN_NAME(registered_, __COUNTER__) = \
      tensorflow::Registration()
#define REGISTER_KERNEL_BUILDER(name, kind)                                                        \
  static_assert(std::is_base_of<tensorflow::OpKernel, kind>::value, "an op")

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
#define TF_RETURN_IF_ERROR(expression)                                                             \
  do {                                                                                             \
    auto status_of_it = (expression);                                                              \
    if (!status_of_it.ok())                                                                        \
      return status_of_it;                                                                         \
  } while (0)

#endif
