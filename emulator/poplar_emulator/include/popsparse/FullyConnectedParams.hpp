#ifndef popsparse_FullyConnectedParams_hpp
#define popsparse_FullyConnectedParams_hpp

#include <cassert>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <tuple>

#include <popsparse/SparsityParams.hpp>

namespace popsparse {
namespace dynamic {

/// Sparse weights [outputs, inputs], for each of the groups.
class FullyConnectedParams {
  using Key =
      std::tuple<SparsityParams, double, std::size_t, std::size_t, std::size_t, std::size_t>;
  Key key() const {
    return Key(sparsityParams, nzRatio, batchSize, numGroups, inputChannelsPerGroup,
               outputChannelsPerGroup);
  }

public:
  /// nzRatio: the largest fraction of non-zero weights. Raises poplibs_error unless it is in (0, 1]
  /// and blocks divide the weights.
  static FullyConnectedParams createWithNzRatio(const SparsityParams &sparsityParams,
                                                double nzRatio, std::size_t batchSize,
                                                std::size_t numGroups, std::size_t inputChannels,
                                                std::size_t outputChannels);
  static FullyConnectedParams
  createWithNumNonZeroValues(const SparsityParams &sparsityParams, std::size_t numNonZeroElems,
                             std::size_t batchSize, std::size_t numGroups,
                             std::size_t inputChannels, std::size_t outputChannels);

  std::size_t getBatchSize() const { return batchSize; }
  std::size_t getNumGroups() const { return numGroups; }
  std::size_t getInputChannels() const { return numGroups * inputChannelsPerGroup; }
  std::size_t getOutputChannels() const { return numGroups * outputChannelsPerGroup; }
  std::size_t getInputChannelsPerGroup() const { return inputChannelsPerGroup; }
  std::size_t getOutputChannelsPerGroup() const { return outputChannelsPerGroup; }
  const SparsityParams &getSparsityParams() const { return sparsityParams; }
  double getNzRatio() const { return nzRatio; }
  /// The maximum number of non-zero elements, a multiple of a block's.
  std::size_t getNumNonZeroValues() const;

  friend bool operator<(const FullyConnectedParams &a, const FullyConnectedParams &b) {
    return a.key() < b.key();
  }
  friend bool operator==(const FullyConnectedParams &a, const FullyConnectedParams &b) {
    return a.key() == b.key();
  }
  friend bool operator!=(const FullyConnectedParams &a, const FullyConnectedParams &b) {
    return !(a == b);
  }

private:
  FullyConnectedParams(const SparsityParams &sparsityParams, double nzRatio, std::size_t batchSize,
                       std::size_t numGroups, std::size_t inputChannels,
                       std::size_t outputChannels);

  SparsityParams sparsityParams;
  double nzRatio;
  std::size_t batchSize, numGroups, inputChannelsPerGroup, outputChannelsPerGroup;
};

std::ostream &operator<<(std::ostream &os, const FullyConnectedParams &params);

} // namespace dynamic
} // namespace popsparse

#endif
