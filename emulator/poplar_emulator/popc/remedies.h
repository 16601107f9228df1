#ifndef IPULSE_POPC_REMEDIES_H
#define IPULSE_POPC_REMEDIES_H

#include <string>
#include <vector>

namespace popc {

/// Flags that let a unit compile which the compiler refused with these words, because popc's rules
/// differ from this compiler's.
std::vector<std::string> remedies(const std::string &output);

} // namespace popc

#endif
