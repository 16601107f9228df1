// Slots of spikes by rows, and what the smaller ops check of their inputs.
#ifndef IPULSE_LIF_POPLAR_SLOT_ROWS_H
#define IPULSE_LIF_POPLAR_SLOT_ROWS_H

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace lif {

/// ids [time, batch, slots] and counts [time, batch] or [time, batch, 2], by rows.
struct SlotRows {
  /// Raises poputil::poplibs_error for other shapes or types.
  SlotRows(const poplar::Tensor &ids, const poplar::Tensor &counts);
  poplar::Tensor ids, counts; // [rows, slots], [rows, 1 or 2]
  unsigned slots, countWidth;
  std::size_t rows() const { return ids.dim(0); }
};

/// Slots' values, times factors unless those are null, as dense rows: the gradient of listing.
poplar::program::Program scatter(poplar::Graph &graph, const SlotRows &slots,
                                 const poplar::Tensor &values, const poplar::Tensor *factors,
                                 unsigned neurons, poplar::Tensor &dense);

/// Both raise poputil::poplibs_error.
void checkNumber(const char *op, const std::vector<poplar::Tensor> &inputs, std::size_t wanted,
                 const char *names);
void needFloat(const char *op, const poplar::Tensor &t);

} // namespace lif

#endif
