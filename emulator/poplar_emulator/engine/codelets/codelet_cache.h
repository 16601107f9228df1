#ifndef IPULSE_EMULATOR_CODELET_CACHE_H
#define IPULSE_EMULATOR_CODELET_CACHE_H

#include <ostream>
#include <string>
#include <vector>

#include <poplar/CodeletFileType.hpp>
#include <poplar/StringRef.hpp>

namespace poplar::emulator {

/// The library made of codelet sources, from `$IPULSE_CACHE`, else `~/.cache/ipulse`, where it is
/// kept under a hash of all it depends on. Raises file_load_error, link_error; what the compiler
/// says also goes to compileOutput.
std::string cachedCodelets(const std::vector<std::string> &sources, CodeletFileType type,
                           StringRef compileFlags, std::ostream &compileOutput);
/// The same for a source that is in memory.
std::string cachedCodeletText(const std::string &text, CodeletFileType type, StringRef compileFlags,
                              std::ostream &compileOutput);
/// A path of a .gp that dlopen takes. Raises file_load_error when there is no such file.
std::string cachedObject(const std::string &path);
/// Keeps a library whose bytes come from elsewhere, as from an executable.
std::string cachedBytes(const std::string &bytes);

} // namespace poplar::emulator

#endif
