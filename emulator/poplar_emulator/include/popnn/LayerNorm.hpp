#ifndef popnn_LayerNorm_hpp
#define popnn_LayerNorm_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <popnn/GroupNormNames.hpp>

namespace popnn {
namespace ln {

/// Group norm with one group.
POPNN_GROUP_NORM(layer, Layer, 1)

} // namespace ln
} // namespace popnn

#undef POPNN_GROUP_NORM

#endif
