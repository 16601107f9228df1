#ifndef IPULSE_POPC_COMPILE_UNIT_H
#define IPULSE_POPC_COMPILE_UNIT_H

#include <string>
#include <vector>

namespace popc {

/// Runs the compiler. Raises CompileError, with `what`.
void runOrThrow(const std::vector<std::string> &arguments, const std::string &what);

/// Compiles a unit to the assembly `base`.s. Raises CompileError.
void compileUnit(const std::string &source, const std::vector<std::string> &flags,
                 const std::string &base, bool extVectors);

} // namespace popc

#endif
