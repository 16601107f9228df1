#ifndef popfloat_experimental_CastToHalf_hpp
#define popfloat_experimental_CastToHalf_hpp

// Conversions on the host. [I] Beyond the largest half the result is that or, if asked for,
// not-a-number, as the tile's registers offer it.

#include <cstdint>

namespace popfloat {
namespace experimental {

/// Returns the bits of a half, rounded to nearest even.
std::uint16_t singleToHalf(float value, bool nanOnOverflow = false);
/// Returns the value of a half by its bits.
float halfToSingle(std::uint16_t bits);

} // namespace experimental
} // namespace popfloat

#endif
