#include <popsparse/codelets.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace {

const poplar::emulator::BuiltinLibrary kPopsparseVertices("popsparse",
                                                          poplar::emulator::sparseVertices());

} // namespace

namespace popsparse {

void addCodelets(poplar::Graph &graph) {
  poplar::emulator::addBuiltinLibrary(*graph.getState(), "popsparse");
}

} // namespace popsparse
