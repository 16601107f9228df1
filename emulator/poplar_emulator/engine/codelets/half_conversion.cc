// Functions that clang before 15 calls in codelets with half arithmetic. libgcc lacks them or has
// another calling convention for them.
#include <cstdint>

#include <poplar/HalfFloat.hpp>

using poplar::half;

extern "C" {
float __gnu_h2f_ieee(std::uint16_t bits) { return half::toFloat(bits); }
std::uint16_t __gnu_f2h_ieee(float value) { return half::fromFloat(value); }
std::uint16_t popc_half_of(double value) { return half::fromFloat(static_cast<float>(value)); }
}
