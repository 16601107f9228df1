#include "report_files.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <mutex>
#include <vector>

#include <poplar/exceptions.hpp>

#include "profile.h"
#include "session/engine_options.h"
#include "session/session.h"
#include "support/log.h"

namespace poplar::emulator {
namespace {

namespace fs = std::filesystem;

constexpr int kAborted = 134; // what a shell makes of SIGABRT

/// The open sessions of the process; never destroyed, because engines may be static.
struct Open {
  std::mutex mutex;
  std::vector<const Session *> sessions;
  unsigned reported = 0;
};
Open &open() {
  static Open *kept = new Open;
  return *kept;
}

void writeFile(const fs::path &path, const std::function<void(std::ostream &)> &write) {
  fs::create_directories(path.parent_path());
  const fs::path partial = path.string() + ".partial";
  std::ofstream out(partial, std::ios::binary);
  write(out);
  if (!out.flush())
    throw poplar_error("cannot write " + partial.string());
  out.close();
  fs::rename(partial, path);
  log(LogModule::Profiler, LogLevel::Info, "wrote ", path.string());
}

/// Writes the files of the SDK's options, of which the emulator supports one.
std::string writeAutoReport(const Compiled &compiled, const Session *session) {
  const OptionFlags &options = compiled.options;
  for (const char *other : {"outputLoweredVars", "outputArchive", "outputSerializedGraph"})
    if (isReported(options, std::string("autoReport.") + other))
      log(LogModule::Profiler, LogLevel::Warn, "autoReport.", other, " has no file here");
  const bool graph = isReported(options, "autoReport.outputGraphProfile");
  const bool execution = isReported(options, "autoReport.outputExecutionProfile");
  if (!graph && !execution)
    return "";
  ProfileValue profile;
  profile.insert("emulated", true);
  if (graph)
    profile.insert("compilation", compilationOf(compiled));
  if (execution && session)
    profile.insert("execution", executionOf(*session));
  const std::string name = session ? session->getName() : "";
  const fs::path directory = valueOr(options, "autoReport.directory", "./");
  const fs::path path = fs::absolute(directory / name / "profile.json");
  writeFile(path, [&](std::ostream &out) { serializeToJSON(out, profile); });
  return path.string();
}

/// Writes the files for `ipulse emulate`.
void writeForCommand(const Compiled &compiled, const Session *session) {
  const char *named = std::getenv("IPULSE_EMULATOR_REPORTS");
  if (!named || !*named)
    return;
  const unsigned number = ++open().reported;
  const fs::path directory =
      number == 1 ? fs::path(named) : fs::path(named) / std::to_string(number);
  const ProfileValue profile = profileOf(compiled, session);
  writeFile(directory / "profile.json", [&](std::ostream &out) { serializeToJSON(out, profile); });
  OptionFlags shown;
  if (const char *options = std::getenv("IPULSE_EMULATOR_SUMMARY"))
    readJSON(options, shown);
  writeFile(directory / "summary.txt",
            [&](std::ostream &out) { printSummary(out, profile, shown); });
}

void report(const Session &session) noexcept {
  try {
    writeReports(session.getCompiled(), &session);
  } catch (const std::exception &error) {
    std::cerr << "the profile was not written: " << error.what() << '\n';
  }
}

void reportAll() {
  std::vector<const Session *> left;
  {
    const std::lock_guard<std::mutex> lock(open().mutex);
    left.swap(open().sessions);
  }
  for (const Session *session : left)
    report(*session);
}

std::string classOf(const std::exception &error) {
  int status = 0;
  char *name = abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status);
  const std::string result = name ? name : typeid(error).name();
  std::free(name);
  return result;
}

/// Ends the program as an uncaught exception does, and writes its class and message to a file.
[[noreturn]] void tellAndEnd() {
  ProfileValue told;
  try {
    if (const std::exception_ptr caught = std::current_exception())
      std::rethrow_exception(caught);
    told.insert("type", "std::terminate");
    told.insert("message", "the program called it");
  } catch (const std::exception &error) {
    told.insert("type", classOf(error));
    told.insert("message", error.what());
  } catch (...) {
    told.insert("type", "an exception that is no std::exception");
    told.insert("message", "");
  }
  try {
    writeFile(fs::path(std::getenv("IPULSE_EMULATOR_REPORTS")) / "exception.json",
              [&](std::ostream &out) { serializeToJSON(out, told); });
    reportAll();
  } catch (const std::exception &error) {
    std::cerr << "the exception was not reported: " << error.what() << '\n';
  }
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(kAborted);
}

// Runs when the library is loaded, before main.
__attribute__((constructor)) void watch() {
  if (std::getenv("IPULSE_EMULATOR_REPORTS"))
    std::set_terminate(tellAndEnd);
}

} // namespace

std::string writeReports(const Compiled &compiled, const Session *session) {
  writeForCommand(compiled, session);
  return writeAutoReport(compiled, session);
}

void openReports(const Session &session) {
  static const int registered = std::atexit(reportAll);
  static_cast<void>(registered);
  const std::lock_guard<std::mutex> lock(open().mutex);
  open().sessions.push_back(&session);
}

void closeReports(const Session &session) {
  {
    const std::lock_guard<std::mutex> lock(open().mutex);
    auto &sessions = open().sessions;
    const auto found = std::find(sessions.begin(), sessions.end(), &session);
    if (found == sessions.end())
      return;
    sessions.erase(found);
  }
  report(session);
}

} // namespace poplar::emulator
