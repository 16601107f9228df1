#include "compute_set_run.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "counters.h"
#include "field_layout.h"
#include "vertex_estimate.h"

namespace poplar::emulator {
namespace {

using field::Direction;
using field::FieldTable;
using field::Kind;
using field::Shape;
using field::Span;

constexpr std::size_t kArenaBytes = 1 << 20;
constexpr unsigned kMostWorkers = 64;

bool overlap(const View &a, const View &b) {
  bool found = false;
  a.forEachPiece([&](const Piece &x) {
    b.forEachPiece([&](const Piece &y) {
      found |= x.variable == y.variable && x.begin < y.end && y.begin < x.end;
    });
  });
  return found;
}

/// Whether an Output row also is what another field of the vertex reads: then the poison that
/// goes into it must not reach that field.
bool aliasesAnotherField(const VertexInstance &vertex, unsigned f, const View &view) {
  for (unsigned other = 0; other < vertex.type->table->numFields; ++other) {
    if (other == f || vertex.type->table->fields[other].direction == Direction::None)
      continue;
    for (const auto &row : vertex.fields[other].rows)
      if (overlap(*row, view))
        return true;
  }
  return false;
}

} // namespace

ComputeSetRun::ComputeSetRun(const GraphState &graph, unsigned computeSet, MemoryImage &memory)
    : graph(graph), memory(memory) {
  std::vector<std::size_t> order = graph.computeSets[computeSet].vertices;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return graph.vertices[a].tile < graph.vertices[b].tile;
  });
  for (const std::size_t v : order) {
    const unsigned tile = graph.vertices[v].tile;
    if (tiles.empty() || tiles.back().tile != tile) {
      tiles.push_back({tile, vertices.size(), vertices.size()});
      cycles.push_back({tile, 0});
    }
    bind(graph.vertices[v]);
    tiles.back().end = vertices.size();
  }
  flops.resize(tiles.size());
  results.resize(tiles.size());
}

char *ComputeSetRun::allocate(std::size_t bytes, std::size_t align) {
  align = std::max<std::size_t>(align, 16);
  std::size_t at = (arenaUsed + align - 1) / align * align;
  if (arenas.empty() || at + bytes > arenaSize) {
    arenaSize = std::max(kArenaBytes, bytes);
    arenas.emplace_back(new char[arenaSize]());
    at = 0;
  }
  arenaUsed = at + bytes;
  return arenas.back().get() + at;
}

void ComputeSetRun::bind(const VertexInstance &vertex) {
  const field::VertexTable &table = *vertex.type->table;
  BoundVertex bound{};
  bound.table = &table;
  bound.state = allocate(table.size, table.align);
  bound.firstStaged = static_cast<std::uint32_t>(staged.size());
  bound.firstPoisoned = static_cast<std::uint32_t>(poisoned.size());
  for (unsigned f = 0; f < table.numFields; ++f)
    bindField(vertex, f, bound.state + table.fields[f].offset);
  bound.endStaged = static_cast<std::uint32_t>(staged.size());
  bound.endPoisoned = static_cast<std::uint32_t>(poisoned.size());
  bound.overheadBundles = graph.machine.vertexOverheadBundles + unpackBundles(vertex);
  const std::optional<VertexPerfEstimate> estimate = estimateOf(graph, vertex);
  bound.estimate = estimate ? estimate->cycles : kCounted;
  bound.estimatedFlops = estimate ? estimate->flops : 0;
  vertices.push_back(bound);
}

void ComputeSetRun::bindField(const VertexInstance &vertex, unsigned f, char *at) {
  const FieldTable &table = vertex.type->table->fields[f];
  const Connection &c = vertex.fields[f];
  if (table.direction == Direction::None) {
    if (!c.set)
      return;
    if (table.shape == Shape::Scalar) {
      std::memcpy(at, c.value.data(), c.value.size());
      return;
    }
    char *values = allocate(c.value.size(), 16);
    std::copy(c.value.begin(), c.value.end(), values);
    const Span span{values, c.valueCount};
    std::memcpy(at, &span, sizeof span);
    return;
  }
  Span span{nullptr, 0};
  if (table.shape == Shape::VectorOfVectors) {
    char *rows = allocate(c.rows.size() * sizeof(Span), alignof(Span));
    for (std::size_t i = 0; i < c.rows.size(); ++i) {
      const Span row = bindRow(vertex, f, *c.rows[i]);
      std::memcpy(rows + i * sizeof row, &row, sizeof row);
    }
    span = {rows, c.rows.size()};
  } else if (c.rows.size() == 1) {
    span = bindRow(vertex, f, *c.rows[0]);
  } else {
    auto all = std::make_shared<View>();
    for (const auto &row : c.rows)
      all->append(*row, 0, row->size());
    joined.push_back(all);
    span = bindRow(vertex, f, *all);
  }
  std::memcpy(at, &span, sizeof span);
}

