#ifndef IPULSE_POPC_WORKER_LAUNCHES_H
#define IPULSE_POPC_WORKER_LAUNCHES_H

#include <map>
#include <string>

namespace popc {

/// Replaces instructions of a tile by which a supervisor runs the workers: `runall`, with a
/// preceding `setzi` of its code, becomes a call of popc_run_workers, and `sync`, which waits for
/// them, becomes nothing, because that call has run them. Others stay, for the assembler to refuse.
/// functions: the compute functions of the unit by the name of their vertex, as in
/// `__runCodelet_NAME`.
std::string withWorkerLaunches(const std::string &assembly,
                               const std::map<std::string, std::string> &functions);

} // namespace popc

#endif
