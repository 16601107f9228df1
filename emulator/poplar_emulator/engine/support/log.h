#ifndef IPULSE_EMULATOR_LOG_H
#define IPULSE_EMULATOR_LOG_H

#include <sstream>
#include <string>

namespace poplar::emulator {

enum class LogModule { Codelets, Engine, Graph, Profiler, Program, Target, Tensor };
enum class LogLevel { Trace, Debug, Info, Warn, Err, Off };

/// Returns whether $POPLAR_<MODULE>_LOG_LEVEL, else $POPLAR_LOG_LEVEL, enables this level.
bool isLogged(LogModule module, LogLevel level);
/// Writes a line to $POPLAR_LOG_DEST: stdout, stderr (the default) or a file.
void writeLog(LogModule module, LogLevel level, const std::string &text);

/// Logs its parts, one after the other.
template <typename... T> void log(LogModule module, LogLevel level, const T &...parts) {
  if (!isLogged(module, level))
    return;
  std::ostringstream text;
  (text << ... << parts);
  writeLog(module, level, text.str());
}

} // namespace poplar::emulator

#endif
