#ifndef IPULSE_POPC_COMPILE_H
#define IPULSE_POPC_COMPILE_H

#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace popc {

/// The sources are no codelets, or the compiler refused them. `output` is what it said.
struct CompileError : public std::runtime_error {
  CompileError(const std::string &what, std::string output)
      : std::runtime_error(what), output(std::move(output)) {}
  std::string output;
};

/// Why codelets in assembly are refused, and the cure.
extern const char *const kNoAssembly;

/// Writes to `target` a library with the vertices of the sources: C++, and libraries written
/// before, which it holds. `flags` are g++'s; those that only Graphcore's popc knows are left out.
/// Raises CompileError.
void compileCodelets(const std::vector<std::string> &sources, const std::vector<std::string> &flags,
                     const std::string &target);

/// Whether the flag hands the word after it to a tool that there is not here: both are left out.
bool isForOtherTool(const std::string &flag);
/// The flags of a command line, split at blanks.
std::vector<std::string> splitFlags(const std::string &flags);
/// The directories `include` and `lib` of this emulator.
std::string includeDirectory();
std::string libraryDirectory();
/// The C++ compiler: $CXX, else g++; with its arguments.
std::string compilerCommand();
/// Compiler, flags and sources after preprocessing: what a cached result depends on.
std::string fingerprint(const std::vector<std::string> &sources,
                        const std::vector<std::string> &flags);

} // namespace popc

#endif
