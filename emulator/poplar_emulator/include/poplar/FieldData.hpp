#ifndef poplar_FieldData_hpp
#define poplar_FieldData_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/HalfFloat.hpp>
#include <poplar/Type.hpp>
#include <poplar/TypeTraits.hpp>

namespace poplar {

/// The value of an initial-value field, of any type of the device.
class FieldData {
  template <typename V>
  using Pointee = typename std::remove_cv<typename std::remove_pointer<V>::type>::type;

public:
  template <typename T> FieldData(const T &value) : FieldData(&value, 1, typeOf<T>(), true) {}
  template <typename T>
  FieldData(ArrayRef<T> values) : FieldData(values.data(), values.size(), typeOf<T>(), false) {}
  template <typename T> FieldData(const std::vector<T> &values) : FieldData(ArrayRef<T>(values)) {}

  /// Whether V is a number of a device type or points to such numbers.
  template <typename V> static constexpr bool holds() {
    return std::is_arithmetic<Pointee<V>>::value || std::is_enum<Pointee<V>>::value ||
           std::is_same<Pointee<V>, half>::value || std::is_same<Pointee<V>, IeeeHalf>::value;
  }
  /// Returns the number or the pointer's numbers, one for each element of a tensor of that shape.
  template <typename V> static FieldData of(V value, ArrayRef<std::size_t>) {
    return FieldData(value);
  }
  template <typename T> static FieldData of(T *values, ArrayRef<std::size_t> shape) {
    std::size_t n = 1;
    for (const std::size_t d : shape)
      n *= d;
    return FieldData(ArrayRef<typename std::remove_cv<T>::type>(values, n));
  }

  /// Returns numbers of a type with these traits, one for each element or one for all.
  static FieldData of(const void *values, const TypeTraits &traits, bool broadcast,
                      ArrayRef<std::size_t> shape) {
    const bool isWide = traits.size == 4, isLong = traits.size == 8;
    if (traits.isFloat)
      return isLong   ? of<double>(values, broadcast, shape)
             : isWide ? of<float>(values, broadcast, shape)
                      : of<IeeeHalf>(values, broadcast, shape);
    if (traits.isSigned)
      return isLong             ? of<std::int64_t>(values, broadcast, shape)
             : isWide           ? of<std::int32_t>(values, broadcast, shape)
             : traits.size == 2 ? of<std::int16_t>(values, broadcast, shape)
                                : of<std::int8_t>(values, broadcast, shape);
    return isLong             ? of<std::uint64_t>(values, broadcast, shape)
           : isWide           ? of<std::uint32_t>(values, broadcast, shape)
           : traits.size == 2 ? of<std::uint16_t>(values, broadcast, shape)
                              : of<std::uint8_t>(values, broadcast, shape);
  }

  Type type() const { return element; }
  std::size_t size() const { return count; }
  bool isScalar() const { return scalar; }
  const std::vector<char> &bytes() const { return data; }

private:
  template <typename T>
  static FieldData of(const void *values, bool broadcast, ArrayRef<std::size_t> shape) {
    const T *typed = static_cast<const T *>(values);
    return broadcast ? FieldData(*typed) : of(typed, shape);
  }
  /// The device type of a T; the device has no double and no enumerations.
  template <typename T, bool = std::is_enum<T>::value> struct OnDevice {
    using Type = T;
  };
  template <typename T> struct OnDevice<T, true> {
    using Type = typename std::underlying_type<T>::type;
  };
  template <typename T> static Type typeOf() {
    using Element = typename OnDevice<T>::Type;
    return equivalent_device_type<
               typename std::conditional<std::is_same<T, double>::value, float, Element>::type>()
        .value;
  }
  template <typename T>
  FieldData(const T *values, std::size_t n, Type type, bool scalar)
      : element(type), count(n), scalar(scalar) {
    const char *bytes = reinterpret_cast<const char *>(values);
    data.assign(bytes, bytes + n * sizeof(T));
  }
  FieldData(const double *values, std::size_t n, Type type, bool scalar)
      : FieldData(std::vector<float>(values, values + n).data(), n, type, scalar) {}

  Type element;
  std::size_t count;
  bool scalar;
  std::vector<char> data;
};

} // namespace poplar

#endif
