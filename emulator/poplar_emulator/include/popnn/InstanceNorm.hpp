#ifndef popnn_InstanceNorm_hpp
#define popnn_InstanceNorm_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <popnn/GroupNormNames.hpp>

namespace popnn {
namespace in {

/// Group norm with a group for each channel.
POPNN_GROUP_NORM(instance, Instance, static_cast<unsigned>(acts.dim(1)))

} // namespace in
} // namespace popnn

#undef POPNN_GROUP_NORM

#endif
