// Tensors laid out as the codelets read them: a tile's neurons, or a sample's steps, in one piece.
#ifndef IPULSE_LIF_POPLAR_LAYOUT_H
#define IPULSE_LIF_POPLAR_LAYOUT_H

#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "ipu_graphs.h"

namespace lif {

/// [rows, neurons] of a layer: each tile has [rows, row] of its own neurons, rows padded to pairs.
class NeuronTensor {
public:
  NeuronTensor() = default;
  NeuronTensor(IpuGraphs &graph, std::size_t rows, const std::vector<TilePart> &parts,
               const std::string &name, const poplar::Type &type = poplar::FLOAT);
  /// Joins given parts [rows, row].
  NeuronTensor(std::vector<poplar::Tensor> parts, const std::vector<TilePart> &tiles)
      : parts(std::move(parts)), tiles(tiles) {}

  bool empty() const { return parts.empty(); }
  const poplar::Tensor &part(std::size_t i) const { return parts[i]; }
  /// Part i as a vertex's field takes it.
  poplar::Tensor field(std::size_t i) const { return parts[i].flatten(); }
  /// [rows, neurons], without the padding.
  poplar::Tensor dense() const;
  /// Everything, padding included, of one dimension.
  poplar::Tensor all() const;
  bool padded() const;
  const std::vector<TilePart> &tileParts() const { return tiles; }

private:
  std::vector<poplar::Tensor> parts;
  std::vector<TilePart> tiles;
};

/// [batch, rows, width] of a source's samples, each on its own tile.
poplar::Tensor sampleTensor(IpuGraphs &graph, const poplar::Type &type, std::size_t batch,
                            std::size_t rows, std::size_t width, const SampleTiles &tiles,
                            const std::string &name);

/// Brings tensors of any layout into the codelets', those that are not, and all of them at once:
/// that TensorFlow may hand on another op's layout for the allocator's is inferred from its code.
class Arrivals {
public:
  explicit Arrivals(IpuGraphs &graph) : graph(graph) {}

  /// given [rows, neurons], or [neurons] for one row.
  NeuronTensor neurons(const poplar::Tensor &given, const std::vector<TilePart> &parts,
                       const std::string &name);
  /// given [rows, batch, width] or [rows, batch], as [batch, rows, width].
  poplar::Tensor samples(const poplar::Tensor &given, const SampleTiles &tiles,
                         const std::string &name);
  /// Zeros, for what has no tensor.
  NeuronTensor zeros(std::size_t rows, const std::vector<TilePart> &parts, const std::string &name,
                     const poplar::Type &type = poplar::FLOAT);
  void zero(const poplar::Tensor &t) { cleared.push_back(t.flatten()); }
  void copy(const poplar::Tensor &from, const poplar::Tensor &to);
  /// The program that makes it so, once before the loop.
  void addTo(poplar::program::Sequence &program);
  /// The program that takes everything back to where it came from, if it was changed.
  void addReturnTo(poplar::program::Sequence &program) const;

private:
  bool liesOn(const poplar::Tensor &t, Place place) const;
  IpuGraphs &graph;
  std::vector<poplar::Tensor> from, to, cleared;
};

} // namespace lif

#endif
