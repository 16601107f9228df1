#include <poplar/CSRFunctions.hpp>

#include "support/log.h"

namespace poplar {

void setFloatingPointBehaviour(Graph &graph, program::Sequence &prog,
                               const FloatingPointBehaviour &behaviour,
                               const DebugContext &debugContext) {
  using emulator::log;
  if (behaviour.inv || behaviour.div0 || behaviour.oflo || behaviour.nanoo)
    log(emulator::LogModule::Graph, emulator::LogLevel::Warn,
        "floating point exceptions are not emulated");
  setStochasticRounding(graph, prog, behaviour.esr, debugContext);
}

void setStochasticRounding(Graph &, program::Sequence &, bool enable, const DebugContext &) {
  if (enable)
    emulator::log(emulator::LogModule::Graph, emulator::LogLevel::Warn,
                  "stochastic rounding is not emulated");
}

} // namespace poplar
