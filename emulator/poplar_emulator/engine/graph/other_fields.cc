#include "other_fields.h"

#include <algorithm>
#include <tuple>

namespace poplar::emulator {
namespace {

using field::Direction;

bool before(const Piece &a, const Piece &b) {
  return std::tie(a.variable, a.begin) < std::tie(b.variable, b.begin);
}

} // namespace

OtherFields::OtherFields(const VertexInstance &vertex, unsigned f) {
  for (unsigned other = 0; other < vertex.type->table->numFields; ++other) {
    if (other == f || vertex.type->table->fields[other].direction == Direction::None)
      continue;
    for (const auto &row : vertex.fields[other].rows)
      row->forEachPiece([&](const Piece &piece) { pieces.push_back(piece); });
  }
  std::sort(pieces.begin(), pieces.end(), before);
  for (std::size_t i = 1; i < pieces.size(); ++i) // so that ends ascend, too
    if (pieces[i].variable == pieces[i - 1].variable)
      pieces[i].end = std::max(pieces[i].end, pieces[i - 1].end);
}

bool OtherFields::overlap(const View &view) const {
  bool found = false;
  view.forEachPiece([&](const Piece &x) {
    // The last that begins before x ends.
    const auto after =
        std::lower_bound(pieces.begin(), pieces.end(), Piece{x.variable, x.end, 0}, before);
    found |= after != pieces.begin() && std::prev(after)->variable == x.variable &&
             std::prev(after)->end > x.begin;
  });
  return found;
}

bool isOnTile(const GraphState &graph, const View &view, unsigned tile) {
  bool all = true;
  view.forEachPiece([&](const Piece &p) {
    graph.variables[p.variable].tiles.forEach(
        p.begin, p.end, [&](std::size_t, std::size_t, unsigned of) { all &= of == tile; });
  });
  return all;
}

} // namespace poplar::emulator
