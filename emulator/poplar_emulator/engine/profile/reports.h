#ifndef IPULSE_EMULATOR_REPORTS_H
#define IPULSE_EMULATOR_REPORTS_H

#include <string>

#include "executable/compiled.h"

namespace poplar::emulator {

class Session;

/// Writes what autoReport.* asks for, and for `ipulse emulate` what $IPULSE_EMULATOR_REPORTS asks
/// for: into that directory for the first engine, into its subdirectories 2, 3, ... for others.
/// The path of the profile that autoReport wrote; empty if it asks for none. Raises poplar_error
/// when a file cannot be written.
std::string writeReports(const Compiled &compiled, const Session *session);

/// Sessions that nobody has closed when the program ends are reported then.
void openReports(const Session &session);
/// Reports and forgets a session; what goes wrong is told on standard error.
void closeReports(const Session &session);

} // namespace poplar::emulator

#endif
