#ifndef gcl_CollectiveTypes_hpp
#define gcl_CollectiveTypes_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <vector>

#include <poplar/Tensor.hpp>

namespace gcl {

enum class CollectiveOperator {
  ADD,
  MEAN,
  MUL,
  MIN,
  MAX,
  LOGICAL_AND,
  LOGICAL_OR,
  SQUARE_ADD,
  LOCAL
};

std::ostream &operator<<(std::ostream &os, CollectiveOperator op);

/// The part of a result that one IPU has.
struct Chunk {
  poplar::Tensor tensor;
  unsigned index = 0;  ///< of the IPU
  unsigned offset = 0; ///< of its first element
};
struct Chunks {
  poplar::Tensor originalInput;
  std::vector<Chunk> chunks;
};

/// The replicas that exchange with each other: all of them, groups of replicas with numbers that
/// are a stride apart (by default 1), or groups of replicas with numbers that differ by the number
/// of groups.
enum class CommGroupType { ALL, CONSECUTIVE, ORTHOGONAL };
class CommGroup {
public:
  CommGroup() = default;
  CommGroup(const CommGroupType &groupType, unsigned groupSize, unsigned replicaStride = 1)
      : groupType(groupType), groupSize(groupSize), stride(replicaStride) {}
  CommGroupType type() const { return groupType; }
  unsigned replicaGroupSize() const { return groupSize; }
  unsigned replicaStride() const { return stride; }

private:
  CommGroupType groupType = CommGroupType::ALL;
  unsigned groupSize = 0;
  unsigned stride = 1;
};

} // namespace gcl

#endif
