#ifndef IPULSE_POPLIBS_MAP_COST_H
#define IPULSE_POPLIBS_MAP_COST_H

#include <poplar/PerfEstimateFunc.hpp>

namespace poplar::emulator {

/// Cycles of an element-wise vertex, by its expression and the regions that it goes over. inPlace:
/// the result is the first operand.
VertexPerfEstimate mapCycles(const VertexIntrospector &vertex, const Target &target, bool inPlace);

} // namespace poplar::emulator

#endif
