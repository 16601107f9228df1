#ifndef poplar_TensorCloneMethod_hpp
#define poplar_TensorCloneMethod_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <string>

namespace poplar {

enum class TensorCloneMethod {
  PRESERVE_ORDER_AND_ALIASES,
  CREATE_NEW_ORDER,
  PRESERVE_ORDER_UNLESS_ALIASES,
  GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES,
};
std::string toString(const TensorCloneMethod &method);

} // namespace poplar

#endif
