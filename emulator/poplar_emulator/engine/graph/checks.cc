#include "checks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <poplar/exceptions.hpp>

#include "memory/tile_addresses.h"
#include "support/sanitize.h"

namespace poplar::emulator {
namespace {

using field::Direction;
using field::FieldTable;
using field::Shape;

constexpr std::size_t kShortSpanElements = 2047; // 11 bits of length

std::string nameOf(const GraphState &graph, const VertexInstance &vertex) {
  return "vertex of type '" + std::string(vertex.type->table->name) + "' in compute set '" +
         graph.computeSets[vertex.computeSet].name + "'";
}

void checkField(const GraphState &graph, const VertexInstance &vertex, const FieldTable &table,
                const Connection &connection) {
  const std::string words = "field '" + std::string(table.name) + "' of a " + nameOf(graph, vertex);
  if (table.direction == Direction::None) {
    if (!connection.set && table.shape != Shape::Scalar)
      throw no_size_specified(words + " has neither values nor a size");
    if (!connection.set && sanitizes() && !vertex.type->library->isBuiltin())
      throw graph_connection_error(words + " has no value: Graph::setInitialValue sets it");
    return;
  }
  const bool hole = std::any_of(connection.rows.begin(), connection.rows.end(),
                                [](const auto &row) { return !row; });
  if (!connection.set || hole)
    throw graph_connection_error(words + " is connected to no tensor");
  for (const auto &row : connection.rows) {
    if (table.layout == VectorLayout::SHORT_SPAN && row->size() > kShortSpanElements)
      throw memory_elem_constraints_error(words +
                                          " has the layout SHORT_SPAN, of at most 2047 "
                                          "elements, and " +
                                          std::to_string(row->size()));
    checkMapped(graph, *row, words);
  }
}

struct Access {
  Piece piece;
  std::size_t vertex;
  bool write;
};

/// The accesses seen so far that reach furthest: of all, and of the other vertices.
struct Reach {
  const Access *first = nullptr, *second = nullptr;

