#ifndef popops_CollectiveTypes_hpp
#define popops_CollectiveTypes_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <gcl/CollectiveTypes.hpp>

namespace popops {

using gcl::Chunk;
using gcl::Chunks;
using gcl::CollectiveOperator;

} // namespace popops

#endif
