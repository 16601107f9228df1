#ifndef popsparse_MatMulParams_hpp
#define popsparse_MatMulParams_hpp

#include <cstddef>

namespace popsparse {
namespace static_ {

/// The sizes of a product of a sparse and a dense matrix: [groups, m, k] x [groups, k, n], or
/// [groups, n, k] x [groups, k, m] with the sparse matrix on the right.
class MatMulParams {
public:
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

private:
  MatMulParams(std::size_t groups, std::size_t m, std::size_t k, std::size_t n, bool transposed)
      : groups(groups), m(m), k(k), n(n), transposed(transposed) {}
  std::size_t groups, m, k, n;
  bool transposed;
};

} // namespace static_
} // namespace popsparse

#endif
