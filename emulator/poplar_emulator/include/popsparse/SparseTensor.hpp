#ifndef popsparse_SparseTensor_hpp
#define popsparse_SparseTensor_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplar/Tensor.hpp>

namespace popsparse {
namespace dynamic {

/// The positions and values of the non-zero elements, as a Partitioner makes them on the host.
class SparseTensor {
public:
  SparseTensor() = default;
  SparseTensor(const poplar::Tensor &metaInfo, const poplar::Tensor &nzValues)
      : metaInfo(metaInfo), nzValues(nzValues) {}
  const poplar::Tensor &getMetaInfoTensor() const { return metaInfo; }
  const poplar::Tensor &getNzValuesTensor() const { return nzValues; }

private:
  poplar::Tensor metaInfo;
  poplar::Tensor nzValues;
};

} // namespace dynamic
} // namespace popsparse

#endif
