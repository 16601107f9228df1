#ifndef IPULSE_EMULATOR_REPORT_FILES_H
#define IPULSE_EMULATOR_REPORT_FILES_H

#include <string>

#include "executable/compiled.h"

namespace poplar::emulator {

class Session;

/// Writes the reports of the autoReport.* options and those for `ipulse emulate`, in the directory
/// $IPULSE_EMULATOR_REPORTS for the first engine and in its subdirectories 2, 3, ... for others.
/// Returns the path of the profile that autoReport wrote, or an empty string. Raises poplar_error
/// if a file cannot be written.
std::string writeReports(const Compiled &compiled, const Session *session);

/// Registers a session; if it is still open when the program ends, it is reported then.
void openReports(const Session &session);
/// Reports and unregisters a session; errors are printed on standard error.
void closeReports(const Session &session);

} // namespace poplar::emulator

#endif
