#include "compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "compile.h"
#include "shell.h"
#include "starts_with.h"
#include "support/sanitize.h"

namespace popc {
namespace {

// No vector instructions of the host: the codelet chooses its own vector width. The tables access
// private fields without a friend declaration.
const std::vector<std::string> kFlags{
    "-std=c++17", "-O2", "-fPIC", "-fno-tree-vectorize", "-fno-tree-slp-vectorize",
    "-fno-access-control", "-fno-exceptions", "-fno-stack-protector", "-fno-stack-clash-protection",
    "-fno-math-errno", "-ffp-contract=off", "-fcf-protection=none",
    "-fno-asynchronous-unwind-tables", "-Wno-attributes", "-Wno-invalid-offsetof",
    "-Wno-unknown-pragmas", "-include", "ipu_builtins.h", "-DPOPC_COUNTED", "-D__POPC__=1",
    // __attribute__((target("worker"))): no target of the host's
    "-Dtarget(KIND)=unused"};

// Flags of one compiler only: half is rounded after every operation, loops are not unrolled, and
// the heap is not optimised away.
const std::vector<std::string> kGccFlags{"-fexcess-precision=16", "-fno-allocation-dce"};
const std::vector<std::string> kClangFlags{"-Xclang", "-fnative-half-type", "-Xclang",
                                           "-fallow-half-arguments-and-returns",
                                           "-fno-unroll-loops"};

// A call before each access to memory, of functions that the emulator has. Those that check
// addresses
// (-fsanitize=address) leave out a write after a read of the same place.
const std::vector<std::string> kGccChecks{
    "-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0", "-fno-store-merging"};
const std::vector<std::string> kClangChecks{"-fsanitize=thread", "-mllvm",
                                            "-tsan-instrument-func-entry-exit=0"};

const std::string kForTileOnly =
    "between #ifdef __IPU__ and #else, with C++ that does the same before #endif, which is then "
    "compiled for every target";

} // namespace

const std::string kNoAssembly = "assembly of a tile is not emulated: put it " + kForTileOnly;

std::string compilerVersion() { return run(compilerCommand(), {"--version"}).output; }

bool isClang() { return compilerVersion().find("clang") != std::string::npos; }

std::vector<std::string> takenFlags(const std::vector<std::string> &flags) {
  std::vector<std::string> taken;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::string &flag = flags[i];
    if (isForOtherTool(flag)) {
      ++i;
      continue;
    }
    static const char *const left[] = {"--target", "-target", "-O", "-g",        "-W",     "-mcpu",
                                       "-march",   "-X",      "-v", "--verbose", "-ffast", "-flto"};
    const bool leave = std::any_of(std::begin(left), std::end(left),
                                   [&](const char *prefix) { return startsWith(flag, prefix); });
    if (!leave)
      taken.push_back(flag);
  }
  return taken;
}

std::vector<std::string> allFlags(const std::vector<std::string> &flags) {
  std::vector<std::string> all = kFlags;
  const std::vector<std::string> &own = isClang() ? kClangFlags : kGccFlags;
  all.insert(all.end(), own.begin(), own.end());
  if (poplar::emulator::sanitizes()) {
    const std::vector<std::string> &checks = isClang() ? kClangChecks : kGccChecks;
    all.insert(all.end(), checks.begin(), checks.end());
  }
  all.push_back("-I" + includeDirectory());
  // Codelets may write <Vertex.hpp>.
  all.insert(all.end(), {"-idirafter", includeDirectory() + "/poplar"});
  const std::vector<std::string> taken = takenFlags(flags);
  all.insert(all.end(), taken.begin(), taken.end());
  return all;
}

std::string hint(const std::string &output) {
  if (output.find("__builtin_ipu_") != std::string::npos)
    return "popc: not every intrinsic of a tile is emulated; ipu_builtins.h has those that are: "
           "put others " +
           kForTileOnly + "\n";
  if (output.find("Error: ") != std::string::npos ||
      output.find("<inline asm>") != std::string::npos ||
      output.find("in an 'asm'") != std::string::npos)
    return "popc: " + kNoAssembly + "\n";
  return "";
}

std::string libraryDirectory() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&compilerCommand), &info))
    throw std::runtime_error("the emulator's library cannot find itself");
  return std::filesystem::weakly_canonical(info.dli_fname).parent_path().string();
}

std::string includeDirectory() {
  return (std::filesystem::path(libraryDirectory()).parent_path() / "include").string();
}

std::string compilerCommand() {
  const char *named = std::getenv("CXX");
  return named && *named ? named : "g++";
}

bool isForOtherTool(const std::string &flag) {
  return flag == "-mllvm" || flag == "-Xclang" || flag == "-Xlinker" || flag == "-X";
}

std::vector<std::string> splitFlags(const std::string &flags) {
  std::istringstream words(flags);
  std::vector<std::string> result;
  for (std::string word; words >> word;)
    result.push_back(word);
  return result;
}

} // namespace popc
