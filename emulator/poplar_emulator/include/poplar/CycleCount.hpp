#ifndef poplar_CycleCount_hpp
#define poplar_CycleCount_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <poplar/DebugContext.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/SyncType.hpp>

namespace poplar {

/// Adds to `prog` a count of its (emulated) cycles; the result is UNSIGNED_INT {2} on `tile`, low
/// word first. Steps added to `prog` later are not counted.
Tensor cycleCount(Graph &graph, program::Sequence &prog, unsigned tile, SyncType syncType,
                  const DebugContext &debugContext = {});
/// The older form: with SyncType::INTERNAL.
Tensor cycleCount(Graph &graph, program::Sequence &prog, unsigned tile,
                  const DebugContext &debugContext = {});
/// Adds to `prog` a reading of the cycle counter, into a tensor of the same kind.
Tensor cycleStamp(Graph &graph, program::Sequence &prog, unsigned tile, SyncType syncType,
                  const DebugContext &debugContext = {});
Tensor cycleStamp(Graph &graph, program::Sequence &prog, unsigned tile,
                  const DebugContext &debugContext = {});
/// A reading on each of these tiles, in their order.
std::vector<Tensor> cycleStamp(Graph &graph, program::Sequence &prog,
                               const std::vector<unsigned> &tiles, SyncType syncType,
                               const DebugContext &debugContext = {});

} // namespace poplar

#endif
