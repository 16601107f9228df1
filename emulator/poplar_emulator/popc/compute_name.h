#ifndef IPULSE_POPC_COMPUTE_NAME_H
#define IPULSE_POPC_COMPUTE_NAME_H

#include <cstddef>
#include <string>

namespace popc {

/// Returns the symbol of the function that calls compute() of vertex `n` of a unit, both from 0.
inline std::string computeName(unsigned unit, std::size_t n) {
  return "popc_compute_" + std::to_string(unit) + "_" + std::to_string(n);
}

} // namespace popc

#endif
