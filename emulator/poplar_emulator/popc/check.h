#ifndef IPULSE_POPC_CHECK_H
#define IPULSE_POPC_CHECK_H

#include <string>
#include <vector>

namespace popc {

/// Compiles each source on its own, keeps no library, and prints one line a source with the
/// messages of those that are refused. `report` is the path of a JUnit file to write, or "".
/// Returns whether all compile. Throws std::runtime_error if the report cannot be written.
bool checkSources(const std::vector<std::string> &sources, const std::vector<std::string> &flags,
                  const std::string &report);

} // namespace popc

#endif
