#ifndef IPULSE_EMULATOR_CONVERSION_H
#define IPULSE_EMULATOR_CONVERSION_H

#include <cstddef>
#include <vector>

#include <poplar/Type.hpp>

namespace poplar::emulator {

/// The bytes of n elements of another type, converted value by value.
std::vector<char> convert(Type from, const void *values, std::size_t n, Type to);
/// Element i as a number.
double numberAt(Type type, const void *values, std::size_t i);
void storeNumber(Type type, void *values, std::size_t i, double number);

} // namespace poplar::emulator

#endif
