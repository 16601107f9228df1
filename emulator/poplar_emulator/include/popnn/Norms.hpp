#ifndef popnn_Norms_hpp
#define popnn_Norms_hpp

#include <cstdint>
#include <utility>

#include <poplar/Graph.hpp>
#include <poplin/Norms.hpp>

namespace popnn {

/// Returns the number of floating-point operations of a norm's passes. A statistic takes two for
/// each element and its mean and deviation seven; whitening and scaling take four.
inline std::uint64_t getNormFwdFlops(std::size_t statisticsSize, std::size_t numActsElements,
                                     bool computeStats = true) {
  return (computeStats ? 7 * statisticsSize + 3 * numActsElements : 0) + 4 * numActsElements;
}
inline std::uint64_t getNormBwdFlops(std::size_t statisticsSize, std::size_t numActsElements) {
  return 2 * statisticsSize + 7 * numActsElements;
}
inline std::uint64_t getNormWuFlops(std::size_t paramsSize, std::size_t numActsElements) {
  return 2 * paramsSize + 3 * numActsElements;
}

inline poplar::Tensor createNormGamma(poplar::Graph &graph, const poplar::Tensor &acts,
                                      const poplar::DebugContext &debugContext = {}) {
  return poplin::createNormGamma(graph, acts, debugContext);
}
inline poplar::Tensor createNormBeta(poplar::Graph &graph, const poplar::Tensor &acts,
                                     const poplar::DebugContext &debugContext = {}) {
  return poplin::createNormBeta(graph, acts, debugContext);
}
/// gamma and beta
inline std::pair<poplar::Tensor, poplar::Tensor>
createNormParams(poplar::Graph &graph, const poplar::Tensor acts,
                 const poplar::DebugContext &debugContext = {}) {
  return poplin::createNormParams(graph, acts, debugContext);
}

} // namespace popnn

#endif
