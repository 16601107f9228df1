#ifndef poplar_PerfEstimateFunc_hpp
#define poplar_PerfEstimateFunc_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstdint>
#include <functional>

namespace poplar {

class Target;
class VertexIntrospector;

/// Tile cycles, and floating-point operations, of one execution of a vertex.
struct VertexPerfEstimate {
  VertexPerfEstimate() = default;
  VertexPerfEstimate(std::uint64_t cycles, std::uint64_t flops = 0)
      : cycles(cycles), flops(flops) {}
  std::uint64_t cycles = 0;
  std::uint64_t flops = 0;
};

using PerfEstimateFunc =
    std::function<VertexPerfEstimate(const VertexIntrospector &, const Target &)>;

} // namespace poplar

#endif
