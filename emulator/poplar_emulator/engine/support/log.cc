#include "log.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>

namespace poplar::emulator {
namespace {

constexpr const char *kModules[] = {"CODELETS", "ENGINE", "GRAPH", "PROFILER",
                                    "PROGRAM",  "TARGET", "TENSOR"};
constexpr const char *kLevels[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERR", "OFF"};

std::string environment(const std::string &name) {
  const char *value = std::getenv(name.c_str());
  return value ? value : "";
}

/// Parses a level; for an invalid one it returns Off and logs a message.
LogLevel levelNamed(const std::string &variable, const std::string &value) {
  for (std::size_t i = 0; i < std::size(kLevels); ++i)
    if (value == kLevels[i])
      return static_cast<LogLevel>(i);
  std::cerr << variable << " is '" << value
            << "': expected OFF, ERR, WARN, INFO, DEBUG or TRACE; nothing is logged\n";
  return LogLevel::Off;
}

struct Settings {
  LogLevel levels[std::size(kModules)];
  std::ofstream file;
  std::ostream *out = &std::cerr;

  Settings() {
    const std::string all = environment("POPLAR_LOG_LEVEL");
    const LogLevel common = all.empty() ? LogLevel::Off : levelNamed("POPLAR_LOG_LEVEL", all);
    for (std::size_t m = 0; m < std::size(kModules); ++m) {
      const std::string variable = std::string("POPLAR_") + kModules[m] + "_LOG_LEVEL";
      const std::string own = environment(variable);
      levels[m] = own.empty() ? common : levelNamed(variable, own);
    }
    const std::string where = environment("POPLAR_LOG_DEST");
    if (where == "stdout") {
      out = &std::cout;
    } else if (!where.empty() && where != "stderr") {
      file.open(where, std::ios::app);
      if (file)
        out = &file;
      else
        std::cerr << "POPLAR_LOG_DEST: cannot write " << where << "; logging to stderr\n";
    }
  }
};

Settings &settings() {
  // Never destroyed: static engines log while the process exits.
  static Settings *kept = new Settings;
  return *kept;
}

} // namespace

bool isLogged(LogModule module, LogLevel level) {
  return level >= settings().levels[static_cast<std::size_t>(module)];
}

void writeLog(LogModule module, LogLevel level, const std::string &text) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  *settings().out << "PO:" << kModules[static_cast<std::size_t>(module)] << ' '
                  << kLevels[static_cast<std::size_t>(level)] << ": " << text << std::endl;
}

} // namespace poplar::emulator
