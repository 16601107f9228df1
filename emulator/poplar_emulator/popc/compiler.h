#ifndef IPULSE_POPC_COMPILER_H
#define IPULSE_POPC_COMPILER_H

#include <string>
#include <vector>

namespace popc {

/// Returns the compiler's version text.
std::string compilerVersion();
bool isClang();
/// Selects the user's flags, without those for Graphcore's popc or for clang, and without warnings,
/// which this compiler does not share.
std::vector<std::string> takenFlags(const std::vector<std::string> &flags);
/// Returns them after popc's own.
std::vector<std::string> allFlags(const std::vector<std::string> &flags);
/// Explains an error that is caused by a missing feature of this emulator.
std::string hint(const std::string &output);

} // namespace popc

#endif
