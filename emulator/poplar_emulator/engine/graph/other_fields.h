#ifndef IPULSE_EMULATOR_OTHER_FIELDS_H
#define IPULSE_EMULATOR_OTHER_FIELDS_H

#include <vector>

#include "graph_state.h"

namespace poplar::emulator {

/// What the other fields of a vertex are connected to. The poison that goes into an Output must not
/// reach them.
class OtherFields {
public:
  OtherFields(const VertexInstance &vertex, unsigned f);
  bool overlap(const View &view) const;

private:
  std::vector<Piece> pieces; // sorted; ends ascend, too
};

} // namespace poplar::emulator

#endif
