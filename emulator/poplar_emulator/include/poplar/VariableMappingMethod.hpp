#ifndef poplar_VariableMappingMethod_hpp
#define poplar_VariableMappingMethod_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <string>

namespace poplar {

enum class VariableMappingMethod { NONE, LINEAR };
std::string toString(const VariableMappingMethod &method);

} // namespace poplar

#endif
