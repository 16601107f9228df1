#ifndef IPULSE_EMULATOR_SANITIZE_H
#define IPULSE_EMULATOR_SANITIZE_H

#include <cstdlib>
#include <cstring>

namespace poplar::emulator {

/// Returns whether $IPULSE_EMULATOR_SANITIZE asks for checks that take time: popc then compiles a
/// call before each access to memory (AccessCheck), and graphs are checked for races below a word
/// and for fields without a value.
inline bool sanitizes() {
  const char *named = std::getenv("IPULSE_EMULATOR_SANITIZE");
  return named && *named && std::strcmp(named, "0") != 0;
}

} // namespace poplar::emulator

#endif
