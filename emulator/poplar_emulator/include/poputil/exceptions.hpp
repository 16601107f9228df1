#ifndef poputil_exceptions_hpp
#define poputil_exceptions_hpp

#include <stdexcept>
#include <string>

namespace poputil {

/// An error of PopLibs.
struct poplibs_error : std::runtime_error {
  std::string type;
  explicit poplibs_error(const std::string &s) : std::runtime_error(s), type("poplibs_error") {}
  explicit poplibs_error(const char *s) : poplibs_error(std::string(s)) {}
};

} // namespace poputil

#endif
