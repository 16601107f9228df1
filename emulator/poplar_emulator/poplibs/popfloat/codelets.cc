#include <popfloat/experimental/codelets.hpp>

#include "codelets/builtin_vertices.h"

namespace {

const poplar::emulator::BuiltinLibrary kPopfloatVertices("popfloat", {});

} // namespace

namespace popfloat::experimental {

void addCodelets(poplar::Graph &graph) {
  poplar::emulator::addBuiltinLibrary(*graph.getState(), "popfloat");
}

} // namespace popfloat::experimental
