#include <popops/codelets.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace {

const poplar::emulator::BuiltinLibrary kPopopsVertices(
    "popops",
    poplar::emulator::joined({poplar::emulator::mapVertices(), poplar::emulator::reduceVertices(),
                              poplar::emulator::sliceVertices(), poplar::emulator::partVertices(),
                              poplar::emulator::sortVertices()}));

} // namespace

namespace popops {

void addCodelets(poplar::Graph &graph) {
  poplar::emulator::addBuiltinLibrary(*graph.getState(), "popops");
}

} // namespace popops
