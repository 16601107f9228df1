#ifndef IPULSE_EMULATOR_PVA_REPORT_H
#define IPULSE_EMULATOR_PVA_REPORT_H

#include <pva/pva.hpp>

#include "executable/compiled.h"

namespace poplar::emulator {

class Session;

/// Makes the profile as libpva's objects. Without a session it has no execution.
pva::Report reportOf(const Compiled &compiled, const Session *session);

} // namespace poplar::emulator

#endif
