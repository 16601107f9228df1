#ifndef popnn_PoolingDef_hpp
#define popnn_PoolingDef_hpp

// [M] Signatures are from memory: no source of them was at hand.

namespace popnn {

enum class PoolingType { MAX, AVG, SUM };

} // namespace popnn

#endif
