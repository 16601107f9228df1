#ifndef poplin_ConvPreplan_hpp
#define poplin_ConvPreplan_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <set>

#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>

namespace poplin {

/// Plans convolutions and products ahead: nothing to do.
inline void preplan(const std::set<ConvPlanParams> &, const std::set<MatMulPlanParams> &,
                    PlanningCache &) {}

} // namespace poplin

#endif
