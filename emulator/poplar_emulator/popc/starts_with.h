#ifndef IPULSE_POPC_STARTS_WITH_H
#define IPULSE_POPC_STARTS_WITH_H

#include <string>
#include <string_view>

namespace popc {

inline bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

} // namespace popc

#endif
