#ifndef IPULSE_EMULATOR_SHARED_OBJECT_H
#define IPULSE_EMULATOR_SHARED_OBJECT_H

#include <string>

namespace poplar::emulator {

/// Whether a file begins like a shared object (ELF, 64 bits) and ends before all it promises is
/// there. dlopen maps such a file, and whoever touches what is missing dies of SIGBUS.
bool isCutShort(const std::string &path);

/// What dlopen gives for it. Raises std::runtime_error in words, also for one that is cut short.
void *loadedObject(const std::string &path);

} // namespace poplar::emulator

#endif
