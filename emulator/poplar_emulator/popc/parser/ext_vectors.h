#ifndef IPULSE_POPC_EXT_VECTORS_H
#define IPULSE_POPC_EXT_VECTORS_H

#include <string>

namespace popc {

/// Returns whether preprocessed code declares vectors with clang's attribute ext_vector_type, which
/// g++ would ignore with a warning: the vector would be a number.
bool hasExtVectors(const std::string &preprocessed);
/// Returns the code with the classes of poplar/ExtVector.hpp for them.
std::string withExtVectors(std::string preprocessed);

} // namespace popc

#endif
