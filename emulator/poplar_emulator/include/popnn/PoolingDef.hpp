#ifndef popnn_PoolingDef_hpp
#define popnn_PoolingDef_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <ostream>

namespace popnn {

enum class PoolingType { MAX, AVG, SUM };

namespace pooling {
const char *asString(const PoolingType &type);
} // namespace pooling
inline std::ostream &operator<<(std::ostream &os, const PoolingType &type) {
  return os << pooling::asString(type);
}

} // namespace popnn

#endif
