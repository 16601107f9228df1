#ifndef poplar_ConnectionDesc_hpp
#define poplar_ConnectionDesc_hpp

// Part of Graph.hpp; not a header of the SDK.

#include <string>
#include <type_traits>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/FieldData.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/Tensor.hpp>

namespace poplar {

/// A field and its tensor or value.
struct ConnectionDesc {
  enum class Kind { Tensor, Tensors, Value };
  std::string name;
  Kind kind;
  std::vector<Tensor> tensors;
  std::vector<FieldData> value;
  ConnectionDesc(StringRef name, Tensor t)
      : name(name), kind(Kind::Tensor), tensors{std::move(t)} {}
  ConnectionDesc(StringRef name, ArrayRef<Tensor> ts)
      : name(name), kind(Kind::Tensors), tensors(ts.begin(), ts.end()) {}
  ConnectionDesc(StringRef name, const std::vector<Tensor> &ts)
      : name(name), kind(Kind::Tensors), tensors(ts) {}
  template <typename T, typename = typename std::enable_if<FieldData::holds<T>()>::type>
  ConnectionDesc(StringRef name, T value)
      : name(name), kind(Kind::Value), value{FieldData(value)} {}
  template <typename T, typename = typename std::enable_if<FieldData::holds<T>()>::type>
  ConnectionDesc(StringRef name, const std::vector<T> &values)
      : name(name), kind(Kind::Value), value{FieldData(values)} {}
  template <typename T, typename = typename std::enable_if<FieldData::holds<T>()>::type>
  ConnectionDesc(StringRef name, ArrayRef<T> values)
      : name(name), kind(Kind::Value), value{FieldData(values)} {}
};

} // namespace poplar

#endif
