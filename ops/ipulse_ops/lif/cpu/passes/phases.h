// Where the time goes: a clock around each function of a kernel, off until lif_clock_phases(1).
// While it is off the kernel itself runs, without a test or a clock in between.
#ifndef IPULSE_OPS_LIF_CPU_PHASES_H
#define IPULSE_OPS_LIF_CPU_PHASES_H

#include "kernels/kernel.h"

namespace lif {

// Returns `kernel`, or while the clock is on a copy with functions that measure their time.
const Kernel &clocked(const Kernel &kernel);

// The layer that the time counts for from now on; the readout has the number behind the last.
void enter_layer(int number);

} // namespace lif

#endif
