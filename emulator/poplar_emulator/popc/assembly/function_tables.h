#ifndef IPULSE_POPC_FUNCTION_TABLES_H
#define IPULSE_POPC_FUNCTION_TABLES_H

#include <cstddef>
#include <string>

#include "call_graph.h"
#include "counted_assembly.h"

namespace popc {

/// Returns assembly with three tables of the `entries` functions of computeName:
/// popc_bytes_<unit>, of two numbers for each function: the bytes of its code, 4 for each
/// instruction (assembly guide), and of its stack; popc_problems_<unit>, of two texts for each
/// function, the errors of LinkProblems or null; popc_data_<unit>, of a pointer for each function
/// to pairs, the address of static data and its bytes, with an address of null at the end.
std::string functionTables(const CountedAssembly &counted, const CallGraph &calls,
                           std::size_t entries, unsigned unit);

} // namespace popc

#endif
