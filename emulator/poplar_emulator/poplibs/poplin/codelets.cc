#include <poplin/codelets.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace {

const poplar::emulator::BuiltinLibrary kPoplinVertices("poplin",
                                                       poplar::emulator::matMulVertices());

} // namespace

namespace poplin {

void addCodelets(poplar::Graph &graph) {
  poplar::emulator::addBuiltinLibrary(*graph.getState(), "poplin");
}

} // namespace poplin
