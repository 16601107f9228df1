#ifndef popnn_NonLinearityDefUtil_hpp
#define popnn_NonLinearityDefUtil_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <istream>
#include <ostream>

#include <popnn/NonLinearityDef.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>

namespace popnn {

const char *asString(const NonLinearityType &type);
std::ostream &operator<<(std::ostream &os, const NonLinearityType &type);
/// Sets failbit for an unknown name.
std::istream &operator>>(std::istream &in, NonLinearityType &type);

} // namespace popnn

#endif
