#ifndef popops_CollectiveTypes_hpp
#define popops_CollectiveTypes_hpp

#include <gcl/CollectiveTypes.hpp>

namespace popops {

using gcl::Chunk;
using gcl::Chunks;
using gcl::CollectiveOperator;

} // namespace popops

#endif
