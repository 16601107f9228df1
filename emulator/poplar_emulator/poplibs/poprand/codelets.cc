#include <poprand/codelets.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace {

const poplar::emulator::BuiltinLibrary kPoprandVertices("poprand",
                                                        poplar::emulator::randomVertices());

} // namespace

namespace poprand {

void addCodelets(poplar::Graph &graph) {
  poplar::emulator::addBuiltinLibrary(*graph.getState(), "poprand");
}

} // namespace poprand
