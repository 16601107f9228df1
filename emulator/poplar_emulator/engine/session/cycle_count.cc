#include <poplar/CycleCount.hpp>

#include "program/program_node.h"

namespace poplar {

using emulator::ProgramNode;

namespace {

Tensor counter(Graph &graph, unsigned tile, const DebugContext &debugContext) {
  const Tensor t = graph.addVariable(UNSIGNED_INT, {2}, debugContext);
  graph.setTileMapping(t, tile);
  return t;
}

program::Program readClock(const Tensor &to, bool since, const DebugContext &debugContext) {
  auto node = std::make_shared<ProgramNode>();
  node->kind = ProgramNode::Kind::ReadClock;
  node->name = debugContext.getPathName();
  node->destination = to;
  if (since)
    node->source = to; // an earlier reading, to be subtracted
  return program::Program(std::move(node));
}

} // namespace

Tensor cycleCount(Graph &graph, program::Sequence &prog, unsigned tile, SyncType syncType,
                  const DebugContext &debugContext) {
  const Tensor t = counter(graph, tile, debugContext);
  prog.add_front(readClock(t, false, debugContext));
  prog.add_front(program::Sync(syncType, debugContext));
  prog.add(program::Sync(syncType, debugContext));
  prog.add(readClock(t, true, debugContext));
  return t;
}

Tensor cycleStamp(Graph &graph, program::Sequence &prog, unsigned tile, SyncType syncType,
                  const DebugContext &debugContext) {
  const Tensor t = counter(graph, tile, debugContext);
  prog.add(program::Sync(syncType, debugContext));
  prog.add(readClock(t, false, debugContext));
  return t;
}

Tensor cycleCount(Graph &graph, program::Sequence &prog, unsigned tile,
                  const DebugContext &debugContext) {
  return cycleCount(graph, prog, tile, SyncType::INTERNAL, debugContext);
}
Tensor cycleStamp(Graph &graph, program::Sequence &prog, unsigned tile,
                  const DebugContext &debugContext) {
  return cycleStamp(graph, prog, tile, SyncType::INTERNAL, debugContext);
}

std::vector<Tensor> cycleStamp(Graph &graph, program::Sequence &prog,
                               const std::vector<unsigned> &tiles, SyncType syncType,
                               const DebugContext &debugContext) {
  prog.add(program::Sync(syncType, debugContext));
  std::vector<Tensor> stamps;
  for (const unsigned tile : tiles) {
    stamps.push_back(counter(graph, tile, debugContext));
    prog.add(readClock(stamps.back(), false, debugContext));
  }
  return stamps;
}

} // namespace poplar
