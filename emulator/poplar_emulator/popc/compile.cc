#include "compile.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "counted_assembly.h"
#include "declarations.h"
#include "shell.h"
#include "table_source.h"

namespace popc {
namespace {

// No vector instructions of the host: the codelet chooses its own vector width. The tables access
// private fields without a friend declaration.
const std::vector<std::string> kFlags{
    "-std=c++17", "-O2", "-fPIC", "-fno-tree-vectorize", "-fno-tree-slp-vectorize",
    "-fno-access-control", "-fno-exceptions", "-fno-stack-protector", "-fno-math-errno",
    "-ffp-contract=off", "-fcf-protection=none", "-fno-asynchronous-unwind-tables",
    "-Wno-attributes", "-Wno-invalid-offsetof", "-Wno-unknown-pragmas", "-include",
    "ipu_builtins.h", "-DPOPC_COUNTED", "-D__POPC__=1",
    // __attribute__((target("worker"))): no target of the host's
    "-Dtarget(KIND)=unused"};

// Flags of one compiler only: half is rounded after every operation, and loops are not unrolled.
const std::vector<std::string> kGccFlags{"-fexcess-precision=16"};
const std::vector<std::string> kClangFlags{"-Xclang", "-fnative-half-type", "-Xclang",
                                           "-fallow-half-arguments-and-returns",
                                           "-fno-unroll-loops"};

/// Returns the compiler's version text.
std::string compilerVersion() { return run(compilerCommand(), {"--version"}).output; }

/// Instructions have 4 bytes on a tile (assembly guide).
std::string codeBytes(const CountedAssembly &counted, std::size_t entries, unsigned unit) {
  std::ostringstream text;
  const std::string unitName = std::to_string(unit);
  text << "\t.section .rodata\n\t.globl popc_code_bytes_" << unit
       << "\n\t.align 8\npopc_code_bytes_" << unit << ":\n";
  for (std::size_t n = 0; n < entries; ++n) {
    const auto found =
        counted.instructions.find("popc_compute_" + unitName + "_" + std::to_string(n));
    text << "\t.quad " << (found == counted.instructions.end() ? 0 : 4 * found->second) << "\n";
  }
  text << "\t.quad 0\n\t.section .note.GNU-stack,\"\",@progbits\n";
  return text.str();
}

/// Selects the user's flags, without those for Graphcore's popc or for clang, and without warnings,
/// which this compiler does not share.
std::vector<std::string> takenFlags(const std::vector<std::string> &flags) {
  std::vector<std::string> taken;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::string &flag = flags[i];
    if (isForOtherTool(flag)) {
      ++i;
      continue;
    }
    static const char *const left[] = {"--target", "-O", "-g",        "-W",     "-mcpu", "-march",
                                       "-X",       "-v", "--verbose", "-ffast", "-flto"};
    const bool leave = std::any_of(std::begin(left), std::end(left), [&](const char *prefix) {
      return flag.compare(0, std::string(prefix).size(), prefix) == 0;
    });
    if (!leave)
      taken.push_back(flag);
  }
  return taken;
}

std::vector<std::string> allFlags(const std::vector<std::string> &flags) {
  std::vector<std::string> all = kFlags;
  const bool clang = compilerVersion().find("clang") != std::string::npos;
  const std::vector<std::string> &own = clang ? kClangFlags : kGccFlags;
  all.insert(all.end(), own.begin(), own.end());
  all.push_back("-I" + includeDirectory());
  const std::vector<std::string> taken = takenFlags(flags);
  all.insert(all.end(), taken.begin(), taken.end());
  return all;
}

/// Explains an error that is caused by a missing feature of this emulator.
std::string hint(const std::string &output) {
  if (output.find("__builtin_ipu_") != std::string::npos)
    return "popc: not every intrinsic of a tile is emulated, and ipu_builtins.h has those that "
           "are: "
           "put others between #ifdef __IPU__ and #else, with C++ that does the same before "
           "#endif. __IPU__ is not defined here, as on Poplar's IPU model\n";
  if (output.find("Error: ") != std::string::npos ||
      output.find("<inline asm>") != std::string::npos ||
      output.find("in an 'asm'") != std::string::npos)
    return std::string("popc: ") + kNoAssembly + "\n";
  return "";
}

bool isLibrary(const std::string &source) {
  return std::filesystem::path(source).extension() == ".gp";
}

void checkKind(const std::string &source) {
  const std::string suffix = std::filesystem::path(source).extension();
  if (suffix == ".S" || suffix == ".s")
    throw CompileError("'" + source + "' is assembly, and " + kNoAssembly, "");
  if (isLibrary(source) && !std::filesystem::exists(source))
    throw CompileError("'" + source + "' does not exist", "");
}

void runOrThrow(const std::vector<std::string> &arguments, const std::string &what) {
  const Outcome outcome = run(compilerCommand(), arguments);
  if (outcome.status != 0)
    throw CompileError(what, outcome.output + hint(outcome.output));
}

std::string preprocessed(const std::string &source, const std::vector<std::string> &flags) {
  // To a file, because the compiler's messages must not mix with the text.
  const ScratchDirectory scratch;
  const std::string text = scratch.file("preprocessed");
  std::vector<std::string> arguments = allFlags(flags);
  arguments.insert(arguments.end(), {"-E", "-P", "-x", "c++", source, "-o", text});
  runOrThrow(arguments, "codelets cannot be compiled: " + source);
  return readFile(text);
}

} // namespace

