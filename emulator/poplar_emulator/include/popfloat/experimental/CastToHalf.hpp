#ifndef popfloat_experimental_CastToHalf_hpp
#define popfloat_experimental_CastToHalf_hpp

// Conversions on the host. [I] Beyond the largest half the result is that or, if asked for,
// not-a-number, as the tile's registers offer it.

#include <cstdint>

#include <poplar/HalfFloat.hpp>

namespace popfloat {
namespace experimental {

/// Returns the bits of a half, rounded to nearest even.
inline std::uint16_t singleToHalf(float value, bool nanOnOverflow = false) {
  constexpr float largest = 65520.f; // from here on, rounding to nearest gives infinity
  const bool beyond = value >= largest || value <= -largest;
  if (!beyond)
    return poplar::half::fromFloat(value);
  const std::uint16_t sign = value < 0 ? 0x8000u : 0u;
  return static_cast<std::uint16_t>(sign | (nanOnOverflow ? 0x7e00u : 0x7bffu));
}
/// Returns the value of a half by its bits.
inline float halfToSingle(std::uint16_t bits) { return poplar::half::toFloat(bits); }

} // namespace experimental
} // namespace popfloat

#endif
