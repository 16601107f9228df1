#ifndef IPULSE_POPC_COMPILE_H
#define IPULSE_POPC_COMPILE_H

#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace popc {

/// The sources are not codelets, or the compiler rejected them. `output` is the compiler's.
struct CompileError : public std::runtime_error {
  CompileError(const std::string &what, std::string output)
      : std::runtime_error(what), output(std::move(output)) {}
  std::string output;
};

/// Explains why codelets in assembly are rejected, and what to do.
extern const std::string kNoAssembly;

/// Writes a library with the vertices of the sources to `target`. Sources are C++ files and
/// existing libraries, which become part of it. `flags` are g++'s; those that only Graphcore's popc
/// knows are ignored. Sources that name __IPU__ are compiled twice, once with it defined, and
/// graphs for an IPU get those. Returns a warning for the log, or "". Raises CompileError.
std::string compileCodelets(const std::vector<std::string> &sources,
                            const std::vector<std::string> &flags, const std::string &target);

/// Returns whether the flag and its value are for a tool that does not exist here; both are
/// ignored.
bool isForOtherTool(const std::string &flag);
/// Splits a command line at blanks.
std::vector<std::string> splitFlags(const std::string &flags);
/// Return the directories `include` and `lib` of this emulator.
std::string includeDirectory();
std::string libraryDirectory();
/// Returns the C++ compiler with its arguments: $CXX, else g++.
std::string compilerCommand();
/// Returns everything a cached result depends on: compiler, flags and preprocessed sources.
std::string fingerprint(const std::vector<std::string> &sources,
                        const std::vector<std::string> &flags);

} // namespace popc

#endif
