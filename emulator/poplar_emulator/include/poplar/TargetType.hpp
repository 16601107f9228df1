#ifndef poplar_TargetType_hpp
#define poplar_TargetType_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <ostream>
#include <string>

namespace poplar {

enum class TargetType { IPU, IPU_MODEL, CPU };
std::string toString(TargetType t);
inline std::ostream &operator<<(std::ostream &os, TargetType t) { return os << toString(t); }

} // namespace poplar

#endif