const char *const kNoAssembly =
    "assembly of a tile is not emulated: put it between #ifdef __IPU__ and #else, with C++ that "
    "does "
    "the same before #endif. __IPU__ is not defined here, as on Poplar's IPU model";

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

std::string fingerprint(const std::vector<std::string> &sources,
                        const std::vector<std::string> &flags) {
  std::string text = compilerCommand() + compilerVersion();
  for (const std::string &flag : allFlags(flags))
    text += flag + "\n";
  for (const std::string &source : sources)
    text += source + "\n" + preprocessed(source, flags);
  return text;
}

void compileCodelets(const std::vector<std::string> &sources, const std::vector<std::string> &flags,
                     const std::string &target) {
#if !defined(__x86_64__)
  throw CompileError("popc counts the instructions of x86-64 and this machine is another", "");
#endif
  std::for_each(sources.begin(), sources.end(), checkKind);
  const ScratchDirectory scratch;
  std::vector<std::string> objects, parts;
  for (const std::string &given : sources) {
    const std::string source = std::filesystem::absolute(given).string();
    if (isLibrary(source)) {
      // The name must be valid in a string of an assembly file.
      parts.push_back(scratch.file("part" + std::to_string(parts.size())));
      std::filesystem::copy_file(source, parts.back());
      continue;
    }
    const std::size_t unit = objects.size();
    const Declarations found = findDeclarations(preprocessed(source, flags));
    const std::string base = scratch.file("unit" + std::to_string(unit));
    writeFile(base + ".cc", tableSource(source, found, static_cast<unsigned>(unit)));
    std::vector<std::string> arguments = allFlags(flags);
    arguments.insert(arguments.end(),
                     {"-fsanitize-coverage=trace-pc", "-S", "-o", base + ".s", base + ".cc"});
    runOrThrow(arguments, "codelets cannot be compiled: " + source);
    const CountedAssembly counted = countBlocks(readFile(base + ".s"));
    writeFile(base + ".counted.s",
              counted.text + codeBytes(counted, found.vertices.size() + found.instantiations.size(),
                                       static_cast<unsigned>(unit)));
    objects.push_back(base + ".counted.s");
  }
  const std::string collect = scratch.file("collect.cc");
  writeFile(collect, collectSource(objects.size(), parts));
  std::vector<std::string> arguments = takenFlags(flags);
  arguments.insert(arguments.end(), {"-fPIC", "-shared", "-o", target, collect});
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  arguments.insert(arguments.end(), {"-L" + libraryDirectory(), "-lpoplar"});
  runOrThrow(arguments, "codelets cannot be linked");
}

} // namespace popc
