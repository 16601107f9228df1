#ifndef IPULSE_POPLIBS_CTC_LOGARITHMS_H
#define IPULSE_POPLIBS_CTC_LOGARITHMS_H

#include <algorithm>
#include <cmath>
#include <limits>

namespace poplar::emulator {

constexpr double kNever = -std::numeric_limits<double>::infinity(); // the logarithm of 0

/// The logarithm of the sum of two numbers, of logarithms.
inline double logAdd(double a, double b) {
  const double most = std::max(a, b);
  return most == kNever ? kNever : most + std::log1p(std::exp(std::min(a, b) - most));
}

} // namespace poplar::emulator

#endif
