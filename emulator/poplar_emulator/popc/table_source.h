#ifndef IPULSE_POPC_TABLE_SOURCE_H
#define IPULSE_POPC_TABLE_SOURCE_H

#include <cstddef>
#include <string>
#include <vector>

#include "declarations.h"

namespace popc {

/// Code that describes the vertices of the source it includes, as one unit of a library: a function
/// popc_describe_<unit> and, for each vertex, popc_compute_<unit>_<n>.
std::string tableSource(const std::string &source, const Declarations &found, unsigned unit);
/// Code that describes the vertices of all units, popc_describe, which takes a pointer to the same
/// vector as theirs, and holds other libraries as they are, popc_part.
std::string collectSource(std::size_t units, const std::vector<std::string> &parts);

} // namespace popc

#endif
