// The inputs of a convolution of spikes, and how its work is spread over tiles.
#ifndef IPULSE_LIF_POPLAR_CONV_OPERANDS_H
#define IPULSE_LIF_POPLAR_CONV_OPERANDS_H

#include <algorithm>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "builders/words.h"
#include "codelets/conv/convolution.h"
#include "layout/new_vertex.h"
#include "layout/slot_rows.h"

namespace lif {

/// The attribute `geometry`. Raises poputil::poplibs_error for sizes that no convolution has.
std::vector<unsigned> convolutionSizes(const char *op, const Words &words);

/// Kernel, ids, counts and maybe a bias, with the sizes that the attributes give.
struct ConvOperands {
  /// Raises poputil::poplibs_error if attributes and inputs do not fit each other.
  /// words: `geometry` and the flags `bias` and `weights_only`; op: for messages.
  /// inputs: these, and any others behind them.
  ConvOperands(const char *op, const Words &words, const std::vector<poplar::Tensor> &inputs);

  std::vector<unsigned> sizes; // the attribute `geometry`
  Convolution conv;
  bool biased, weightsOnly; // whether there is a bias; whether slots receive no gradient
  unsigned steps, batch;
  SlotRows slots;              // row `step * batch + sample`
  poplar::Tensor kernel, bias; // flat; bias only if there is one

  /// A vertex on a tile, with its field `geometry`.
  NewVertex vertex(poplar::Graph &graph, poplar::ComputeSet set, const std::string &type,
                   unsigned tile) const;
};

/// Which part [begin(i), end(i)) of `all` is part i of `parts`.
struct Share {
  std::size_t all, parts;
  std::size_t begin(std::size_t i) const { return all * i / parts; }
  std::size_t end(std::size_t i) const { return all * (i + 1) / parts; }
  unsigned size(std::size_t i) const { return static_cast<unsigned>(end(i) - begin(i)); }
};

/// The tile of one of `parts` pieces of work.
inline unsigned tileOf(const poplar::Graph &graph, std::size_t part, std::size_t parts) {
  const std::size_t tiles = graph.getTarget().getNumTiles();
  return static_cast<unsigned>(parts <= tiles ? part : part * tiles / parts);
}

/// How many tiles each of `rows` pieces of work may be split over, at most `most`.
inline std::size_t tilesFor(const poplar::Graph &graph, std::size_t rows, std::size_t most) {
  return std::max<std::size_t>(1, std::min(most, graph.getTarget().getNumTiles() / rows));
}

/// What a vertex of the backward pass copies to its tile at once, in floats, unless one row of
/// outputs is more.
constexpr std::size_t kPieceFloats = 12288;

/// The currents [rows, neurons].
poplar::program::Program convCurrents(poplar::Graph &graph, const ConvOperands &operands,
                                      poplar::Tensor &currents);

/// Adds the gradients of kernel, slots and bias for those of the currents, [rows, neurons]: of all
/// inputs that receive one.
poplar::program::Program convGradients(poplar::Graph &graph, const ConvOperands &operands,
                                       const poplar::Tensor &gradients,
                                       std::vector<poplar::Tensor> &found);
poplar::program::Program convWeightGradients(poplar::Graph &graph, const ConvOperands &operands,
                                             const poplar::Tensor &gradients,
                                             poplar::Tensor &kernel);
poplar::program::Program convSlotGradients(poplar::Graph &graph, const ConvOperands &operands,
                                           const poplar::Tensor &gradients, poplar::Tensor &slots);
poplar::program::Program convBiasGradients(poplar::Graph &graph, const ConvOperands &operands,
                                           const poplar::Tensor &gradients, poplar::Tensor &bias);

} // namespace lif

#endif
