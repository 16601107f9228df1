#ifndef popops_Fill_hpp
#define popops_Fill_hpp

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/TypeTraits.hpp>

namespace popops {

namespace fill_detail {
void fill(poplar::Graph &graph, const poplar::Tensor &t,
          const std::vector<poplar::Interval> &tileRegions, unsigned tile,
          poplar::ComputeSet fillCS, double value);
void fill(poplar::Graph &graph, const poplar::Tensor &t,
          const std::vector<std::vector<poplar::Interval>> &mapping, poplar::ComputeSet fillCS,
          double value);
} // namespace fill_detail

template <typename T>
void fill(poplar::Graph &graph, poplar::Tensor t, const std::vector<poplar::Interval> &tileRegions,
          unsigned tile, poplar::ComputeSet fillCS, T fillValue) {
  fill_detail::fill(graph, t, tileRegions, tile, fillCS, static_cast<double>(fillValue));
}
template <typename T>
void fill(poplar::Graph &graph, const poplar::Tensor &t, unsigned tile, poplar::ComputeSet fillCS,
          T fillValue) {
  fill_detail::fill(graph, t, {poplar::Interval(0, t.numElements())}, tile, fillCS,
                    static_cast<double>(fillValue));
}
template <typename T>
void fill(poplar::Graph &graph, const poplar::Tensor &t,
          const std::vector<std::vector<poplar::Interval>> &mapping, poplar::ComputeSet fillCS,
          T fillValue) {
  fill_detail::fill(graph, t, mapping, fillCS, static_cast<double>(fillValue));
}
template <typename T>
void fill(poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog,
          T fillValue, const poplar::DebugContext &debugContext = {}) {
  const poplar::ComputeSet cs = graph.addComputeSet({debugContext, "Fill"});
  fill_detail::fill(graph, t, graph.getTileMapping(t), cs, static_cast<double>(fillValue));
  prog.add(poplar::program::Execute(cs, debugContext));
}

} // namespace popops

#endif
