#ifndef IPULSE_EMULATOR_SHARED_OBJECT_H
#define IPULSE_EMULATOR_SHARED_OBJECT_H

#include <string>

namespace poplar::emulator {

/// Returns whether a file begins like a shared object (ELF, 64 bits) and is shorter than its header
/// says. dlopen maps such a file, and access to the missing part raises SIGBUS.
bool isCutShort(const std::string &path);

/// Returns whether a shared object that is not cut short defines a symbol. It is not loaded,
/// because loading runs code of it.
bool definesSymbol(const std::string &path, const char *name);

/// Opens a shared object with dlopen. Raises std::runtime_error, also for a truncated file.
void *loadedObject(const std::string &path);

} // namespace poplar::emulator

#endif
