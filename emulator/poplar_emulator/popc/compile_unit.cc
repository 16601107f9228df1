#include "compile_unit.h"

#include <filesystem>
#include <regex>

#include "compile.h"
#include "compiler.h"
#include "parser/ext_vectors.h"
#include "remedies.h"
#include "shell.h"
#include "vector_lists.h"

namespace popc {
namespace {

/// Words as popc's for a field of a type that a vertex cannot have; "" for another error. g++ names
/// the type in `requireSupported() [with F = TYPE]`, clang++ in `requireSupported<TYPE>'`.
std::string unsupportedField(const std::string &output) {
  if (output.find("unsupported field type") == output.npos)
    return "";
  static const std::regex field("Field '(.*?)':"),
      type("requireSupported(?:\\(\\) \\[with F = (.*)\\]|<(.*)>')");
  std::smatch name, of;
  if (!std::regex_search(output, name, field) || !std::regex_search(output, of, type))
    return "";
  return "error: Field '" + name.str(1) + "' has unsupported field type '" + of.str(1) + of.str(2) +
         "'\n";
}

/// Compiles a unit again, with types before the lists that `refused` names. Returns `refused` if
/// it does not help.
Outcome compileWithTypedLists(std::vector<std::string> arguments, std::string unit,
                              const std::string &base, const Outcome &refused) {
  if (std::filesystem::path(unit).extension() != ".ii") {
    std::vector<std::string> preprocess = arguments;
    preprocess.insert(preprocess.end(), {"-E", "-o", base + ".ii", unit});
    runOrThrow(preprocess, "codelets cannot be compiled");
    unit = base + ".ii";
  }
  std::string text = withoutLineMarkers(readFile(unit));
  arguments.insert(arguments.end(), {"-S", "-o", base + ".s", unit});
  // One list may hide others, in templates above all.
  for (int round = 0; round < 16; ++round) {
    writeFile(unit, text);
    const Outcome outcome = run(compilerCommand(), arguments);
    if (outcome.status == 0)
      return outcome;
    const std::string typed = withTypedLists(text, outcome.output);
    if (typed == text)
      break;
    text = typed;
  }
  return refused;
}

} // namespace

void runOrThrow(const std::vector<std::string> &arguments, const std::string &what) {
  const Outcome outcome = run(compilerCommand(), arguments);
  if (outcome.status != 0)
    throw CompileError(what, outcome.output + hint(outcome.output));
}

void compileUnit(const std::string &source, const std::vector<std::string> &flags,
                 const std::string &base, bool extVectors) {
  const std::string what = "codelets cannot be compiled: " + source;
  std::string unit = base + ".cc";
  if (extVectors) {
    std::vector<std::string> arguments = allFlags(flags);
    for (const char *header : {"popc_cast.h", "ipudef.h", "poplar/ExtVector.hpp"})
      arguments.insert(arguments.end(), {"-include", header});
    arguments.insert(arguments.end(), {"-E", unit, "-o", base + ".ii"});
    runOrThrow(arguments, what);
    unit = base + ".ii";
    writeFile(unit, withExtVectors(readFile(unit)));
  }
  std::vector<std::string> arguments = allFlags(flags);
  arguments.emplace_back("-fsanitize-coverage=trace-pc");
  const auto compile = [&] {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"-S", "-o", base + ".s", unit});
    return run(compilerCommand(), all);
  };
  Outcome last = compile();
  // One error hides others: as long as they have remedies that were not tried.
  for (std::vector<std::string> tried; last.status != 0;) {
    const std::vector<std::string> more = remedies(last.output);
    if (more.empty() || more == tried)
      break;
    arguments.insert(arguments.begin(), more.begin(), more.end());
    tried = more;
    last = compile();
  }
  if (last.status != 0 && refusesVectorList(last.output))
    last = compileWithTypedLists(arguments, unit, base, last);
  if (last.status != 0)
    throw CompileError(what, unsupportedField(last.output) + last.output + hint(last.output));
}

} // namespace popc
