#include "compute_set_run.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "codelets/vertex_estimate.h"
#include "graph/field_layout.h"
#include "graph/other_fields.h"
#include "graph/vertex_scope.h"

namespace poplar::emulator {
namespace {

using field::Direction;
using field::FieldTable;
using field::Shape;
using field::Span;

constexpr std::size_t kFirstArenaBytes = 1 << 12, kArenaBytes = 1 << 20;

} // namespace

char *ComputeSetRun::allocate(std::size_t bytes, std::size_t align, bool own) {
  align = std::max<std::size_t>(align, 16);
  std::size_t at = (arenaUsed + align - 1) / align * align;
  if (arenas.empty() || at + bytes > arenaSize) {
    // A program may have thousands of compute sets with a few vertices each.
    arenaSize =
        std::max(arenas.empty() ? kFirstArenaBytes : std::min(2 * arenaSize, kArenaBytes), bytes);
    arenas.emplace_back(new char[arenaSize]());
    at = 0;
  }
  arenaUsed = at + bytes;
  if (own && checksAccess)
    ranges.add(nullptr, arenas.back().get() + at, bytes);
  return arenas.back().get() + at;
}

void ComputeSetRun::bind(const VertexInstance &vertex) {
  const field::VertexTable &table = *vertex.type->table;
  BoundVertex bound{};
  bound.table = &table;
  bound.firstRange = ranges.size();
  bound.state = allocate(table.size, table.align);
  bound.firstStaged = static_cast<std::uint32_t>(staged.size());
  bound.firstPoisoned = static_cast<std::uint32_t>(poisoned.size());
  bound.firstGuarded = static_cast<std::uint32_t>(guards.size());
  for (unsigned f = 0; f < table.numFields; ++f)
    bindField(vertex, f, bound.state + table.fields[f].offset);
  bound.endStaged = static_cast<std::uint32_t>(staged.size());
  bound.endPoisoned = static_cast<std::uint32_t>(poisoned.size());
  bound.endGuarded = static_cast<std::uint32_t>(guards.size());
  bound.endRange = ranges.size();
  ranges.sort(bound.firstRange, bound.endRange);
  bound.overheadBundles =
      graph.machine.vertexOverheadBundles + unpackBundles(graph.machine, vertex);
  const std::optional<VertexPerfEstimate> estimate = estimateOf(graph, vertex);
  bound.estimate = estimate ? estimate->cycles : kCounted;
  bound.estimatedFlops = estimate ? estimate->flops : 0;
  bound.scope = placeOfScope(vertex);
  vertices.push_back(bound);
}

std::uint32_t ComputeSetRun::placeOfScope(const VertexInstance &vertex) {
  const auto place = static_cast<std::uint32_t>(scopes.size());
  const auto found = scopePlaces.try_emplace(scopeOf(graph, vertex), place);
  if (found.second)
    scopes.push_back(found.first->first);
  return found.first->second;
}

void ComputeSetRun::bindField(const VertexInstance &vertex, unsigned f, char *at) {
  const FieldTable &table = vertex.type->table->fields[f];
  const Connection &c = vertex.fields[f];
  if (table.direction == Direction::None) {
    if (c.set)
      bindValues(table, c.values, at);
    return;
  }
  std::optional<OtherFields> others;
  if (table.direction == Direction::Output)
    others.emplace(vertex, f);
  const auto bindRow = [&](const View &view) {
    return this->bindRow(table, view, others && others->overlap(view), vertex.tile);
  };
  Span span{nullptr, 0};
  if (table.shape == Shape::VectorOfVectors) {
    char *rows = allocate(c.rows.size() * sizeof(Span), alignof(Span));
    for (std::size_t i = 0; i < c.rows.size(); ++i) {
      const Span row = bindRow(*c.rows[i]);
      std::memcpy(rows + i * sizeof row, &row, sizeof row);
    }
    span = {rows, c.rows.size()};
  } else if (c.rows.size() == 1) {
    span = bindRow(*c.rows[0]);
  } else {
    auto all = std::make_shared<View>();
    for (const auto &row : c.rows)
      all->append(*row, 0, row->size());
    joined.push_back(all);
    span = bindRow(*all);
  }
  std::memcpy(at, &span, sizeof span);
}

void ComputeSetRun::bindValues(const FieldTable &table,
                               const std::vector<std::vector<char>> &values, char *at) {
  if (table.shape == Shape::Scalar) {
    std::memcpy(at, values[0].data(), values[0].size());
    return;
  }
  std::vector<Span> spans;
  for (const std::vector<char> &row : values) {
    char *copy = allocate(row.size(), 16);
    std::copy(row.begin(), row.end(), copy);
    spans.push_back({copy, row.size() / sizeOf(Type(table.element))});
  }
  Span span{nullptr, spans.size()};
  if (table.shape == Shape::Vector) {
    span = spans[0];
  } else if (!spans.empty()) {
    span.first = allocate(spans.size() * sizeof(Span), alignof(Span));
    std::memcpy(span.first, spans.data(), spans.size() * sizeof(Span));
  }
  std::memcpy(at, &span, sizeof span);
}

Span ComputeSetRun::bindRow(const FieldTable &table, const View &view, bool aliased,
                            unsigned tile) {
  if (view.size() == 0)
    return {nullptr, 0};
  const Type type = graph.variables[view.runs()[0].variable].type;
  const std::size_t size = sizeOf(type);
  const bool written = table.direction != Direction::Input;
  const bool poison =
      table.direction == Direction::Output && (poisonOutputs || !isOnTile(graph, view, tile));
  const bool onePiece = view.runs().size() == 1 && view.runs()[0].stride == 1;
  char *direct = memory.at(view.runs()[0].variable, view.runs()[0].start);
  const std::size_t align = std::max<std::size_t>(table.minAlign, 1);
  const bool aligned = reinterpret_cast<std::uintptr_t>(direct) % align == 0;
  Span span{direct, view.size()};
  // Poplar rearranges rows that are not contiguous; this copies them to a buffer.
  if (!onePiece || !aligned || aliased || checkBounds) {
    const std::size_t guard = checkBounds ? std::max(RowGuards::kBytes, align) : 0;
    const std::size_t bytes = view.size() * size;
    // Where accesses are checked, a row has no more than the alignment that its field asks for.
    const std::size_t most = std::max<std::size_t>(align, 16),
                      skew = checksAccess ? align % most : 0;
    char *buffer = allocate(bytes + 2 * guard + skew, most, false) + guard + skew;
    if (checkBounds)
      guards.add(table, buffer, bytes);
    if (checksAccess)
      ranges.add(&table, buffer, bytes);
    staged.push_back({&view, buffer, !poison, written});
    span.first = buffer;
  }
  if (poison)
    poisoned.push_back({type, span.first, span.count});
  return span;
}

} // namespace poplar::emulator
