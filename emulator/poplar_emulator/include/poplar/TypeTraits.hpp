#ifndef poplar_TypeTraits_hpp
#define poplar_TypeTraits_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <type_traits>

#include <poplar/Type.hpp>

namespace poplar {

/// Properties of a C++ type without its name.
struct TypeTraits {
  std::size_t size = 0;
  std::size_t align = 0;
  bool isIntegral = false;
  bool isFloat = false;
  bool isSigned = false;

  template <typename T> static TypeTraits make() {
    return {sizeof(T), alignof(T), std::is_integral<T>::value,
            std::is_floating_point<T>::value || isHalf<T>(),
            std::is_signed<T>::value || isHalf<T>()};
  }
  template <typename T> static TypeTraits make(const T &) { return make<T>(); }
  /// Returns whether a T is a number.
  template <typename T> static constexpr bool isSimpleType() {
    return std::is_arithmetic<T>::value || isHalf<T>();
  }

private:
  template <typename T> static constexpr bool isHalf() {
    return std::is_same<T, half>::value || std::is_same<T, IeeeHalf>::value;
  }
};

} // namespace poplar

#endif
