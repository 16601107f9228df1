#include "rearrangement.h"

#include <algorithm>
#include <map>

namespace poplar::emulator {
namespace {

using field::Direction;
using field::FieldTable;

/// A row on a tile, as a key.
std::vector<std::size_t> keyOf(const View &row, unsigned tile) {
  std::vector<std::size_t> key{tile};
  for (const Run &run : row.runs())
    key.insert(key.end(),
               {run.variable, run.start, run.count, static_cast<std::size_t>(run.stride)});
  return key;
}

} // namespace

Rearrangement::Rearrangement(const GraphState &graph, TileAddresses &addresses)
    : graph(graph), addresses(addresses), before(graph.machine), after(graph.machine),
      buffers(graph.machine.numTiles()) {}

std::vector<Rearrangement::Segment> Rearrangement::segmentsOf(const View &row, unsigned tile,
                                                              std::size_t align) {
  std::vector<Segment> segments;
  std::size_t at = 0;
  row.forEachPiece([&](const Piece &piece) {
    const std::size_t size = sizeOf(graph.variables[piece.variable].type);
    addresses.forEach(piece.variable, piece.begin, piece.end,
                      [&](std::size_t begin, std::size_t end, unsigned on, std::size_t address) {
                        const std::size_t bytes = (end - begin) * size, from = address * size;
                        if (on == tile) {
                          Segment *last = segments.empty() ? nullptr : &segments.back();
                          if (last && last->variable == piece.variable &&
                              last->from + last->bytes == from && last->to + last->bytes == at)
                            last->bytes += bytes;
                          else
                            segments.push_back({piece.variable, from, at, bytes});
                        }
                        at += bytes;
                      });
  });
  const bool whole = segments.size() == 1 && segments[0].bytes == at;
  if (whole && segments[0].from % std::max<std::size_t>(align, 1) == 0)
    segments.clear();
  return segments;
}

void Rearrangement::add(const VertexInstance &vertex) {
  if (vertex.type->takesPieces)
    return;
  for (unsigned f = 0; f < vertex.type->table->numFields; ++f) {
    const FieldTable &table = vertex.type->table->fields[f];
    for (const auto &row : vertex.fields[f].rows) {
      const std::vector<Segment> segments = segmentsOf(*row, vertex.tile, table.minAlign);
      if (segments.empty())
        continue;
      const bool in =
          table.direction != Direction::Output &&
          (gathered.insert(keyOf(*row, vertex.tile)).second || table.direction == Direction::InOut);
      const bool out = table.direction != Direction::Input;
      // Buffers are numbered after the variables.
      const std::size_t buffer = graph.variables.size() + numBuffers++;
      for (const Segment &s : segments) {
        if (in)
          before.add(vertex.tile, {s.variable, s.from}, {buffer, s.to}, s.bytes);
        if (out)
          after.add(vertex.tile, {buffer, s.to}, {s.variable, s.from}, s.bytes);
        if (in || out)
          buffers[vertex.tile] += s.bytes;
      }
    }
  }
}

std::vector<std::pair<unsigned, std::uint64_t>> Rearrangement::cycles() {
  std::map<unsigned, std::uint64_t> sum;
  for (LocalMoves *moves : {&before, &after})
    for (const auto &[tile, cycles] : moves->cycles())
      sum[tile] += cycles;
  return {sum.begin(), sum.end()};
}

} // namespace poplar::emulator
