#ifndef poplar_HalfFloat_hpp
#define poplar_HalfFloat_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstdint>
#include <cstring>
#include <ostream>
#include <type_traits>

#if defined(__FLT16_MAX__)
#define POPLAR_HALF_OF_THE_COMPILER _Float16
#elif defined(POPC_COUNTED) && defined(__clang__) // before 15; popc's flags let it be computed with
#define POPLAR_HALF_OF_THE_COMPILER __fp16
// Replaces libgcc's function, which returns the result in another register.
extern "C" std::uint16_t popc_half_of(double value);
extern "C" __attribute__((weak, visibility("hidden"), no_sanitize("coverage"))) std::uint16_t
__truncdfhf2(double value) {
  return popc_half_of(value);
}
#endif

#if defined(POPC_COUNTED) && defined(POPLAR_HALF_OF_THE_COMPILER)

namespace poplar {

/// IEEE 754 binary16 as a type of the compiler, as on the tile; each operation rounds once.
using half = POPLAR_HALF_OF_THE_COMPILER;

} // namespace poplar

#include <poplar/HalfLimits.hpp>

#else

namespace poplar {

/// IEEE 754 binary16. Arithmetic is computed in float and rounded once, to nearest even.
class half {
public:
  half() = default;
  half(float value) : bits(fromFloat(value)) {}
  template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type>
  half(T value) : half(static_cast<float>(value)) {}
  operator float() const { return toFloat(bits); }

  half &operator+=(half b) { return *this = half(float(*this) + float(b)); }
  half &operator-=(half b) { return *this = half(float(*this) - float(b)); }
  half &operator*=(half b) { return *this = half(float(*this) * float(b)); }
  half &operator/=(half b) { return *this = half(float(*this) / float(b)); }

  static std::uint16_t fromFloat(float value) {
    std::uint32_t f;
    std::memcpy(&f, &value, sizeof f);
    const std::uint32_t sign = (f >> 16) & 0x8000u;
    const std::uint32_t magnitude = f & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
      return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) // rounds to 65536 or more
      return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { // below 2^-14: a multiple of 2^-24
      float scaled;
      std::memcpy(&scaled, &magnitude, sizeof scaled);
      scaled += 0.5f; // the addition rounds at 2^-24
      std::uint32_t rounded;
      std::memcpy(&rounded, &scaled, sizeof rounded);
      return static_cast<std::uint16_t>(sign | (rounded - 0x3f000000u));
    }
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + odd;
    return static_cast<std::uint16_t>(sign | (rounded >> 13));
  }

  static float toFloat(std::uint16_t h) {
    const std::uint32_t sign = (h & 0x8000u) << 16;
    const std::uint32_t exponent = (h >> 10) & 0x1fu;
    const std::uint32_t mantissa = h & 0x3ffu;
    std::uint32_t f;
    if (exponent == 0x1f) {
      f = sign | 0x7f800000u | (mantissa << 13);
    } else if (exponent != 0) {
      f = sign | ((exponent + 112) << 23) | (mantissa << 13);
    } else {
      const float subnormal = static_cast<float>(mantissa) * 5.9604644775390625e-8f; // 2^-24
      std::memcpy(&f, &subnormal, sizeof f);
      f |= sign;
    }
    float value;
    std::memcpy(&value, &f, sizeof value);
    return value;
  }

  std::uint16_t bits;
};

#define POPLAR_HALF_OPERATOR(SIGN)                                                                 \
  inline half operator SIGN(half a, half b) { return half(float(a) SIGN float(b)); }               \
  template <typename T,                                                                            \
            typename = typename std::enable_if<std::is_floating_point<T>::value>::type>            \
  T operator SIGN(half a, T b) {                                                                   \
    return float(a) SIGN b;                                                                        \
  }                                                                                                \
  template <typename T,                                                                            \
            typename = typename std::enable_if<std::is_floating_point<T>::value>::type>            \
  T operator SIGN(T a, half b) {                                                                   \
    return a SIGN float(b);                                                                        \
  }                                                                                                \
  template <typename T, typename = typename std::enable_if<std::is_integral<T>::value>::type,      \
            typename = T>                                                                          \
  half operator SIGN(half a, T b) {                                                                \
    return a SIGN half(b);                                                                         \
  }                                                                                                \
  template <typename T, typename = typename std::enable_if<std::is_integral<T>::value>::type,      \
            typename = T>                                                                          \
  half operator SIGN(T a, half b) {                                                                \
    return half(a) SIGN b;                                                                         \
  }
POPLAR_HALF_OPERATOR(+)
POPLAR_HALF_OPERATOR(-)
POPLAR_HALF_OPERATOR(*)
POPLAR_HALF_OPERATOR(/)
#undef POPLAR_HALF_OPERATOR
inline half operator-(half a) { return half(-float(a)); }

} // namespace poplar

#endif

using poplar::half;

#endif
