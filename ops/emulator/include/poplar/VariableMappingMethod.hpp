#ifndef poplar_VariableMappingMethod_hpp
#define poplar_VariableMappingMethod_hpp

#include <string>

namespace poplar {

enum class VariableMappingMethod { NONE, LINEAR };
std::string toString(const VariableMappingMethod &method);

} // namespace poplar

#endif
