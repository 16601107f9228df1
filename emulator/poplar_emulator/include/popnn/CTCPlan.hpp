#ifndef popnn_CTCPlan_hpp
#define popnn_CTCPlan_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <ostream>
#include <tuple>

#include <poplar/Type.hpp>
#include <poputil/DebugInfo.hpp>

namespace popnn {
namespace ctc {

/// The distribution of a CTC loss over tiles. There is one: each sample on a tile.
class Plan {
public:
  Plan() = default;
  Plan(poplar::Type in, poplar::Type out, unsigned batch, unsigned time, unsigned label,
       unsigned classes)
      : in(in), out(out), batch(batch), time(time), label(label), classes(classes) {}
  poplar::Type in, out;
  unsigned batch = 0, time = 0, label = 0, classes = 0; ///< the most of each, as planned
  bool operator==(const Plan &o) const {
    return in == o.in && out == o.out && sizes() == o.sizes();
  }
  bool operator!=(const Plan &o) const { return !(*this == o); }

private:
  std::tuple<unsigned, unsigned, unsigned, unsigned> sizes() const {
    return std::make_tuple(batch, time, label, classes);
  }
};
inline std::ostream &operator<<(std::ostream &o, const Plan &plan) {
  return o << "CTC: " << plan.batch << " samples, each on a tile, of " << plan.time << " steps and "
           << plan.classes << " classes, with labels of at most " << plan.label;
}

} // namespace ctc
} // namespace popnn

#endif
