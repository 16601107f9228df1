#include "counters.h"

#include <poplar/HalfFloat.hpp>

extern "C" {
__attribute__((tls_model("initial-exec"))) thread_local poplar::emulator::Counters popc_counters;

float popc_half_to_float(std::uint16_t bits);
std::uint16_t popc_float_to_half(float value);
float popc_half_to_float(std::uint16_t bits) { return poplar::half::toFloat(bits); }
std::uint16_t popc_float_to_half(float value) { return poplar::half::fromFloat(value); }
}
