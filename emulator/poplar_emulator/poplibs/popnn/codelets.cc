#include <popnn/codelets.hpp>

#include "poplibs/popops/elementwise/array_vertices.h"

namespace {

const poplar::emulator::BuiltinLibrary
    kPopnnVertices("popnn", poplar::emulator::joined({poplar::emulator::ctcVertices(),
                                                      poplar::emulator::ctcSearchVertices(),
                                                      poplar::emulator::roiAlignVertices(),
                                                      poplar::emulator::classVertices()}));

} // namespace

namespace popnn {

void addCodelets(poplar::Graph &graph) {
  poplar::emulator::addBuiltinLibrary(*graph.getState(), "popnn");
}

} // namespace popnn
