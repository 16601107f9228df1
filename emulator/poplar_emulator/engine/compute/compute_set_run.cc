#include "compute_set_run.h"

#include <algorithm>
#include <sstream>

#include <poplar/exceptions.hpp>

#include "counters.h"
#include "support/sanitize.h"
#include "vertex_watch.h"
#include "worker_schedule.h"

namespace poplar::emulator {

ComputeSetRun::ComputeSetRun(const Compiled &compiled, unsigned computeSet, MemoryImage &memory,
                             unsigned firstTile, bool poisonOutputs, bool checkBounds)
    : graph(*compiled.graph), memory(memory), firstTile(firstTile), poisonOutputs(poisonOutputs),
      checkBounds(checkBounds || sanitizes()), name(graph.computeSets[computeSet].name),
      checksAccess(sanitizes()) {
  VertexWatch::limit(); // raises for a wrong variable here, not in another thread
  std::vector<std::size_t> order = graph.computeSets[computeSet].vertices;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return graph.vertices[a].tile < graph.vertices[b].tile;
  });
  for (const std::size_t v : order) {
    const unsigned tile = graph.vertices[v].tile;
    if (tiles.empty() || tiles.back().tile != tile) {
      tiles.push_back({tile, vertices.size(), vertices.size(), 0});
      cycles.push_back({tile, 0});
    }
    bind(graph.vertices[v]);
    tiles.back().end = vertices.size();
  }
  std::size_t at = 0; // both lists go by tile
  for (const auto &[tile, rearranged] : compiled.rearranged.at(computeSet)) {
    while (tiles[at].tile != tile)
      ++at;
    tiles[at].rearranged = rearranged;
  }
  flops.resize(tiles.size());
  scopeCycles.resize(tiles.size() * scopes.size());
  results.resize(tiles.size());
  running.resize(tiles.size());
  faults.resize(tiles.size());
}

std::map<std::string, std::uint64_t> ComputeSetRun::cyclesByScope() const {
  std::map<std::string, std::uint64_t> sums;
  for (std::size_t i = 0; i < scopeCycles.size(); ++i)
    sums[scopes[i % scopes.size()]] += scopeCycles[i];
  return sums;
}

std::string ComputeSetRun::describe(std::size_t vertex, unsigned tile) const {
  return "vertex '" + std::string(vertices[vertex].table->name) + "' on tile " +
         std::to_string(tile) + " in compute set '" + name + "'";
}

void ComputeSetRun::runTile(std::size_t index) {
  if (VertexWatch::ofThread().run([this, index] { runVertices(index); }))
    return;
  AccessCheck::ofThread().begin(nullptr, 0, 0, false);
  std::ostringstream text;
  text << describe(running[index], tiles[index].tile) << " ";
  const std::string why = VertexWatch::ofThread().reason();
  if (!why.empty()) {
    faults[index] = text.str() + why;
    return;
  }
  text << "did not end: it took more than " << VertexWatch::limit()
       << " s of processor time ($IPULSE_EMULATOR_VERTEX_SECONDS)";
  faults[index] = text.str();
}

void ComputeSetRun::runVertices(std::size_t index) {
  const Machine &m = graph.machine;
  WorkerSchedule schedule(m);
  std::uint64_t operations = 0;
  bool result = true;
  enterTile(firstTile + tiles[index].tile, rounds);
  VertexWatch &watch = VertexWatch::ofThread();
  AccessCheck &access = AccessCheck::ofThread();
  for (std::size_t v = tiles[index].first; v < tiles[index].end; ++v) {
    const BoundVertex &vertex = vertices[v];
    running[index] = v;
    watch.begin();
    if (checksAccess)
      access.begin(&ranges, vertex.firstRange, vertex.endRange,
                   vertex.table->kind == field::Kind::MultiVertex);
    const bool counted = vertex.estimate == kCounted;
    for (std::uint32_t i = vertex.firstPoisoned; i < vertex.endPoisoned; ++i)
      poisonElements(poisoned[i].type, poisoned[i].first, poisoned[i].count);
    for (std::uint32_t i = vertex.firstStaged; i < vertex.endStaged; ++i)
      if (staged[i].in)
        memory.gather(*staged[i].view, staged[i].buffer);
    const std::uint64_t flopsBefore = popc_counters.flops();
    const auto compute = [&](unsigned worker) { // the bundles that it takes
      const std::uint64_t before = popc_counters.bundles();
      popc_tile.vertex = vertex.state;
      popc_tile.worker = vertex.table->kind == field::Kind::Vertex ? schedule.next() : worker;
      result &= vertex.table->compute(vertex.state, worker);
      return popc_counters.bundles() - before + vertex.overheadBundles;
    };
    std::uint64_t &worked = scopeCycles[index * scopes.size() + vertex.scope];
    if (vertex.table->kind == field::Kind::MultiVertex) {
      schedule.runOnAll([&](unsigned worker) {
        const std::uint64_t bundles = compute(worker);
        const std::uint64_t taken = counted ? bundles * m.workers : vertex.estimate;
        worked += taken;
        return taken;
      });
    } else {
      const std::uint64_t bundles = compute(0);
      if (vertex.table->kind == field::Kind::SupervisorVertex) {
        const std::uint64_t taken = counted ? bundles : vertex.estimate;
        worked += taken * m.workers;
        schedule.supervise(taken);
      } else {
        const std::uint64_t taken = counted ? bundles * m.workers : vertex.estimate;
        worked += taken;
        schedule.runOnOne(taken);
      }
    }
    if (checkBounds) {
      const std::string written = guards.writtenOutside(vertex.firstGuarded, vertex.endGuarded);
      if (!written.empty()) {
        if (faults[index].empty())
          faults[index] = describe(v, tiles[index].tile) + " " + written;
        guards.restore(vertex.firstGuarded, vertex.endGuarded); // for the next run
      }
    }
    operations += counted ? popc_counters.flops() - flopsBefore : vertex.estimatedFlops;
    for (std::uint32_t i = vertex.firstStaged; i < vertex.endStaged; ++i)
      if (staged[i].out)
        memory.scatter(*staged[i].view, staged[i].buffer);
  }
  if (checksAccess)
    access.begin(nullptr, 0, 0, false);
  cycles[index].cycles = tiles[index].rearranged + schedule.cycles();
  flops[index] = operations;
  results[index] = result;
}

ComputeCost ComputeSetRun::run(WorkerThreads &threads) {
  ++rounds;
  std::fill(faults.begin(), faults.end(), ""); // of a run that an error ended
  threads.run(tiles.size(), [this](std::size_t i) { runTile(i); });
  for (const std::string &fault : faults)
    if (!fault.empty())
      throw application_runtime_error(fault);
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
