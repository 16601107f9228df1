#ifndef poputil_DebugInfo_hpp
#define poputil_DebugInfo_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <string>

#include <poplar/DebugContext.hpp>
#include <poplar/Tensor.hpp>

/// The arguments of a function for its PoplibsOpDebugInfo; they are not recorded here.
#define DI_ARGS(...)                                                                               \
  {                                                                                                \
  }
#define DI_KEYS(...)                                                                               \
  {                                                                                                \
  }

namespace poputil {

struct ArgType {};

/// Debug information of an operation of PopLibs: its name.
class PoplibsOpDebugInfo : public poplar::DebugInfo {
public:
  PoplibsOpDebugInfo(const poplar::DebugContext &debugContext, ArgType = {},
                     const std::string &api = "")
      : poplar::DebugInfo(debugContext, api) {}
  void addOutput(const poplar::Tensor &) {}
  template <typename T> void addOutputs(const T &) {}
};

} // namespace poputil

#endif
