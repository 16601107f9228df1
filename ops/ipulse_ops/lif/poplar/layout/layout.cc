#include "layout.h"

#include <map>

#include <popops/Zero.hpp>

namespace lif {

using poplar::FLOAT;
using poplar::Tensor;
using poplar::program::Copy;
using poplar::program::Sequence;

NeuronTensor::NeuronTensor(IpuGraphs &graph, std::size_t rows, const std::vector<TilePart> &given,
                           const std::string &name, const poplar::Type &type)
    : tiles(given) {
  std::size_t size = 0;
  for (const TilePart &tile : tiles)
    size += rows * tile.row();
  const Tensor flat = graph.addVariable(type, {size}, name);
  std::size_t at = 0;
  for (const TilePart &tile : tiles) {
    const Tensor part = flat.slice(at, at + rows * tile.row());
    graph.setTileMapping(part, tile.place);
    parts.push_back(part.reshape({rows, tile.row()}));
    at += rows * tile.row();
  }
}

Tensor NeuronTensor::dense() const {
  std::vector<Tensor> columns;
  for (std::size_t i = 0; i < parts.size(); ++i)
    columns.push_back(parts[i].slice(0, tiles[i].neurons(), 1));
  return poplar::concat(columns, 1);
}

Tensor NeuronTensor::all() const {
  std::vector<Tensor> flat;
  for (const Tensor &part : parts)
    flat.push_back(part.flatten());
  return poplar::concat(flat);
}

bool NeuronTensor::padded() const {
  for (const TilePart &tile : tiles)
    if (tile.row() != tile.neurons())
      return true;
  return false;
}

Tensor sampleTensor(IpuGraphs &graph, const poplar::Type &type, std::size_t batch, std::size_t rows,
                    std::size_t width, const SampleTiles &tiles, const std::string &name) {
  const Tensor t = graph.addVariable(type, {batch, rows, width}, name);
  for (std::size_t b = 0; b < batch; ++b)
    graph.setTileMapping(t[b], tiles[b]);
  return t;
}

bool Arrivals::liesOn(const Tensor &t, Place place) const {
  if (!t.isContiguous())
    return false;
  const auto mapping = graph.whole.getTileMapping(t);
  const unsigned tile = graph.number(place);
  return tile < mapping.size() && mapping[tile].size() == 1 &&
         mapping[tile][0].size() == t.numElements();
}

NeuronTensor Arrivals::neurons(const Tensor &given, const std::vector<TilePart> &tiles,
                               const std::string &name) {
  const Tensor matrix = given.rank() == 1 ? given.expand({0}) : given;
  std::vector<Tensor> parts;
  std::vector<TilePart> missing;
  for (const TilePart &tile : tiles) {
    const Tensor part = matrix.slice(tile.begin, tile.end, 1);
    // A row that begins between pairs, as a lone last neuron's does, cannot be loaded as pairs.
    const bool fits = tile.row() == tile.neurons() && liesOn(part.flatten(), tile.place);
    parts.push_back(fits ? part : Tensor());
    if (!fits)
      missing.push_back(tile);
  }
  if (missing.empty())
    return NeuronTensor(std::move(parts), tiles);
  const NeuronTensor own(graph, matrix.dim(0), missing, name, given.elementType());
  std::size_t next = 0;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (parts[i].valid())
      continue;
    const TilePart &tile = tiles[i];
    parts[i] = own.part(next++);
    copy(matrix.slice(tile.begin, tile.end, 1), parts[i].slice(0, tile.neurons(), 1));
    if (tile.row() != tile.neurons())
      zero(parts[i].slice(tile.neurons(), tile.row(), 1));
  }
  return NeuronTensor(std::move(parts), tiles);
}

NeuronTensor Arrivals::zeros(std::size_t rows, const std::vector<TilePart> &parts,
                             const std::string &name, const poplar::Type &type) {
  NeuronTensor t(graph, rows, parts, name, type);
  zero(t.all());
  return t;
}

Tensor Arrivals::samples(const Tensor &given, const SampleTiles &tiles, const std::string &name) {
  const Tensor bySample = (given.rank() == 2 ? given.expand({2}) : given).dimShuffle({1, 0, 2});
  bool fits = true;
  for (std::size_t b = 0; b < bySample.dim(0) && fits; ++b)
    fits = liesOn(bySample[b].flatten(), tiles[b]);
  if (fits)
    return bySample;
  const Tensor own = sampleTensor(graph, given.elementType(), bySample.dim(0), bySample.dim(1),
                                  bySample.dim(2), tiles, name);
  copy(bySample, own);
  return own;
}

void Arrivals::copy(const Tensor &source, const Tensor &target) {
  from.push_back(source.flatten());
  to.push_back(target.flatten());
}

void Arrivals::addTo(Sequence &program) {
  struct Batch {
    std::vector<Tensor> cleared, from, to;
  };
  std::map<std::string, Batch> byType;
  for (const Tensor &t : cleared)
    byType[t.elementType().toString()].cleared.push_back(t);
  for (std::size_t i = 0; i < from.size(); ++i) {
    byType[from[i].elementType().toString()].from.push_back(from[i]);
    byType[from[i].elementType().toString()].to.push_back(to[i]);
  }
  for (const auto &one : byType)
    if (!one.second.cleared.empty())
      popops::zero(graph.whole, poplar::concat(one.second.cleared), program, "clear");
  for (const auto &one : byType)
    if (!one.second.from.empty())
      program.add(
          Copy(poplar::concat(one.second.from), poplar::concat(one.second.to), false, "arrange"));
}

void Arrivals::addReturnTo(Sequence &program) const {
  for (std::size_t i = 0; i < from.size(); ++i)
    program.add(Copy(to[i], from[i], false, "return"));
}

} // namespace lif
