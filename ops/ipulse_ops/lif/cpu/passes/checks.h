// Checks of a call. Each returns false and writes the reason if an argument is invalid.
#ifndef IPULSE_OPS_LIF_CPU_CHECKS_H
#define IPULSE_OPS_LIF_CPU_CHECKS_H

#include "kernels/kernel.h"
#include "support/message.h"

namespace lif {

bool check_network(const LifNetwork &network, const Message &message);
bool check_forward(const LifNetwork &network, const LifForward &result, const Message &message);
bool check_backward(const Kernel &kernel, const LifNetwork &network, const LifBackward &gradient,
                    const Message &message);

// Throws std::invalid_argument, which says the first mistake in the input's counts and ids. They
// are checked where they are copied, see spikes.h.
[[noreturn]] void refuse_spikes(const LifNetwork &network);

} // namespace lif

#endif
