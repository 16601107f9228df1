#include "conv_operands.h"

namespace lif {

using poplar::Tensor;

namespace {

/// Rows of slots, and rows of their outputs, whose gradient a tile has at once.
struct Piece {
  std::size_t firstRow, endRow;
  unsigned beginOutput, endOutput;
};

/// Whole rows as many as fit, or else parts of one row, from its last outputs to its first.
std::vector<Piece> piecesOf(const Convolution &conv, std::size_t first, std::size_t end) {
  std::vector<Piece> pieces;
  const std::size_t together = kPieceFloats / conv.neurons();
  for (std::size_t row = first; together != 0 && row < end; row += together)
    pieces.push_back({row, std::min(end, row + together), 0, conv.size[0]});
  const std::size_t line = std::size_t(conv.size[1]) * conv.filters;
  const auto lines = static_cast<unsigned>(std::max<std::size_t>(1, kPieceFloats / line));
  for (std::size_t row = first; together == 0 && row < end; ++row)
    for (unsigned output = conv.size[0]; output != 0;) {
      const unsigned begin = output > lines ? output - lines : 0;
      pieces.push_back({row, row + 1, begin, output});
      output = begin;
    }
  return pieces;
}

} // namespace

/// A tile has some rows of slots, or a part of one row if there are fewer rows than tiles. The
/// outputs that a slot reaches are known only at run time: a tile sees all of them, by pieces.
poplar::program::Program convSlotGradients(poplar::Graph &graph, const ConvOperands &operands,
                                           const Tensor &gradients, Tensor &by_slots) {
  const Convolution &conv = operands.conv;
  const SlotRows &all = operands.slots;
  const std::size_t tiles = graph.getTarget().getNumTiles();
  const std::size_t most = (all.slots + 5) / 6; // a slot for each worker
  const Share rows{all.rows(), std::min(all.rows(), tiles)};
  const Share slots{all.slots, tilesFor(graph, all.rows(), most)};
  const std::size_t line = std::size_t(conv.size[1]) * conv.filters;
  std::vector<poplar::ComputeSet> passes;
  std::vector<Tensor> ofRows;
  for (std::size_t part = 0; part < rows.parts; ++part) {
    std::vector<Tensor> ofSlots;
    const std::vector<Piece> pieces = piecesOf(conv, rows.begin(part), rows.end(part));
    while (passes.size() < pieces.size())
      passes.push_back(graph.addComputeSet("SpikeConv/slots/" + std::to_string(passes.size())));
    const bool whole = pieces[0].endOutput - pieces[0].beginOutput == conv.size[0];
    for (std::size_t of = 0; of < slots.parts; ++of) {
      const unsigned tile = tileOf(graph, part * slots.parts + of, rows.parts * slots.parts);
      const unsigned own = slots.size(of);
      const auto variable = [&](std::size_t height, std::size_t width, const char *name) {
        const Tensor t = graph.addVariable(poplar::FLOAT, {height, width}, name);
        graph.setTileMapping(t, tile);
        return t;
      };
      const Tensor values = variable(rows.size(part), own, "SpikeConv/slots");
      const Tensor lanes =
          whole ? variable(1, 2, "SpikeConv/unwritten") : variable(own, 16, "SpikeConv/lanes");
      for (std::size_t pass = 0; pass < pieces.size(); ++pass) {
        const Piece &piece = pieces[pass];
        const auto count = static_cast<unsigned>(piece.endRow - piece.firstRow);
        const Tensor plane = gradients.slice(piece.firstRow, piece.endRow)
                                 .slice(piece.beginOutput * line, piece.endOutput * line, 1);
        const Tensor ids = all.ids.slice(piece.firstRow, piece.endRow);
        operands.vertex(graph, passes[pass], "ConvSlotProducts", tile)
            .connect("ids", ids.slice(slots.begin(of), slots.end(of), 1).flatten())
            .connect("counts", all.counts.slice(piece.firstRow, piece.endRow).flatten())
            .connect("kernel", operands.kernel)
            .connect("plane", plane.flatten())
            .connect("lanes", lanes.flatten())
            .connect(
                "values",
                values.slice(piece.firstRow - rows.begin(part), piece.endRow - rows.begin(part))
                    .flatten())
            .set("rows", count)
            .set("slots", own)
            .set("allSlots", all.slots)
            .set("firstSlot", static_cast<unsigned>(slots.begin(of)))
            .set("countWidth", all.countWidth)
            .set("beginRow", piece.beginOutput)
            .set("endRow", piece.endOutput)
            .estimate(6 * shareOf(std::size_t(count) * own) *
                      (150 + conv.taps() * (15.0 + 6 * conv.groupFilters)));
      }
      ofSlots.push_back(values);
    }
    ofRows.push_back(poplar::concat(ofSlots, 1));
  }
  by_slots = poplar::concat(ofRows);
  poplar::program::Sequence program;
  for (const poplar::ComputeSet &pass : passes)
    program.add(poplar::program::Execute(pass));
  return std::move(program);
}

} // namespace lif
