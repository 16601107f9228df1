#ifndef IPULSE_EMULATOR_OTHER_FIELDS_H
#define IPULSE_EMULATOR_OTHER_FIELDS_H

#include <vector>

#include "graph_state.h"

namespace poplar::emulator {

/// The memory of the other fields of a vertex, which the poison for an Output must not overwrite.
class OtherFields {
public:
  OtherFields(const VertexInstance &vertex, unsigned f);
  bool overlap(const View &view) const;

private:
  std::vector<Piece> pieces; // sorted; ends ascend, too
};

/// Returns whether all elements are in the memory of the tile, where an Output keeps its old
/// elements.
bool isOnTile(const GraphState &graph, const View &view, unsigned tile);

} // namespace poplar::emulator

#endif
