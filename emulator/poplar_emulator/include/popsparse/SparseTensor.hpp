#ifndef popsparse_SparseTensor_hpp
#define popsparse_SparseTensor_hpp

#include <poplar/Tensor.hpp>
#include <poputil/TensorMetaData.hpp>

namespace popsparse {
namespace dynamic {

/// The positions and values of the non-zero elements, as a Partitioner makes them on the host.
class SparseTensor {
public:
  SparseTensor() = default;
  SparseTensor(const poplar::Tensor &metaInfo, const poplar::Tensor &nzValues,
               poputil::TensorMetaData opMetaData = {})
      : metaInfo(metaInfo), nzValues(nzValues), opMetaData(std::move(opMetaData)) {}
  const poplar::Tensor &getMetaInfoTensor() const { return metaInfo; }
  const poplar::Tensor &getNzValuesTensor() const { return nzValues; }
  /// Returns the data that the operation stored with its tensors.
  const poputil::TensorMetaData &getOpMetaData() const { return opMetaData; }

private:
  poplar::Tensor metaInfo;
  poplar::Tensor nzValues;
  poputil::TensorMetaData opMetaData;
};

} // namespace dynamic
namespace static_ {

/// The values of a sparse matrix in the order of its CSRMatrix; their places are in its metadata.
class SparseTensor {
public:
  SparseTensor() = default;
  /// Other values, for example constants, at the places of the tensor that has this metadata.
  SparseTensor(const poplar::Tensor &nzValues, const poputil::TensorMetaData &opMetaData = {})
      : nzValues(nzValues), opMetaData(opMetaData) {}
  const poplar::Tensor &getNzValuesTensor() const { return nzValues; }
  const poputil::TensorMetaData &getOpMetaData() const { return opMetaData; }

private:
  poplar::Tensor nzValues;
  poputil::TensorMetaData opMetaData;
};

} // namespace static_
} // namespace popsparse

#endif
