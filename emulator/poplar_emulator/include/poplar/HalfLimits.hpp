#ifndef poplar_HalfLimits_hpp
#define poplar_HalfLimits_hpp

// The limits of half, and literals of it such as 1.5_h, in codelets. HalfFloat.hpp includes it.

#include <limits>

/// A literal of half.
constexpr poplar::half operator""_h(long double value) { return static_cast<poplar::half>(value); }
constexpr poplar::half operator""_h(unsigned long long value) {
  return static_cast<poplar::half>(static_cast<long double>(value));
}

#ifndef __STDCPP_FLOAT16_T__ // then the library has them
template <> struct std::numeric_limits<poplar::half> {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool is_iec559 = true;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2;
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int min_exponent = -13;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;
  static constexpr poplar::half max() { return 65504.0_h; }
  static constexpr poplar::half lowest() { return -65504.0_h; }
  static constexpr poplar::half min() { return 0x1p-14_h; }
  static constexpr poplar::half denorm_min() { return 0x1p-24_h; }
  static constexpr poplar::half epsilon() { return 0x1p-10_h; }
  static constexpr poplar::half round_error() { return 0.5_h; }
  static constexpr poplar::half infinity() {
    return static_cast<poplar::half>(__builtin_huge_valf());
  }
  static constexpr poplar::half quiet_NaN() {
    return static_cast<poplar::half>(__builtin_nanf(""));
  }
  static constexpr poplar::half signaling_NaN() {
    return static_cast<poplar::half>(__builtin_nanf(""));
  }
};
#endif

#endif
