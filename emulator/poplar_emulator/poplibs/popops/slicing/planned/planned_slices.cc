#include "planned_slices.h"

#include <functional>

#include "part_vertices.h"

namespace popops {

using poplar::ComputeSet;
using poplar::DebugContext;
using poplar::Graph;
using poplar::Interval;
using poplar::Tensor;
using poplar::Type;
using poplar::VertexRef;
using poplar::emulator::MultiUpdate;
using poplar::program::Copy;
using poplar::program::Execute;
using poplar::program::Sequence;

namespace {

/// Elements [rows, columns] of a matrix, flat.
Tensor blockOf(const Tensor &t, const Interval &rows, const Interval &columns) {
  return t.slice(rows, 0).slice(columns, 1).flatten();
}

/// Calls f(lookup, row, column) for every tile of a partition with rows of the table.
template <typename F> void eachTile(const SlicePartition &p, F &&f) {
  for (std::size_t lookup = 0; lookup < p.lookups; ++lookup)
    for (std::size_t row = 0; row < p.rows; ++row)
      for (std::size_t column = 0; column < p.columns; ++column)
        f(lookup, row, column);
}

/// The rows of part `row` that tile (lookup, row, ...) stores.
Interval storedRows(const SlicePartition &p, std::size_t lookup, std::size_t row) {
  return partOf(p.rowsOf(row), lookup, p.lookups);
}
/// The lookups with their result on tile (lookup, row, ...).
Interval madeLookups(const SlicePartition &p, std::size_t serial, std::size_t lookup,
                     std::size_t row) {
  return partOf(p.lookupsOf(serial, lookup), row, p.rows);
}

/// A matrix in one variable for each part of its columns: each block of rows of a part is
/// contiguous.
struct ByColumns {
  std::vector<Tensor> parts; // [rows, columns of the part]
  ByColumns(Graph &graph, const Type &type, std::size_t rows, const SlicePartition &p,
            const DebugContext &dc) {
    for (std::size_t column = 0; column < p.columns; ++column)
      parts.push_back(graph.addVariable(type, {rows, p.columnsOf(column).size()}, dc));
  }
  Tensor whole() const { return poplar::concat(parts, 1); }
};

bool isByColumns(const Tensor &t, const SlicePartition &p, std::size_t parts,
                 const std::function<Interval(std::size_t)> &rows) {
  for (std::size_t part = 0; part < parts; ++part)
    for (std::size_t column = 0; column < p.columns; ++column)
      if (!blockOf(t, rows(part), p.columnsOf(column)).isContiguous())
        return false;
  return true;
}

/// A table in contiguous blocks: the one given, or a copy.
struct Table {
  Tensor whole;
  bool isCopy;
  std::vector<Tensor> blocks; // by part of the rows and of the columns

