#include "engine_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <locale>
#include <regex>
#include <sstream>

#include <poplar/exceptions.hpp>

namespace poplar::emulator {
namespace {

const char *const kRunCount = "autoReport.executionProfileProgramRunCount";
const char *const kReplica = "profiler.replicaToProfile";
const char *const kBlocks = "profiler.blocks.filter";
const char *const kPrograms = "profiler.programs.filter";
const char *const kHostLink[] = {"emulator.hostBytesPerSecond", "emulator.hostLatencySeconds"};
constexpr std::uint64_t kRunsUnlessSaid = 2; // from memory

bool starts(const std::string &text, const char *prefix) {
  return text.compare(0, std::string(prefix).size(), prefix) == 0;
}

bool isSwitch(const std::string &name) {
  static const char *const switches[] = {"autoReport.all",
                                         "autoReport.outputGraphProfile",
                                         "autoReport.outputExecutionProfile",
                                         "autoReport.outputLoweredVars",
                                         "autoReport.outputArchive",
                                         "autoReport.outputSerializedGraph",
                                         "autoReport.outputDebugInfo",
                                         "autoReport.streamAtEachRun",
                                         "debug.allowOutOfMemory",
                                         "debug.checkBounds",
                                         "debug.poisonOutputs",
                                         "debug.retainDebugInformation"};
  return std::any_of(std::begin(switches), std::end(switches),
                     [&](const char *one) { return name == one; });
}

std::regex filterOf(const std::string &name, const std::string &value) {
  try {
    return std::regex(value);
  } catch (const std::regex_error &error) {
    throw invalid_option("engine option '" + name + "' is a regular expression, not \"" + value +
                         "\": " + error.what());
  }
}

double positive(const std::string &name, const std::string &value) {
  std::istringstream in(value);
  in.imbue(std::locale::classic());
  double number = 0;
  if (!(in >> number) || !in.eof() || !(number > 0) || !std::isfinite(number))
    throw invalid_option("engine option '" + name + "' is a number above 0, not \"" + value + "\"");
  return number;
}

void check(const std::string &name, const std::string &value) {
  // The emulator accepts and ignores the options of the other families.
  static const char *const families[] = {
      "autoReport.", "debug.",  "exchange.",        "gcl.",    "opt.",           "prng.",
      "profiler.",   "report.", "streamCallbacks.", "target.", "makeFunctions.", "version.",
      "emulator."};
  const bool known = std::any_of(std::begin(families), std::end(families),
                                 [&](const char *f) { return starts(name, f); });
  if (!known)
    throw invalid_option("unrecognised engine option '" + name + "'");
  if (isSwitch(name) && value != "true" && value != "false")
    throw invalid_option("engine option '" + name + "' is \"true\" or \"false\", not \"" + value +
                         "\"");
  const bool number =
      !value.empty() && value.size() < 10 &&
      std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (name == kRunCount && !number)
    throw invalid_option("engine option '" + name + "' is a number of runs, not \"" + value + "\"");
  if (name == kReplica && !number)
    throw invalid_option("engine option '" + name + "' is a replica's number, not \"" + value +
                         "\"");
  if (name == kBlocks || name == kPrograms)
    filterOf(name, value);
  if (name == kHostLink[0] || name == kHostLink[1])
    positive(name, value);
  else if (starts(name, "emulator."))
    throw invalid_option("unrecognised engine option '" + name + "': the emulator has " +
                         kHostLink[0] + " and " + kHostLink[1]);
}

} // namespace

OptionFlags completeOptions(OptionFlags options) {
  if (const char *named = std::getenv("POPLAR_ENGINE_OPTIONS"))
    if (*named)
      readJSON(named, options);
  for (const auto &option : options)
    check(option.first, option.second);
  return options;
}

std::string valueOr(const OptionFlags &options, const std::string &name,
                    const std::string &otherwise) {
  for (const auto &option : options)
    if (option.first == name)
      return option.second;
  return otherwise;
}

bool isListed(const OptionFlags &options, const ProgramNode &program, const std::string &name) {
  const auto matches = [&](const char *filter, const char *otherwise) {
    const std::string value = valueOr(options, filter, otherwise);
    return !value.empty() && std::regex_search(name, filterOf(filter, value));
  };
  return (program.block && matches(kBlocks, ".*")) || matches(kPrograms, "");
}

bool isOn(const OptionFlags &options, const std::string &name) {
  return valueOr(options, name, "false") == "true";
}

bool isReported(const OptionFlags &options, const std::string &name) {
  return valueOr(options, name, valueOr(options, "autoReport.all", "false")) == "true";
}

Machine withHostLink(Machine machine, const OptionFlags &options) {
  double *const fields[] = {&machine.hostBytesPerSecond, &machine.hostLatencySeconds};
  for (unsigned i = 0; i < 2; ++i) {
    const std::string value = valueOr(options, kHostLink[i], "");
    if (!value.empty())
      *fields[i] = positive(kHostLink[i], value);
  }
  return machine;
}

unsigned replicaProfiled(const OptionFlags &options) {
  return static_cast<unsigned>(std::stoul(valueOr(options, kReplica, "0")));
}

std::uint64_t runsProfiled(const OptionFlags &options) {
  return std::stoull(valueOr(options, kRunCount, std::to_string(kRunsUnlessSaid)));
}

} // namespace poplar::emulator
