#include "traffic.h"

#include <algorithm>
#include <cmath>

namespace poplar::emulator {

Traffic::Traffic(const GraphState &graph, TileAddresses &addresses, Machine whole)
    : graph(graph), addresses(addresses), machine(std::move(whole)), local(machine) {}

void Traffic::move(unsigned variable, std::size_t begin, std::size_t end, unsigned from,
                   unsigned to) {
  const std::uint64_t bytes = (end - begin) * sizeOf(graph.variables[variable].type);
  in[to] += bytes;
  total += bytes;
  sent.emplace_back(from / graph.machine.numTiles(), variable, begin, end, from);
  const unsigned source = from / graph.machine.tilesPerIPU, sink = to / graph.machine.tilesPerIPU;
  if (source == sink) {
    ++received[to].within;
  } else {
    ++received[to].fromOtherIpus;
    betweenIpus[{source, sink}] += bytes;
  }
}

void Traffic::read(const View &view, unsigned tile) {
  view.forEachPiece([&](const Piece &p) {
    graph.variables[p.variable].tiles.forEach(
        p.begin, p.end, [&](std::size_t b, std::size_t e, unsigned from) {
          if (from == tile || !arrived.insert({p.variable, b, e, tile}).second)
            return;
          move(p.variable, b, e, from, tile);
          buffers[tile] += (e - b) * sizeOf(graph.variables[p.variable].type);
        });
  });
}

void Traffic::write(const View &view, unsigned tile) {
  view.forEachPiece([&](const Piece &p) {
    const std::size_t size = sizeOf(graph.variables[p.variable].type);
    graph.variables[p.variable].tiles.forEach(p.begin, p.end,
                                              [&](std::size_t b, std::size_t e, unsigned to) {
                                                if (to == tile)
                                                  return;
                                                move(p.variable, b, e, tile, to);
                                                buffers[tile] += (e - b) * size;
                                              });
  });
}

void Traffic::copy(const View &from, const View &to, unsigned fromReplica, unsigned toReplica) {
  const unsigned firstSource = fromReplica * graph.machine.numTiles();
  const unsigned firstTarget = toReplica * graph.machine.numTiles();
  const std::vector<Piece> a = from.pieces(), b = to.pieces();
  std::size_t i = 0, j = 0, skipA = 0, skipB = 0;
  while (i < a.size() && j < b.size()) {
    const std::size_t n = std::min(a[i].end - a[i].begin - skipA, b[j].end - b[j].begin - skipB);
    const std::size_t at = a[i].begin + skipA;
    const std::size_t shift = b[j].begin + skipB - at; // wraps around, and back
    const unsigned variable = a[i].variable, sink = b[j].variable;
    const std::size_t size = sizeOf(graph.variables[variable].type);
    addresses.forEach(
        variable, at, at + n, [&](std::size_t s, std::size_t e, unsigned source, std::size_t from) {
          addresses.forEach(
              sink, s + shift, e + shift,
              [&](std::size_t x, std::size_t y, unsigned target, std::size_t to) {
                const std::size_t begin = x - shift, end = y - shift;
                if (source + firstSource == target + firstTarget)
                  local.add(target + firstTarget, {variable, (from + begin - s) * size},
                            {sink, to * size}, (end - begin) * size);
                else
                  move(variable, begin, end, source + firstSource, target + firstTarget);
              });
        });
    skipA += n;
    skipB += n;
    if (skipA == a[i].end - a[i].begin)
      ++i, skipA = 0;
    if (skipB == b[j].end - b[j].begin)
      ++j, skipB = 0;
  }
}

ExchangeCost Traffic::cost() const {
  const Machine &m = machine;
  ExchangeCost cost;
  if (sent.empty())
    return cost;
  auto sorted = sent;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint64_t> out(m.numTiles());
  unsigned replica = 0, variable = kNoTile;
  std::size_t reached = 0;
  for (const auto &[r, v, begin, end, tile] : sorted) {
    if (v != variable || r != replica)
      replica = r, variable = v, reached = 0;
    const std::size_t from = std::max(begin, reached);
    if (end > from)
      out[tile] += (end - from) * sizeOf(graph.variables[v].type);
    reached = std::max(reached, end);
  }
  cost.bytesIn = *std::max_element(in.begin(), in.end());
  cost.bytesOut = *std::max_element(out.begin(), out.end());
  cost.bytesTotal = total;
  const std::uint64_t most = std::max(cost.bytesIn, cost.bytesOut);
  cost.cycles =
      m.exchangeOverheadCycles + (most + m.exchangeBytesPerCycle - 1) / m.exchangeBytesPerCycle;
  if (betweenIpus.empty())
    return cost;
  double slowest = 0; // each pair of IPUs has links of its own
  for (const auto &[ipus, bytes] : betweenIpus) {
    const bool oneCard = ipus.first / 2 == ipus.second / 2;
    slowest = std::max(
        slowest, static_cast<double>(bytes) /
                     (m.linkBytesPerSecond * (oneCard ? m.linksWithinCard : m.linksBetweenCards)));
    cost.bytesBetweenIpus += bytes;
  }
  // PopLibs lib/poplibs_test/Util.cpp: hops of a global sync, there and back.
  const double hops = 1 + (m.numIPUs / 2) / 2;
  cost.cycles += static_cast<std::uint64_t>(std::ceil(m.hopSeconds * m.clockHz * hops * 2) +
                                            std::ceil(slowest * m.clockHz));
  return cost;
}

std::uint64_t Traffic::localCycles() {
  std::uint64_t most = 0;
  for (const auto &tile : local.cycles())
    most = std::max(most, tile.second);
  return most;
}

} // namespace poplar::emulator
