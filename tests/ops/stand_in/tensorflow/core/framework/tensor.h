// Tensors of the stand-in: in memory of exactly their size, none where they have no elements.
#ifndef TESTS_STAND_IN_TENSOR_H
#define TESTS_STAND_IN_TENSOR_H

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace tensorflow {

using int64 = int64_t;
enum DataType { DT_FLOAT, DT_INT32, DT_INT64, DT_UINT16, DT_DOUBLE, DT_RESOURCE };
template <typename T> constexpr DataType TYPE = DT_FLOAT;
template <> inline constexpr DataType TYPE<int32_t> = DT_INT32;
template <> inline constexpr DataType TYPE<int64_t> = DT_INT64;
template <> inline constexpr DataType TYPE<uint16_t> = DT_UINT16;
template <> inline constexpr DataType TYPE<double> = DT_DOUBLE;

inline std::string DataTypeString(DataType type) {
  const char *names[] = {"float", "int32", "int64", "uint16", "double", "resource"};
  return names[type];
}

inline size_t bytes_of(DataType type) {
  const size_t bytes[] = {4, 4, 8, 2, 8, 0};
  return bytes[type];
}

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

class Allocator {
public:
  virtual ~Allocator() = default;
  virtual std::string Name() = 0;
  virtual void *AllocateRaw(size_t alignment, size_t bytes) = 0;
  virtual void DeallocateRaw(void *memory) = 0;
};

template <typename T> struct Flat {
  T *first;
  T *data() const { return first; }
  T &operator()(int64_t index) const { return first[index]; }
};

class Var;

class Tensor {
public:
  Tensor() = default;
  Tensor(DataType type, TensorShape shape) : type_(type), shape_(std::move(shape)) {
    if (NumElements())
      bytes_.reset(new char[bytes()], std::default_delete<char[]>());
  }
  Tensor(Allocator *allocator, DataType type, TensorShape shape)
      : type_(type), shape_(std::move(shape)) {
    void *memory = NumElements() ? allocator->AllocateRaw(64, bytes()) : nullptr;
    if (memory)
      bytes_.reset(static_cast<char *>(memory),
                   [allocator](char *given) { allocator->DeallocateRaw(given); });
  }
  explicit Tensor(std::shared_ptr<Var> resource)
      : type_(DT_RESOURCE), shape_({}), resource_(std::move(resource)) {}
  template <typename T> static Tensor of(TensorShape shape, const std::vector<T> &values) {
    Tensor made(TYPE<T>, std::move(shape));
    if (!values.empty())
      std::memcpy(made.data(), values.data(), values.size() * sizeof(T));
    return made;
  }
  DataType dtype() const { return type_; }
  const TensorShape &shape() const { return shape_; }
  int dims() const { return shape_.dims(); }
  int64_t dim_size(int axis) const { return shape_.dim_size(axis); }
  int64_t NumElements() const { return shape_.num_elements(); }
  bool IsInitialized() const { return bytes_ || NumElements() == 0; }
  bool RefCountIsOne() const { return bytes_.use_count() == 1; }
  void *data() const { return bytes_.get(); }
  const std::shared_ptr<Var> &resource() const { return resource_; }
  template <typename T> Flat<T> flat() { return {values<T>()}; }
  template <typename T> Flat<const T> flat() const { return {values<T>()}; }

private:
  size_t bytes() const { return static_cast<size_t>(NumElements()) * bytes_of(type_); }
  template <typename T> T *values() const {
    if (TYPE<T> != type_)
      std::abort(); // as TensorFlow does
    return reinterpret_cast<T *>(bytes_.get());
  }

  DataType type_ = DT_FLOAT;
  TensorShape shape_{0};
  std::shared_ptr<char> bytes_;
  std::shared_ptr<Var> resource_;
};

} // namespace tensorflow

#endif
