#ifndef IPULSE_EMULATOR_CODELET_CACHE_H
#define IPULSE_EMULATOR_CODELET_CACHE_H

#include <ostream>
#include <string>
#include <vector>

#include <poplar/CodeletFileType.hpp>
#include <poplar/StringRef.hpp>

namespace poplar::emulator {

/// Compiles codelet sources, or returns the library from the cache (`$IPULSE_CACHE`, else
/// `~/.cache/ipulse`), where its name is the hash of everything it depends on. Raises
/// file_load_error, link_error; the compiler's output also goes to compileOutput.
std::string cachedCodelets(const std::vector<std::string> &sources, CodeletFileType type,
                           StringRef compileFlags, std::ostream &compileOutput);
/// Compiles a source that is in memory.
std::string cachedCodeletText(const std::string &text, CodeletFileType type, StringRef compileFlags,
                              std::ostream &compileOutput);
/// Returns the path of a .gp for dlopen. Raises file_load_error if there is no such file.
std::string cachedObject(const std::string &path);
/// Stores a library from bytes, for instance those of an executable.
std::string cachedBytes(const std::string &bytes);

} // namespace poplar::emulator

#endif
