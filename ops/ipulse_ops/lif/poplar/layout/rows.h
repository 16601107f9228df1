// Rows [..., width] spread over all tiles: what works row by row has nothing to exchange.
#ifndef IPULSE_LIF_POPLAR_ROWS_H
#define IPULSE_LIF_POPLAR_ROWS_H

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "new_vertex.h"

namespace lif {

/// A tensor [rows, width] as a field of a vertex for each tile's rows.
using RowField = std::pair<const char *, poplar::Tensor>;

class Rows {
public:
  /// width: of the widest field, if rows may be so wide that six of them are much of a tile.
  Rows(const poplar::Graph &graph, std::size_t rows, std::size_t width = 0);
  /// Adds a float variable with the rows of each tile in one piece.
  poplar::Tensor variable(poplar::Graph &graph, std::size_t width, const std::string &name) const;
  /// A compute set of one vertex a tile, which has the field `rows`; `more` sets its others.
  poplar::program::Program execute(poplar::Graph &graph, const std::string &type,
                                   const std::vector<RowField> &fields,
                                   const std::function<void(NewVertex &)> &more) const;

private:
  std::size_t rows;
  unsigned parts;
  std::size_t bound(unsigned part) const { return rows * part / parts; }
};

} // namespace lif

#endif