  void add(const Access &a) {
    if (first && first->vertex == a.vertex) {
      if (a.piece.end > first->piece.end)
        first = &a;
    } else if (!first || a.piece.end > first->piece.end) {
      second = first;
      first = &a;
    } else if (!second || a.piece.end > second->piece.end) {
      second = &a;
    }
  }
  /// One of another vertex that overlaps `next`, which begins after it; or null.
  const Access *overlapping(const Access &next) const {
    for (const Access *a : {first, second})
      if (a && a->vertex != next.vertex && a->piece.end > next.piece.begin)
        return a;
    return nullptr;
  }
};

void checkConflicts(const GraphState &graph, const ComputeSetState &set) {
  std::vector<Access> accesses;
  for (const std::size_t v : set.vertices) {
    const VertexInstance &vertex = graph.vertices[v];
    for (unsigned f = 0; f < vertex.type->table->numFields; ++f) {
      const Direction direction = vertex.type->table->fields[f].direction;
      if (direction == Direction::None)
        continue;
      for (const auto &row : vertex.fields[f].rows)
        row->forEachPiece(
            [&](const Piece &p) { accesses.push_back({p, v, direction != Direction::Input}); });
    }
  }
  std::sort(accesses.begin(), accesses.end(), [](const Access &a, const Access &b) {
    return std::tie(a.piece.variable, a.piece.begin, a.vertex) <
           std::tie(b.piece.variable, b.piece.begin, b.vertex);
  });
  const auto refuse = [&](const Access &a, const Access &b) {
    throw graph_cycle_error("compute set '" + set.name + "': element " +
                            std::to_string(b.piece.begin) + " of variable '" +
                            graph.variables[b.piece.variable].name + "' is " +
                            (a.write && b.write ? "written by two vertices"
                                                : "written by one vertex and read by "
                                                  "another") +
                            ", of types '" + graph.vertices[a.vertex].type->table->name +
                            "' and '" + graph.vertices[b.vertex].type->table->name + "'");
  };
  Reach writes, reads;
  unsigned variable = 0;
  for (const Access &next : accesses) {
    if (next.piece.variable != variable)
      writes = reads = Reach();
    variable = next.piece.variable;
    if (const Access *other = writes.overlapping(next))
      refuse(*other, next);
    if (const Access *other = next.write ? reads.overlapping(next) : nullptr)
      refuse(*other, next);
    (next.write ? writes : reads).add(next);
  }
}

/// Checks that no two vertices of a tile write into the same word of it: a tile stores 8 and 16
/// bits by reading the word, and so the later store may bring back what the word was.
void checkWords(const GraphState &graph, const ComputeSetState &set, unsigned granularity) {
  TileAddresses addresses(graph);
  std::map<std::tuple<unsigned, unsigned, std::size_t>, std::size_t> writers;
  for (const std::size_t v : set.vertices) {
    const VertexInstance &vertex = graph.vertices[v];
    const field::VertexTable &type = *vertex.type->table;
    if (vertex.type->library->isBuiltin())
      continue; // stands for several vertices of PopLibs
    const auto add = [&](const Piece &p) {
      const std::size_t size = sizeOf(graph.variables[p.variable].type);
      if (size >= granularity)
        return;
      addresses.forEach(
          p.variable, p.begin, p.end,
          [&](std::size_t begin, std::size_t end, unsigned tile, std::size_t address) {
            if (tile != vertex.tile || begin == end)
              return; // the vertex has a buffer of its own
            const std::size_t last = (address + end - begin - 1) * size / granularity;
            for (std::size_t word : {address * size / granularity, last}) {
              const auto [at, isNew] = writers.emplace(std::make_tuple(p.variable, tile, word), v);
              if (isNew || at->second == v)
                continue;
              throw graph_cycle_error(
                  "compute set '" + set.name + "': vertices of types '" +
                  graph.vertices[at->second].type->table->name + "' and '" + type.name +
                  "' write into the same word of " + std::to_string(granularity) +
                  " bytes of tile " + std::to_string(tile) + ", with element " +
                  std::to_string(begin) + " of variable '" + graph.variables[p.variable].name +
                  "': one may undo what the other writes");
            }
          });
    };
    for (unsigned f = 0; f < type.numFields; ++f)
      if (type.fields[f].direction == Direction::Output ||
          type.fields[f].direction == Direction::InOut)
        for (const auto &row : vertex.fields[f].rows)
          row->forEachPiece(add);
  }
}

/// Checks that the tensors of fields with interleaved memory fit into the interleaved half of a
/// tile.
void checkInterleaved(const GraphState &graph, const ComputeSetState &set) {
  const Machine &m = graph.machine;
  if (m.memoryElementOffsets.size() < 2)
    return;
  std::map<unsigned, std::map<unsigned, std::set<std::pair<std::size_t, std::size_t>>>> tiles;
  for (const std::size_t v : set.vertices) {
    const VertexInstance &vertex = graph.vertices[v];
    for (unsigned f = 0; f < vertex.type->table->numFields; ++f)
      if (vertex.type->table->fields[f].interleaved)
        for (const auto &row : vertex.fields[f].rows)
          row->forEachPiece(
              [&](const Piece &p) { tiles[vertex.tile][p.variable].insert({p.begin, p.end}); });
  }
  const std::size_t most = m.bytesPerTile - m.memoryElementOffsets[1];
  for (const auto &[tile, variables] : tiles) {
    std::size_t bytes = 0;
    for (const auto &[variable, pieces] : variables)
      for (const auto &[begin, end] : pieces)
        bytes += (end - begin) * sizeOf(graph.variables[variable].type);
    if (bytes > most)
      throw memory_elem_constraints_error("compute set '" + set.name + "': vertices of tile " +
                                          std::to_string(tile) + " need " + std::to_string(bytes) +
                                          " bytes of interleaved memory, and a tile has " +
                                          std::to_string(most));
  }
}

/// Raises link_error for code that a tile cannot have.
void checkLinks(const GraphState &graph, const VertexInstance &vertex) {
  const char *const *problems = vertex.type->table->problems;
  const bool onDevice = graph.machine.type == TargetType::IPU;
  for (const char *problem :
       {problems ? problems[0] : nullptr, problems && onDevice ? problems[1] : nullptr})
    if (problem)
      throw link_error(nameOf(graph, vertex) + ": " + problem, problem);
}

} // namespace

void checkMapped(const GraphState &graph, const View &view, const std::string &use) {
  for (const Run &run : view.runs()) {
    const Variable &variable = graph.variables[run.variable];
    const std::size_t a = run.start, b = run.at(run.count - 1);
    const auto check = [&](std::size_t begin, std::size_t end) {
      variable.tiles.forEach(begin, end, [&](std::size_t from, std::size_t, unsigned tile) {
        if (tile == kNoTile)
          throw invalid_tile_mapping("element " + std::to_string(from) + " of variable '" +
                                     variable.name + "' has no tile mapping and is used by " + use);
      });
    };
    if (run.stride == 1 || run.stride == 0) {
      check(std::min(a, b), std::max(a, b) + 1);
    } else {
      for (std::size_t i = 0; i < run.count; ++i)
        check(run.at(i), run.at(i) + 1);
    }
  }
}

void checkComputeSet(const GraphState &graph, unsigned computeSet) {
  const ComputeSetState &set = graph.computeSets.at(computeSet);
  for (const std::size_t v : set.vertices) {
    const VertexInstance &vertex = graph.vertices[v];
    if (vertex.tile == kNoTile)
      throw invalid_tile_mapping("a " + nameOf(graph, vertex) + " has no tile mapping");
    checkLinks(graph, vertex);
    for (unsigned f = 0; f < vertex.type->table->numFields; ++f)
      checkField(graph, vertex, vertex.type->table->fields[f], vertex.fields[f]);
  }
  checkInterleaved(graph, set);
  checkConflicts(graph, set);
  if (sanitizes())
    checkWords(graph, set, graph.machine.atomicStoreGranularity);
}

} // namespace poplar::emulator