Span ComputeSetRun::bindRow(const VertexInstance &vertex, unsigned f, const View &view) {
  const FieldTable &table = vertex.type->table->fields[f];
  if (view.size() == 0)
    return {nullptr, 0};
  const Type type = graph.variables[view.runs()[0].variable].type;
  const std::size_t size = sizeOf(type);
  const bool written = table.direction != Direction::Input;
  const bool onePiece = view.runs().size() == 1 && view.runs()[0].stride == 1;
  char *direct = memory.at(view.runs()[0].variable, view.runs()[0].start);
  const std::size_t align = std::max<std::size_t>(table.minAlign, 1);
  const bool aligned = reinterpret_cast<std::uintptr_t>(direct) % align == 0;
  Span span{direct, view.size()};
  // Poplar rearranges what a field cannot point at: so does this, into a buffer.
  if (!onePiece || !aligned ||
      (table.direction == Direction::Output && aliasesAnotherField(vertex, f, view))) {
    char *buffer = allocate(view.size() * size, std::max<std::size_t>(align, 16));
    staged.push_back({&view, buffer, table.direction != Direction::Output, written});
    span.first = buffer;
  }
  if (table.direction == Direction::Output)
    poisoned.push_back({type, span.first, span.count});
  return span;
}

void ComputeSetRun::runTile(std::size_t index) {
  const Machine &m = graph.machine;
  std::uint64_t worker[kMostWorkers] = {}; // by worker: cycles of its own time
  const unsigned workers = std::min(m.workers, kMostWorkers);
  std::uint64_t supervisor = 0, operations = 0;
  bool result = true;
  enterTile(tiles[index].tile, rounds);
  for (std::size_t v = tiles[index].first; v < tiles[index].end; ++v) {
    const BoundVertex &vertex = vertices[v];
    for (std::uint32_t i = vertex.firstPoisoned; i < vertex.endPoisoned; ++i)
      poisonElements(poisoned[i].type, poisoned[i].first, poisoned[i].count);
    for (std::uint32_t i = vertex.firstStaged; i < vertex.endStaged; ++i)
      if (staged[i].in)
        memory.gather(*staged[i].view, staged[i].buffer);
    const Counters before = popc_counters;
    const auto bundlesSince = [](std::uint64_t start) { return popc_counters.bundles - start; };
    std::uint64_t *least = std::min_element(worker, worker + workers);
    if (vertex.table->kind == Kind::MultiVertex) {
      // The vertex starts when all workers are free, and each runs its share of it.
      const std::uint64_t start = *std::max_element(worker, worker + workers);
      for (unsigned w = 0; w < workers; ++w) {
        const std::uint64_t own = popc_counters.bundles;
        result &= vertex.table->compute(vertex.state, w);
        worker[w] = start + (bundlesSince(own) + vertex.overheadBundles) * m.workers;
      }
      if (vertex.estimate != kCounted)
        std::fill(worker, worker + workers, start + vertex.estimate);
    } else {
      result &= vertex.table->compute(vertex.state, 0);
      const std::uint64_t bundles = bundlesSince(before.bundles) + vertex.overheadBundles;
      if (vertex.table->kind == Kind::SupervisorVertex)
        supervisor += vertex.estimate == kCounted ? bundles : vertex.estimate;
      else
        *least += vertex.estimate == kCounted ? bundles * m.workers : vertex.estimate;
    }
    operations +=
        vertex.estimate == kCounted ? popc_counters.flops - before.flops : vertex.estimatedFlops;
    for (std::uint32_t i = vertex.firstStaged; i < vertex.endStaged; ++i)
      if (staged[i].out)
        memory.scatter(*staged[i].view, staged[i].buffer);
  }
  const std::uint64_t slowest = *std::max_element(worker, worker + workers);
  cycles[index].cycles = supervisor + slowest + (slowest ? m.superviseCycles : 0);
  flops[index] = operations;
  results[index] = result;
}

ComputeCost ComputeSetRun::run(WorkerThreads &threads) {
  ++rounds;
  threads.run(tiles.size(), [this](std::size_t i) { runTile(i); });
  ComputeCost cost;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    cost.cycles = std::max(cost.cycles, cycles[i].cycles);
    cost.totalCycles += cycles[i].cycles;
    cost.flops += flops[i];
    cost.result &= results[i] != 0;
  }
  cost.activeTiles = tiles.size();
  return cost;
}

} // namespace poplar::emulator
