#ifndef popsparse_SparsePartitioner_hpp
#define popsparse_SparsePartitioner_hpp

#include <string>
#include <vector>

#include <poplar/Interval.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Target.hpp>
#include <poplar/Type.hpp>
#include <popsparse/FullyConnected.hpp>
#include <popsparse/FullyConnectedParams.hpp>
#include <popsparse/MatMulParams.hpp>
#include <popsparse/PlanningCache.hpp>
#include <popsparse/SparseStorageFormats.hpp>

namespace popsparse {
namespace dynamic {

/// The data for the tensors of a SparseTensor: metaInfo as UNSIGNED_SHORT. The order is the
/// emulator's own.
template <typename T> struct SparsityDataImpl {
  std::vector<std::size_t> metaInfo;
  std::vector<T> nzValues;
};

/// Converts matrices of the host to the device's form and back. T is float or double.
template <typename T> class Partitioner {
public:
  Partitioner(const FullyConnectedParams &params, const poplar::Type &dataType,
              const poplar::Target &target, const poplar::OptionFlags &options,
              PlanningCache *cache = nullptr, std::string name = "");
  Partitioner(const MatMulParams &params, const poplar::Type &dataType,
              const poplar::Target &target, const poplar::OptionFlags &options,
              PlanningCache *cache = nullptr, std::string name = "")
      : Partitioner(params.asLayer(), dataType, target, options, cache, std::move(name)) {}

  /// Raises poplibs_error for more values than the parameters allow, for other blocks, and for
  /// positions between blocks.
  SparsityDataImpl<T> createSparsityDataImpl(const COOMatrix<T> &matrix) const;
  SparsityDataImpl<T> createSparsityDataImpl(const CSRMatrix<T> &matrix) const;
  SparsityDataImpl<T> createSparsityDataImpl(const CSCMatrix<T> &matrix) const;
  /// Sorted by rows, then by columns.
  COOMatrix<T> sparsityDataImplToCOOMatrix(const SparsityDataImpl<T> &data) const;
  CSRMatrix<T> sparsityDataImplToCSRMatrix(const SparsityDataImpl<T> &data) const;
  /// Sorted by columns, then by rows.
  CSCMatrix<T> sparsityDataImplToCSCMatrix(const SparsityDataImpl<T> &data) const;

private:
  FullyConnectedParams params;
};

} // namespace dynamic
} // namespace popsparse

#endif
