#ifndef IPULSE_POPC_FUNCTION_TABLES_H
#define IPULSE_POPC_FUNCTION_TABLES_H

#include <cstddef>
#include <string>

#include "call_graph.h"
#include "counted_assembly.h"

namespace popc {

/// Returns assembly with two tables of the `entries` functions of computeName:
/// popc_code_bytes_<unit>, of 4 bytes for each instruction (assembly guide), and
/// popc_problems_<unit>, of two texts for each function, the errors of LinkProblems or null.
std::string functionTables(const CountedAssembly &counted, const CallGraph &calls,
                           std::size_t entries, unsigned unit);

} // namespace popc

#endif
