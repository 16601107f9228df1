#include <popfloat/experimental/CastToHalf.hpp>

#include <poplar/HalfFloat.hpp>

namespace popfloat::experimental {

std::uint16_t singleToHalf(float value, bool nanOnOverflow) {
  constexpr float largest = 65520.f; // from here on, rounding to nearest gives infinity
  const bool beyond = value >= largest || value <= -largest;
  if (!beyond)
    return poplar::half::fromFloat(value);
  const std::uint16_t sign = value < 0 ? 0x8000u : 0u;
  return static_cast<std::uint16_t>(sign | (nanOnOverflow ? 0x7e00u : 0x7bffu));
}

float halfToSingle(std::uint16_t bits) { return poplar::half::toFloat(bits); }

} // namespace popfloat::experimental
