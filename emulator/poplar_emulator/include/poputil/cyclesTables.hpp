#ifndef poputil_cyclesTables_hpp
#define poputil_cyclesTables_hpp

#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/PerfEstimateFunc.hpp>
#include <poplar/Target.hpp>
#include <poplar/VertexIntrospector.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>

/// The name of the function that estimates a codelet's cycles: (vertex, target, template
/// arguments).
#define MAKE_PERF_ESTIMATOR_NAME(codelet) getPerfEstimateFor##codelet
/// An entry of a PerfEstimatorTable for a codelet with template arguments, or without.
#define CYCLE_ESTIMATOR_ENTRY(ns, codelet, ...)                                                    \
  poputil::internal::makePerfEstimatorEntry(#ns "::" #codelet, MAKE_PERF_ESTIMATOR_NAME(codelet),  \
                                            __VA_ARGS__)
#define CYCLE_ESTIMATOR_ENTRY_NOPARAMS(ns, codelet)                                                \
  poputil::internal::makePerfEstimatorEntry(#ns "::" #codelet, MAKE_PERF_ESTIMATOR_NAME(codelet))

/// A field of `vertex` in a variable of its name, or the initial value of the field.
#define CODELET_FIELD(field) const auto field = vertex.getFieldInfo(#field)
#define CODELET_SCALAR_VAL(field, type)                                                            \
  const auto field = vertex.getFieldInfo(#field).getInitialValue<type>(target)
#define CODELET_VECTOR_VALS(field, type)                                                           \
  const auto field = vertex.getFieldInfo(#field).getInitialValues<type>(target)

namespace poputil {
namespace internal {

/// Names of vertex types and the functions that estimate their cycles.
using PerfEstimatorTable = std::vector<std::pair<std::string, poplar::PerfEstimateFunc>>;

template <typename F, typename... Args>
std::pair<std::string, poplar::PerfEstimateFunc> makePerfEstimatorEntry(const std::string &codelet,
                                                                        F f, Args &&...args) {
  return {templateVertex(codelet, args...),
          std::bind(f, std::placeholders::_1, std::placeholders::_2, std::forward<Args>(args)...)};
}

inline void registerPerfFunctions(poplar::Graph &graph, const PerfEstimatorTable &table) {
  for (const auto &entry : table)
    graph.registerPerfEstimator(entry.first, entry.second);
}

/// Returns the cycles that unpack a pointer of that layout.
inline std::uint64_t getUnpackCost(poplar::layout::Vector layout) {
  switch (layout) {
  case poplar::layout::Vector::NOT_VECTOR:
  case poplar::layout::Vector::SPAN:
  case poplar::layout::Vector::ONE_PTR:
    return 0;
  case poplar::layout::Vector::SHORT_SPAN:
  case poplar::layout::Vector::SCALED_PTR32:
    return 2;
  case poplar::layout::Vector::SCALED_PTR64:
  case poplar::layout::Vector::SCALED_PTR128:
    return 1;
  default:
    throw poplibs_error("a vector layout without a known cost");
  }
}
/// Returns the cycles that unpack the pointer to a list, and those of each of its vectors.
inline std::uint64_t getUnpackCost(poplar::layout::VectorList layout) {
  if (layout == poplar::layout::VectorList::DELTAN)
    return 2;
  if (layout == poplar::layout::VectorList::DELTANELEMENTS)
    return 5;
  throw poplibs_error("a layout of vectors without a known cost");
}
inline std::uint64_t getVectorListDeltaUnpackCost(poplar::layout::VectorList layout) {
  if (layout == poplar::layout::VectorList::DELTAN)
    return 3;
  if (layout == poplar::layout::VectorList::DELTANELEMENTS)
    return 2;
  throw poplibs_error("a layout of vectors without a known cost");
}

} // namespace internal
} // namespace poputil

#endif
