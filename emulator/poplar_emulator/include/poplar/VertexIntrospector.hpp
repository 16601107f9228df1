#ifndef poplar_VertexIntrospector_hpp
#define poplar_VertexIntrospector_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstring>
#include <string>
#include <vector>

#include <poplar/StringRef.hpp>
#include <poplar/Type.hpp>
#include <poplar/VectorLayout.hpp>
#include <poplar/exceptions.hpp>

namespace poplar {

/// The length of one vector of a field and, for an initial value, its content.
class SubfieldIntrospector {
public:
  explicit SubfieldIntrospector(std::size_t count) : count(count) {}
  std::size_t size() const { return count; }

private:
  std::size_t count;
};

/// A field as a perf estimator sees it.
class FieldIntrospector {
public:
  FieldIntrospector(std::vector<std::size_t> sizes, bool nested, Type type, VectorLayout layout,
                    std::vector<char> value)
      : sizes(std::move(sizes)), nested(nested), element(type), layout(layout),
        value(std::move(value)) {}
  /// Elements of a vector, or vectors of a vector of vectors.
  std::size_t size() const { return nested ? sizes.size() : sizes.at(0); }
  std::size_t getSizeAtIndex(std::size_t i) const { return sizes.at(i); }
  SubfieldIntrospector operator[](std::size_t i) const { return SubfieldIntrospector(sizes.at(i)); }
  Type type() const { return element; }
  VectorLayout profilerVectorLayout(std::size_t) const { return layout; }
  template <typename T> T getInitialValue(const class Target &) const {
    T result{};
    if (value.size() < sizeof(T))
      throw no_size_specified("the field has no initial value");
    std::memcpy(&result, value.data(), sizeof(T));
    return result;
  }
  template <typename T> std::vector<T> getInitialValues(const class Target &) const {
    std::vector<T> result(value.size() / sizeof(T));
    std::memcpy(result.data(), value.data(), result.size() * sizeof(T));
    return result;
  }

private:
  std::vector<std::size_t> sizes;
  bool nested;
  Type element;
  VectorLayout layout;
  std::vector<char> value;
};

/// A vertex as a perf estimator sees it.
class VertexIntrospector {
public:
  virtual ~VertexIntrospector() = default;
  /// Raises unknown_field.
  virtual FieldIntrospector getFieldInfo(StringRef name) const = 0;
};

} // namespace poplar

#endif
