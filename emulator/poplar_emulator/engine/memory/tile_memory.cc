#include "tile_memory.h"

#include <algorithm>
#include <sstream>

#include <poplar/exceptions.hpp>

#include "graph/field_layout.h"
#include "profile/traffic.h"
#include "session/engine_options.h"

namespace poplar::emulator {
namespace {

using field::FieldTable;
using field::Shape;

} // namespace

MemoryModel::MemoryModel(const GraphState &graph)
    : graph(graph), memory(graph.machine.numTiles()),
      workerStacks(memory.size(), graph.machine.stackBytesPerWorker),
      supervisorStacks(memory.size(), graph.machine.supervisorStackBytes) {
  const Machine &m = graph.machine;
  for (TileMemory &tile : memory)
    tile.stack = std::uint64_t{m.stackBytesPerWorker} * m.workers + m.supervisorStackBytes;
}

void MemoryModel::addVertex(const VertexInstance &vertex) {
  TileMemory &tile = memory[vertex.tile];
  tile.vertexInstanceState += stateBytes(vertex);
  for (unsigned f = 0; f < vertex.type->table->numFields; ++f) {
    const FieldTable &table = vertex.type->table->fields[f];
    const Connection &c = vertex.fields[f];
    if (table.shape != Shape::Scalar)
      for (const std::vector<char> &row : c.values)
        tile.vertexFieldData += row.size();
    if (table.shape == Shape::VectorOfVectors)
      tile.vertexFieldData += (c.rows.size() + c.values.size()) * pointerBytes(table.layout);
  }
  const field::VertexTable &type = *vertex.type->table;
  if (!codeOnTile.emplace(vertex.tile, &type).second)
    return;
  tile.vertexCode += type.codeBytes;
  for (const field::StaticData *data = type.data; data && data->address; ++data)
    if (dataOnTile.emplace(vertex.tile, data->address).second)
      tile.vertexCode += data->bytes;
  const bool supervises = type.kind == field::Kind::SupervisorVertex;
  std::uint64_t &stack = (supervises ? supervisorStacks : workerStacks)[vertex.tile];
  stack = std::max<std::uint64_t>(stack, type.stackBytes);
  tile.stack = workerStacks[vertex.tile] * graph.machine.workers + supervisorStacks[vertex.tile];
}

void MemoryModel::addExchange(const Traffic &traffic) {
  const std::uint64_t bytes = graph.machine.exchangeCodeBytesPerPiece;
  const std::vector<Traffic::Pieces> &pieces = traffic.pieces();
  for (std::size_t t = 0; t < memory.size(); ++t) {
    // All replicas have the same code, with space for the replica that receives most.
    Traffic::Pieces most;
    for (std::size_t at = t; at < pieces.size(); at += memory.size()) {
      most.within = std::max(most.within, pieces[at].within);
      most.fromOtherIpus = std::max(most.fromOtherIpus, pieces[at].fromOtherIpus);
    }
    memory[t].internalExchangeCode += most.within * bytes;
    memory[t].globalExchangeCode += most.fromOtherIpus * bytes;
  }
}

void MemoryModel::addBuffers(unsigned computeSet,
                             const std::vector<const std::vector<std::uint64_t> *> &byTile) {
  auto &tiles = held[computeSet];
  for (unsigned t = 0; t < memory.size(); ++t) {
    std::uint64_t bytes = 0;
    for (const std::vector<std::uint64_t> *list : byTile)
      bytes += (*list)[t];
    if (bytes)
      tiles.emplace_back(t, bytes);
  }
}

void MemoryModel::addStep(const ProgramNode &node) {
  for (TileMemory &tile : memory)
    tile.controlCode += graph.machine.controlCodeBytesPerStep;
  switch (node.kind) {
  case ProgramNode::Kind::CopyFromStream:
  case ProgramNode::Kind::CopyFromRemote:
    addHostCopy(node.destination);
    break;
  case ProgramNode::Kind::CopyToStream:
  case ProgramNode::Kind::CopyToRemote:
    addHostCopy(node.source);
    break;
  default:
    break;
  }
}

void MemoryModel::addHostCopy(const Tensor &t) {
  t.view().forEachPiece([&](const Piece &p) {
    graph.variables[p.variable].tiles.forEach(
        p.begin, p.end, [&](std::size_t, std::size_t, unsigned tile) {
          if (tile != kNoTile) // the checks report it
            memory[tile].hostExchangeCode += graph.machine.exchangeCodeBytesPerPiece;
        });
  });
}

void MemoryModel::addVariables(const Liveness &liveness) {
  for (std::size_t t = 0; t < memory.size(); ++t) {
    memory[t].variable = liveness.peaks[t].variable;
    memory[t].message = liveness.peaks[t].message;
    memory[t].notAlwaysLive = liveness.peaks[t].total();
  }
  for (std::size_t v = 0; v < graph.variables.size(); ++v) {
    const Variable &variable = graph.variables[v];
    const std::size_t size = sizeOf(variable.type);
    if (!liveness.always[v])
      continue;
    variable.tiles.forEach(0, variable.elements, [&](std::size_t b, std::size_t e, unsigned tile) {
      if (tile != kNoTile)
        (variable.constant ? memory[tile].constant : memory[tile].variable) += (e - b) * size;
    });
  }
}

std::vector<std::pair<std::uint64_t, unsigned>> largestVariables(const GraphState &graph,
                                                                 unsigned tile, std::size_t count) {
  std::vector<std::pair<std::uint64_t, unsigned>> largest;
  for (unsigned v = 0; v < graph.variables.size(); ++v) {
    const Variable &variable = graph.variables[v];
    std::uint64_t bytes = 0;
    variable.tiles.forEach(0, variable.elements, [&](std::size_t b, std::size_t e, unsigned t) {
      bytes += t == tile ? (e - b) * sizeOf(variable.type) : 0;
    });
    if (bytes)
      largest.emplace_back(bytes, v);
  }
  std::sort(largest.rbegin(), largest.rend());
  largest.resize(std::min(largest.size(), count));
  return largest;
}

void checkFits(const Compiled &compiled) {
  const GraphState &graph = *compiled.graph;
  const std::vector<TileMemory> &memory = compiled.memory;
  const auto worst =
      std::max_element(memory.begin(), memory.end(), [](const TileMemory &a, const TileMemory &b) {
        return a.total() < b.total();
      });
  const std::uint64_t limit = graph.machine.bytesPerTile;
  if (worst == memory.end() || worst->total() <= limit ||
      isOn(compiled.options, "debug.allowOutOfMemory"))
    return;
  const auto tile = static_cast<unsigned>(worst - memory.begin());
  const auto over = std::count_if(memory.begin(), memory.end(),
                                  [&](const TileMemory &t) { return t.total() > limit; });
  std::ostringstream words;
  words << "Out of memory: Cannot fit all variable data onto one or more tiles. Tile " << tile
        << " needs " << worst->total() << " bytes and has " << limit << "; " << over
        << (over == 1 ? " tile is" : " tiles are") << " over. Of these, "
        << worst->internalExchangeCode + worst->globalExchangeCode + worst->hostExchangeCode
        << " are code of exchanges, " << worst->controlCode + worst->vertexCode
        << " other code and static data of codelets, " << worst->stack << " stacks and "
        << worst->vertexInstanceState + worst->vertexFieldData
        << " vertices. Largest variables of tile " << tile << ":";
  const char *between = " ";
  for (const auto &[bytes, v] : largestVariables(graph, tile, 5)) {
    words << between << '\'' << graph.variables[v].name << "' " << bytes << " bytes"
          << (compiled.liveness.always[v] ? "" : " (at times)");
    between = ", ";
  }
  throw graph_memory_allocation_error(words.str());
}

} // namespace poplar::emulator
