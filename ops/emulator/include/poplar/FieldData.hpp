#ifndef poplar_FieldData_hpp
#define poplar_FieldData_hpp

#include <cstddef>
#include <type_traits>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/HalfFloat.hpp>
#include <poplar/Type.hpp>

namespace poplar {

/// The value of an initial-value field, of any type the device has.
class FieldData {
public:
  template <typename T> FieldData(const T &value) : FieldData(&value, 1, typeOf<T>(), true) {}
  template <typename T>
  FieldData(ArrayRef<T> values) : FieldData(values.data(), values.size(), typeOf<T>(), false) {}
  template <typename T> FieldData(const std::vector<T> &values) : FieldData(ArrayRef<T>(values)) {}

  /// Whether V is a number of the device's or points to such numbers.
  template <typename V> static constexpr bool holds() {
    using T = std::remove_cv_t<std::remove_pointer_t<V>>;
    return std::is_arithmetic<T>::value || std::is_enum<T>::value || std::is_same<T, half>::value;
  }
  /// The number, or what the pointer points to: one for each element of a tensor of that shape.
  template <typename V> static FieldData of(V value, ArrayRef<std::size_t> shape) {
    if constexpr (std::is_pointer<V>::value) {
      std::size_t n = 1;
      for (const std::size_t d : shape)
        n *= d;
      return FieldData(ArrayRef<std::remove_cv_t<std::remove_pointer_t<V>>>(value, n));
    } else {
      return FieldData(value);
    }
  }

  Type type() const { return element; }
  std::size_t size() const { return count; }
  bool isScalar() const { return scalar; }
  const std::vector<char> &bytes() const { return data; }

private:
  template <typename T> static Type typeOf();
  template <typename T> FieldData(const T *values, std::size_t n, Type type, bool scalar);
  Type element;
  std::size_t count;
  bool scalar;
  std::vector<char> data;
};

template <typename T> Type FieldData::typeOf() {
  if constexpr (std::is_same<T, double>::value)
    return FLOAT; // the device has no double
  else if constexpr (std::is_enum<T>::value)
    return equivalent_device_type<std::underlying_type_t<T>>().value;
  else
    return equivalent_device_type<T>().value;
}

template <typename T>
FieldData::FieldData(const T *values, std::size_t n, Type type, bool scalar)
    : element(type), count(n), scalar(scalar) {
  if constexpr (std::is_same<T, double>::value) {
    const std::vector<float> narrow(values, values + n);
    const char *bytes = reinterpret_cast<const char *>(narrow.data());
    data.assign(bytes, bytes + n * sizeof(float));
  } else {
    const char *bytes = reinterpret_cast<const char *>(values);
    data.assign(bytes, bytes + n * sizeof(T));
  }
}

} // namespace poplar

#endif
