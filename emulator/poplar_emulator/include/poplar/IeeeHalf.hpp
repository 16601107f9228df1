#ifndef poplar_IeeeHalf_hpp
#define poplar_IeeeHalf_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstdint>
#include <cstring>

#include <poplar/HalfFloat.hpp>

namespace poplar {

/// A half with access to its bits, the same class in host programs and in codelets. A float is
/// rounded to nearest even.
class IeeeHalf {
public:
  IeeeHalf() = default;
  IeeeHalf(float from) : value(from) {}
  static IeeeHalf fromBits(std::uint16_t bits) {
    IeeeHalf half;
    std::memcpy(&half.value, &bits, sizeof bits);
    return half;
  }
  std::uint16_t bit16() const {
    std::uint16_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  operator float() const { return static_cast<float>(value); }

  IeeeHalf &operator+=(float b) { return *this = *this + b; }
  IeeeHalf &operator-=(float b) { return *this = *this - b; }
  IeeeHalf &operator*=(float b) { return *this = *this * b; }
  IeeeHalf &operator/=(float b) { return *this = *this / b; }

  bool isNaN() const { return magnitude() > infinity; }
  bool isInf() const { return magnitude() == infinity; }
  bool isZero() const { return magnitude() == 0; }
  /// Returns whether the number is neither zero, subnormal, infinite nor NaN.
  bool isNorm() const { return magnitude() >= 0x400u && magnitude() < infinity; }
  bool isqNaN() const { return isNaN() && (bit16() & quiet); }
  bool issNaN() const { return isNaN() && !(bit16() & quiet); }

private:
  static constexpr std::uint16_t infinity = 0x7c00u, quiet = 0x200u;
  std::uint16_t magnitude() const { return bit16() & 0x7fffu; }

  half value;
};

} // namespace poplar

#endif
