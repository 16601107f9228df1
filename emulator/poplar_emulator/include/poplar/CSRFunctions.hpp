#ifndef poplar_CSRFunctions_hpp
#define poplar_CSRFunctions_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplar {

/// Which floating point exceptions stop a tile, whether halves round at random, and whether half
/// overflow becomes not-a-number.
struct FloatingPointBehaviour {
  bool inv = true;
  bool div0 = true;
  bool oflo = true;
  bool esr = true;
  bool nanoo = true;
  FloatingPointBehaviour() = default;
  FloatingPointBehaviour(bool inv, bool div0, bool oflo, bool esr, bool nanoo)
      : inv(inv), div0(div0), oflo(oflo), esr(esr), nanoo(nanoo) {}
};

/// These settings are not emulated: no exception stops a tile, halves round to nearest, overflow is
/// infinity. Any other setting logs a warning.
void setFloatingPointBehaviour(Graph &graph, program::Sequence &prog,
                               const FloatingPointBehaviour &behaviour,
                               const DebugContext &debugContext = {});
void setStochasticRounding(Graph &graph, program::Sequence &prog, bool enable,
                           const DebugContext &debugContext = {});

} // namespace poplar

#endif