  Table(Graph &graph, const Tensor &t, const SlicePartition &p, Sequence &prog,
        const DebugContext &dc)
      : whole(t),
        isCopy(!isByColumns(t, p, p.rows, [&](std::size_t row) { return p.rowsOf(row); })) {
    if (isCopy) {
      whole = createTable(graph, t.elementType(), p, {dc, "table"});
      prog.add(Copy(t, whole, false, dc));
    }
    for (std::size_t row = 0; row < p.rows; ++row)
      for (std::size_t column = 0; column < p.columns; ++column)
        blocks.push_back(blockOf(whole, p.rowsOf(row), p.columnsOf(column)));
  }
};

/// Adds a vertex of a part. Fields that the vertex type has not are left out.
struct Part {
  Graph &graph;
  VertexRef v;
  Part(Graph &graph, ComputeSet cs, const char *name, const Type &type, const SlicePartition &p,
       std::size_t lookup, std::size_t row, std::size_t column, MultiUpdate kind = MultiUpdate::Set)
      : graph(graph), v(graph.addVertex(cs, name)) {
    set("type", static_cast<unsigned>(type.identity()));
    set("kind", static_cast<unsigned>(kind));
    set("columns", p.columnsOf(column).size());
    set("first", p.rowsOf(row).begin());
    set("rowsOfPart", p.rowsOfPart());
    set("parts", p.rows);
    graph.setTileMapping(v, p.tile(lookup, row, column));
  }
  void set(const char *field, std::size_t value) {
    graph.setInitialValue(v[field], static_cast<unsigned>(value));
  }
};

} // namespace

Tensor createTable(Graph &graph, const Type &type, const SlicePartition &p,
                   const DebugContext &dc) {
  const ByColumns made(graph, type, p.sizes.rows, p, dc);
  eachTile(p, [&](std::size_t lookup, std::size_t row, std::size_t column) {
    graph.setTileMapping(made.parts[column].slice(storedRows(p, lookup, row), 0),
                         p.tile(lookup, row, column));
  });
  return made.whole();
}

Tensor createSlices(Graph &graph, const Type &type, const SlicePartition &p,
                    const DebugContext &dc) {
  const ByColumns made(graph, type, p.sizes.lookups, p, dc);
  for (std::size_t serial = 0; serial < p.serial; ++serial)
    eachTile(p, [&](std::size_t lookup, std::size_t row, std::size_t column) {
      graph.setTileMapping(made.parts[column].slice(madeLookups(p, serial, lookup, row), 0),
                           p.tile(lookup, row, column));
    });
  return made.whole();
}

Tensor slicePlanned(Graph &graph, const Tensor &t, const Tensor &offsets, const SlicePartition &p,
                    Sequence &prog, const DebugContext &dc) {
  const Type type = t.elementType();
  const Table table(graph, t, p, prog, dc);
  const Tensor result = createSlices(graph, type, p, {dc, "slices"});
  // [parts of rows, lookups of a serial part, columns], by part of the columns
  std::vector<Tensor> candidates;
  const std::size_t atOnce = (p.sizes.lookups + p.serial - 1) / p.serial;
  if (p.rows > 1)
    for (std::size_t column = 0; column < p.columns; ++column)
      candidates.push_back(graph.addVariable(type, {p.rows, atOnce, p.columnsOf(column).size()},
                                             {dc, "candidates"}));
  for (std::size_t serial = 0; serial < p.serial; ++serial) {
    const std::size_t begin = p.lookupsOf(serial).begin();
    const ComputeSet first = graph.addComputeSet({dc, "multiSlice"});
    ComputeSet second;
    if (p.rows > 1)
      second = graph.addComputeSet({dc, "multiSliceChoose"});
    eachTile(p, [&](std::size_t lookup, std::size_t row, std::size_t column) {
      const Interval lookups = p.lookupsOf(serial, lookup), rows = p.rowsOf(row),
                     columns = p.columnsOf(column);
      if (lookups.size() == 0 || rows.size() == 0)
        return;
      const unsigned tile = p.tile(lookup, row, column);
      const Part part(graph, first, poplar::emulator::kSlicePart, type, p, lookup, row, column);
      graph.connect(part.v["rows"], std::vector<Tensor>{table.blocks[row * p.columns + column]});
      graph.connect(part.v["indices"], offsets.slice(lookups));
      if (p.rows == 1) {
        graph.connect(part.v["out"], blockOf(result, lookups, columns));
        return;
      }
      const Tensor out =
          candidates[column][row].slice({lookups.begin() - begin, lookups.end() - begin}, 0);
      graph.setTileMapping(out, tile);
      graph.connect(part.v["out"], out.flatten());
    });
    prog.add(Execute(first, dc));
    if (p.rows == 1)
      continue;
    eachTile(p, [&](std::size_t lookup, std::size_t row, std::size_t column) {
      const Interval lookups = madeLookups(p, serial, lookup, row);
      if (lookups.size() == 0)
        return;
      Part part(graph, second, poplar::emulator::kChoosePart, type, p, lookup, row, column);
      std::vector<Tensor> rows;
      for (std::size_t from = 0; from < p.rows && p.rowsOf(from).size(); ++from)
        rows.push_back(candidates[column][from]
                           .slice({lookups.begin() - begin, lookups.end() - begin}, 0)
                           .flatten());
      part.set("parts", 1); // all indices are found
      graph.connect(part.v["rows"], rows);
      graph.connect(part.v["indices"], offsets.slice(lookups));
      graph.connect(part.v["out"], blockOf(result, lookups, p.columnsOf(column)));
    });
    prog.add(Execute(second, dc));
  }
  return result;
}

void updatePlanned(Graph &graph, const Tensor &t, const Tensor &s, const Tensor &offsets,
                   const Tensor &scale, MultiUpdate kind, const SlicePartition &p, Sequence &prog,
                   const DebugContext &dc) {
  const Type type = t.elementType();
  const Table table(graph, t, p, prog, dc);
  Tensor slices = s;
  if (!isByColumns(s, p, p.serial, [&](std::size_t part) { return p.lookupsOf(part); })) {
    slices = createSlices(graph, type, p, {dc, "slices"});
    prog.add(Copy(s, slices, false, dc));
  }
  // [parts of lookups, rows, columns], by part of the columns
  std::vector<Tensor> collected;
  if (p.lookups > 1)
    for (std::size_t column = 0; column < p.columns; ++column)
      collected.push_back(graph.addVariable(
          type, {p.lookups, p.sizes.rows, p.columnsOf(column).size()}, {dc, "collected"}));
  for (std::size_t serial = 0; serial < p.serial; ++serial) {
    const ComputeSet first = graph.addComputeSet({dc, "multiUpdate"});
    eachTile(p, [&](std::size_t lookup, std::size_t row, std::size_t column) {
      const Interval lookups = p.lookupsOf(serial, lookup), rows = p.rowsOf(row),
                     columns = p.columnsOf(column);
      if (rows.size() == 0)
        return;
      const bool direct = p.lookups == 1;
      const Part part(graph, first,
                      direct ? poplar::emulator::kUpdatePart : poplar::emulator::kCollectPart, type,
                      p, lookup, row, column, kind);
      graph.connect(part.v["rows"], std::vector<Tensor>{blockOf(slices, lookups, columns)});
      graph.connect(part.v["indices"], offsets.slice(lookups));
      if (direct) {
        graph.connect(part.v["inout"], table.blocks[row * p.columns + column]);
        graph.connect(part.v["scalar"], scale.reshape({}));
        return;
      }
      const Tensor out = collected[column][lookup].slice(rows, 0);
      graph.setTileMapping(out, p.tile(lookup, row, column));
      graph.connect(part.v["out"], out.flatten());
    });
    prog.add(Execute(first, dc));
    if (p.lookups == 1)
      continue;
    const ComputeSet second = graph.addComputeSet({dc, "multiUpdateCombine"});
    eachTile(p, [&](std::size_t lookup, std::size_t row, std::size_t column) {
      const Interval rows = storedRows(p, lookup, row);
      if (rows.size() == 0)
        return;
      const Part part(graph, second, poplar::emulator::kCombineParts, type, p, lookup, row, column,
                      kind);
      std::vector<Tensor> parts;
      for (std::size_t from = 0; from < p.lookups; ++from)
        parts.push_back(collected[column][from].slice(rows, 0).flatten());
      graph.connect(part.v["rows"], parts);
      graph.connect(part.v["scalar"], scale.reshape({}));
      graph.connect(part.v["inout"], blockOf(table.whole, rows, p.columnsOf(column)));
    });
    prog.add(Execute(second, dc));
  }
  if (table.isCopy)
    prog.add(Copy(table.whole, t, false, dc));
}

} // namespace popops
