#ifndef IPULSE_POPC_TABLE_SOURCE_H
#define IPULSE_POPC_TABLE_SOURCE_H

#include <cstddef>
#include <string>
#include <vector>

#include "parser/declarations.h"

namespace popc {

/// The symbol that a codelet file must define to be loaded. Raise its number with any change of
/// VertexTable or Counters.
constexpr const char *kFormat = "popc_format_4";

/// Generates code that describes the vertices of the source it includes, as one unit of a library:
/// a function popc_describe_<unit> and, for each vertex, the function of computeName.
std::string tableSource(const std::string &source, const Declarations &found, unsigned unit);
/// Generates code that describes the vertices of all units, popc_describe, with the same vector as
/// argument, and that contains other libraries unchanged: popc_part, and, unless its path is empty,
/// popc_device, the library of the same sources for a device.
std::string collectSource(std::size_t units, const std::vector<std::string> &parts,
                          const std::string &device);

} // namespace popc

#endif
