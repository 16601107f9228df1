#ifndef popsparse_PlanningCache_hpp
#define popsparse_PlanningCache_hpp

#include <memory>

// [M] Signatures are from memory: no source of them was at hand.

namespace popsparse {
namespace dynamic {

/// A cache of plans; the emulator has no plans.
class PlanningCache {};

} // namespace dynamic
namespace static_ {

class PlanningCache {};

} // namespace static_
} // namespace popsparse

#endif
