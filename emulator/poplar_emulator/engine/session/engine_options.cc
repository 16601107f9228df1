#include "engine_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <locale>
#include <regex>
#include <sstream>
#include <vector>

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

// Names that programs use, to recognise a misspelt one.
const char *const kNames[] = {
    "autoReport.all",
    "autoReport.directory",
    "autoReport.executionProfileProgramRunCount",
    "autoReport.outputArchive",
    "autoReport.outputDebugInfo",
    "autoReport.outputExecutionProfile",
    "autoReport.outputGraphProfile",
    "autoReport.outputLoweredVars",
    "autoReport.outputSerializedGraph",
    "autoReport.streamAtEachRun",
    "debug.allowOutOfMemory",
    "debug.branchRecordTile",
    "debug.checkBounds",
    "debug.computeInstrumentationLevel",
    "debug.cpuMultiThreadExecution",
    "debug.executionProfileDetail",
    "debug.floatPointOpException",
    "debug.instrument",
    "debug.instrumentCompute",
    "debug.instrumentControlFlow",
    "debug.instrumentExternalExchange",
    "debug.loweredVarDumpFile",
    "debug.nanOverflowMode",
    "debug.outputAllSymbols",
    "debug.poisonOutputs",
    "debug.retainDebugInformation",
    "debug.runtimeVerify",
    "debug.verify",
    "emulator.hostBytesPerSecond",
    "emulator.hostLatencySeconds",
    "exchange.enablePrefetch",
    "exchange.streamBufferOverlap",
    "opt.enableInlining",
    "opt.enableSkipSyncs",
    "opt.internalExchangeOptimisationTarget",
    "opt.maxCompilationThreads",
    "opt.maxLinkerThreads",
    "prng.enableStochasticRounding",
    "prng.seed",
    "profiler.blocks.filter",
    "profiler.format",
    "profiler.implicitFlush",
    "profiler.perExecutionStreamCopyCycles",
    "profiler.programs.filter",
    "profiler.replicaToProfile",
    "streamCallbacks.maxLookahead",
    "streamCallbacks.multiThreadMode",
    "streamCallbacks.numWorkerThreads",
    "streamCallbacks.numaAware",
    "target.deterministicWorkers",
    "target.extendedMemory",
    "target.hostSyncTimeout",
    "target.saveArchive",
    "target.syncReplicasIndependently",
};

/// Returns how many letters two names differ in: missing, added, changed or swapped ones.
std::size_t distance(const std::string &a, const std::string &b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1,
                          d[i - 1][j - 1] + (std::tolower(a[i - 1]) != std::tolower(b[j - 1]))});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// Returns words that name the option that was meant, or "" if the name is none's misspelling.
std::string didYouMean(const std::string &name) {
  const char *best = nullptr;
  std::size_t least = 3;
  for (const char *known : kNames) {
    if (name == known)
      return "";
    const std::size_t between = distance(name, known);
    if (between < least)
      best = known, least = between;
  }
  return best ? ": did you mean '" + std::string(best) + "'?" : "";
}

void check(const std::string &name, const std::string &value) {
  // The emulator accepts and ignores the options of the other families.
  static const char *const families[] = {
      "autoReport.", "debug.",  "exchange.",        "gcl.",    "opt.",           "prng.",
      "profiler.",   "report.", "streamCallbacks.", "target.", "makeFunctions.", "version.",
      "emulator."};
  const bool known = std::any_of(std::begin(families), std::end(families),
                                 [&](const char *f) { return starts(name, f); });
  const std::string meant = didYouMean(name);
  if (!known || (!meant.empty() && !starts(name, "emulator.")))
    throw invalid_option("unrecognised engine option '" + name + "'" + meant);
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
