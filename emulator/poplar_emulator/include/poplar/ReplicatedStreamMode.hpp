#ifndef poplar_ReplicatedStreamMode_hpp
#define poplar_ReplicatedStreamMode_hpp

// [M] Signatures are from memory: no source of them was at hand.

namespace poplar {

enum class ReplicatedStreamMode { REPLICATE, BROADCAST };

} // namespace poplar

#endif
