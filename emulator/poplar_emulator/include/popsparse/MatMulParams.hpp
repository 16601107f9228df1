#ifndef popsparse_MatMulParams_hpp
#define popsparse_MatMulParams_hpp

#include <cstddef>
#include <ostream>
#include <tuple>

#include <popsparse/FullyConnectedParams.hpp>

namespace popsparse {
namespace dynamic {

/// The sizes of a product of a sparse matrix, [groups, m, k], and a dense one, [groups, k, n]. The
/// host may change the places of the sparse one.
class MatMulParams {
public:
  /// nzRatio: the largest fraction of non-zero values. Raises poplibs_error unless it is in (0, 1]
  /// and blocks divide the sparse matrix.
  static MatMulParams createWithNzRatio(const SparsityParams &sparsityParams, double nzRatio,
                                        std::size_t groups, std::size_t m, std::size_t k,
                                        std::size_t n) {
    return FullyConnectedParams::createWithNzRatio(sparsityParams, nzRatio, n, groups, k, m);
  }
  static MatMulParams createWithNumNonZeroValues(const SparsityParams &sparsityParams,
                                                 std::size_t numNonZeroElems, std::size_t groups,
                                                 std::size_t m, std::size_t k, std::size_t n) {
    return FullyConnectedParams::createWithNumNonZeroValues(sparsityParams, numNonZeroElems, n,
                                                            groups, k, m);
  }
  const SparsityParams &getSparsityParams() const { return layer.getSparsityParams(); }
  std::size_t getNumGroups() const { return layer.getNumGroups(); }
  std::size_t getM() const { return layer.getOutputChannelsPerGroup(); }
  std::size_t getK() const { return layer.getInputChannelsPerGroup(); }
  std::size_t getN() const { return layer.getBatchSize(); }
  double getNzRatio() const { return layer.getNzRatio(); }
  std::size_t getNumNonZeroValues() const { return layer.getNumNonZeroValues(); }

  /// For internal use: a layer with this product of weights and inputs.
  const FullyConnectedParams &asLayer() const { return layer; }

  friend bool operator<(const MatMulParams &a, const MatMulParams &b) { return a.layer < b.layer; }
  friend bool operator==(const MatMulParams &a, const MatMulParams &b) {
    return a.layer == b.layer;
  }
  friend bool operator!=(const MatMulParams &a, const MatMulParams &b) { return !(a == b); }

private:
  MatMulParams(const FullyConnectedParams &layer) : layer(layer) {}
  FullyConnectedParams layer;
};
std::ostream &operator<<(std::ostream &os, const MatMulParams &params);

} // namespace dynamic
namespace static_ {

/// The sizes of a product of a sparse and a dense matrix: [groups, m, k] x [groups, k, n], or
/// [groups, n, k] x [groups, k, m] with the sparse matrix on the right.
class MatMulParams {
public:
  /// Creates parameters without sizes, to be assigned to.
  MatMulParams() = default;
  static MatMulParams createForSparseDense(std::size_t groups, std::size_t m, std::size_t k,
                                           std::size_t n) {
    return {groups, m, k, n, false};
  }
  static MatMulParams createForDenseSparse(std::size_t groups, std::size_t n, std::size_t k,
                                           std::size_t m) {
    return {groups, m, k, n, true};
  }
  std::size_t getNumGroups() const { return groups; }
  std::size_t getM() const { return m; }
  std::size_t getK() const { return k; }
  std::size_t getN() const { return n; }
  bool isTransposed() const { return transposed; }

  friend bool operator<(const MatMulParams &a, const MatMulParams &b) { return a.key() < b.key(); }
  friend bool operator==(const MatMulParams &a, const MatMulParams &b) {
    return a.key() == b.key();
  }
  friend bool operator!=(const MatMulParams &a, const MatMulParams &b) { return !(a == b); }

private:
  MatMulParams(std::size_t groups, std::size_t m, std::size_t k, std::size_t n, bool transposed)
      : groups(groups), m(m), k(k), n(n), transposed(transposed) {}
  using Key = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t, bool>;
  Key key() const { return Key(groups, m, k, n, transposed); }
  std::size_t groups = 0, m = 0, k = 0, n = 0;
  bool transposed = false;
};

std::ostream &operator<<(std::ostream &os, const MatMulParams &params);

} // namespace static_
} // namespace popsparse

#endif
