#include "compile.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "assembly/function_tables.h"
#include "assembly/worker_launches.h"
#include "compile_unit.h"
#include "compiler.h"
#include "compute_name.h"
#include "parser/declarations.h"
#include "parser/ext_vectors.h"
#include "shell.h"
#include "starts_with.h"
#include "table_source.h"

namespace popc {
namespace {

/// The pass of a device, after that of the CPU and the model.
const std::vector<std::string> kDeviceFlags{"-D__IPU__=1", "-D__IPU_ARCH_VERSION__=2", "-include",
                                            "ipudef.h"};

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

struct Preprocessed {
  std::string text;
  bool namesDevice; // whether the source or a header of the user names __IPU__
};

Preprocessed preprocess(const std::string &source, const std::vector<std::string> &flags) {
  // To files, because the compiler's messages must not mix with the text.
  const ScratchDirectory scratch;
  const std::string text = scratch.file("preprocessed"), dependencies = scratch.file("headers");
  std::vector<std::string> arguments = allFlags(flags);
  arguments.insert(arguments.end(),
                   {"-E", "-P", "-MMD", "-MF", dependencies, "-x", "c++", source, "-o", text});
  runOrThrow(arguments, "codelets cannot be compiled: " + source);
  Preprocessed result{readFile(text), false};
  std::istringstream words(readFile(dependencies));
  for (std::string path; words >> path;)
    if (!startsWith(path, includeDirectory()) && std::filesystem::exists(path))
      result.namesDevice |= readFile(path).find("__IPU_") != std::string::npos;
  return result;
}

} // namespace

std::string fingerprint(const std::vector<std::string> &sources,
                        const std::vector<std::string> &flags) {
  std::string text = compilerCommand() + compilerVersion();
  for (const std::string &flag : allFlags(flags))
    text += flag + "\n";
  bool namesDevice = false;
  for (const std::string &source : sources) {
    const Preprocessed unit = preprocess(source, flags);
    text += source + "\n" + unit.text;
    namesDevice |= unit.namesDevice;
  }
  if (namesDevice) {
    std::vector<std::string> device = flags;
    device.insert(device.end(), kDeviceFlags.begin(), kDeviceFlags.end());
    for (const std::string &source : sources)
      try {
        text += preprocess(source, device).text;
      } catch (const CompileError &error) {
        text += error.output; // as an #error of the user's
      }
  }
  return text;
}

namespace {

/// Returns the names of the compute functions of a unit by those of their classes.
std::map<std::string, std::string> computeFunctions(const Declarations &found, unsigned unit) {
  std::map<std::string, std::string> functions;
  unsigned n = 0;
  for (const VertexClass &vertex : found.vertices)
    if (!vertex.isTemplate)
      functions[vertex.name] = computeName(unit, n++);
  return functions;
}

/// Returns a warning if fields have a value in their class: no constructor runs on a tile.
std::string ignoredValues(const Declarations &found) {
  std::string fields;
  for (const VertexClass &vertex : found.vertices)
    for (const std::string &field : vertex.initialised)
      fields += (fields.empty() ? "" : ", ") + vertex.name + "." + field;
  return fields.empty() ? ""
                        : "vertices have no constructor, and so these fields begin at 0 unless "
                          "Graph::setInitialValue sets them: " +
                              fields;
}

/// Returns a warning if classes have const fields and declare no constructor: the SDK's compiler
/// warns of each.
std::string missingConstructors(const Declarations &found) {
  std::string classes;
  for (const VertexClass &vertex : found.vertices)
    if (!vertex.constants.empty() && !vertex.hasConstructor)
      classes += (classes.empty() ? "" : ", ") + vertex.name + "();";
  return classes.empty() ? ""
                         : "classes do not declare any constructor to initialize their "
                           "non-modifiable members; declare, without a body: " +
                               classes;
}

std::string joinedWarnings(const std::string &a, const std::string &b) {
  return a.empty() || b.empty() ? a + b : a + "\npopc: warning: " + b;
}

/// Returns a warning, or "".
std::string compilePass(const std::vector<std::string> &sources,
                        const std::vector<std::string> &flags, const std::string &target,
                        const std::string &device) {
  std::string warning;
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
    const unsigned unit = static_cast<unsigned>(objects.size());
    const std::string text = preprocess(source, flags).text;
    const Declarations found = findDeclarations(text);
    if (warning.empty())
      warning = joinedWarnings(ignoredValues(found), missingConstructors(found));
    const std::string base = scratch.file("unit" + std::to_string(unit));
    writeFile(base + ".cc", tableSource(source, found, unit));
    compileUnit(source, flags, base, !isClang() && hasExtVectors(text));
    const std::string assembly =
        withWorkerLaunches(readFile(base + ".s"), computeFunctions(found, unit));
    const CountedAssembly counted = countBlocks(assembly);
    writeFile(base + ".counted.s",
              counted.text + functionTables(counted, CallGraph(assembly),
                                            found.vertices.size() + found.instantiations.size(),
                                            unit));
    objects.push_back(base + ".counted.s");
  }
  const std::string collect = scratch.file("collect.cc");
  writeFile(collect, collectSource(objects.size(), parts, device));
  std::vector<std::string> arguments = takenFlags(flags);
  arguments.insert(arguments.end(),
                   {"-I" + includeDirectory(), "-fPIC", "-shared", "-o", target, collect});
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  arguments.insert(arguments.end(), {"-L" + libraryDirectory(), "-lpoplar"});
  runOrThrow(arguments, "codelets cannot be linked");
  return warning;
}

} // namespace

std::string compileCodelets(const std::vector<std::string> &sources,
                            const std::vector<std::string> &flags, const std::string &target) {
#if !defined(__x86_64__)
  throw CompileError("popc counts the instructions of x86-64 and this machine is another", "");
#endif
  std::for_each(sources.begin(), sources.end(), checkKind);
  if (std::none_of(sources.begin(), sources.end(), [&](const std::string &source) {
        return !isLibrary(source) && preprocess(source, flags).namesDevice;
      })) {
    return compilePass(sources, flags, target, "");
  }
  const ScratchDirectory scratch;
  std::vector<std::string> deviceFlags = flags, own;
  deviceFlags.insert(deviceFlags.end(), kDeviceFlags.begin(), kDeviceFlags.end());
  std::copy_if(sources.begin(), sources.end(), std::back_inserter(own),
               [](const std::string &source) { return !isLibrary(source); });
  std::string device = scratch.file("device"), refused, warning;
  try {
    compilePass(own, deviceFlags, device, "");
  } catch (const CompileError &error) {
    refused = error.output;
    device.clear();
  }
  try {
    warning = compilePass(sources, flags, target, device);
  } catch (const CompileError &error) {
    if (device.empty() && refused == error.output)
      throw;
    if (device.empty())
      throw CompileError(error.what(), error.output + "and with __IPU__ defined:\n" + refused);
    compilePass(sources, deviceFlags, target, "");
    return "the part of the codelets for the CPU cannot be compiled: an IPUModel gets that for "
           "the IPU";
  }
  return device.empty() ? "the part of the codelets under __IPU__ is not emulated, and graphs for "
                          "an IPU get the other one: " +
                              refused.substr(0, refused.find('\n'))
                        : warning;
}

} // namespace popc
