#include <algorithm>
#include <iomanip>
#include <ostream>

#include "engine_options.h"
#include "profile.h"
#include "session.h"

namespace poplar::emulator {
namespace {

using Member = std::uint64_t TileMemory::*;

/// Numbers with a comma every three digits, whatever the stream's locale.
std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, ",");
  return digits;
}

void line(std::ostream &out, const char *name, const std::string &value) {
  out << "  " << std::left << std::setw(28) << (std::string(name) + ":") << std::right
      << std::setw(20) << value << '\n';
}

void printTarget(std::ostream &out, const GraphState &graph) {
  const Machine m = graph.wholeMachine();
  out << "Target:\n";
  line(out, "Type", toString(m.type) + " (emulated)");
  line(out, "Architecture", m.version);
  line(out, "Number of IPUs", grouped(m.numIPUs));
  line(out, "Tiles per IPU", grouped(m.tilesPerIPU));
  line(out, "Total Tiles", grouped(m.numTiles()));
  line(out, "Memory Per-Tile", grouped(m.bytesPerTile) + " B");
  line(out, "Total Memory", grouped(std::uint64_t{m.bytesPerTile} * m.numTiles()) + " B");
  line(out, "Clock Speed (approx)", grouped(static_cast<std::uint64_t>(m.clockHz / 1e6)) + " MHz");
  line(out, "Number of Replicas", grouped(graph.replicas));
}

void printGraph(std::ostream &out, const GraphState &graph) {
  out << "\nGraph:\n";
  line(out, "Number of vertices", grouped(graph.vertices.size()));
  line(out, "Number of edges", grouped(numEdges(graph)));
  line(out, "Number of variables", grouped(graph.variables.size()));
  line(out, "Number of compute sets", grouped(graph.computeSets.size()));
}

void printMemory(std::ostream &out, const Compiled &compiled, bool variables) {
  static const std::pair<const char *, Member> kCategories[] = {
      {"Variables", &TileMemory::variable},
      {"Constants", &TileMemory::constant},
      {"Messages", &TileMemory::message},
      {"Stack", &TileMemory::stack},
      {"Vertex Instances", &TileMemory::vertexInstanceState},
      {"Vertex Field Data", &TileMemory::vertexFieldData},
      {"Control Code", &TileMemory::controlCode},
      {"Vertex Code", &TileMemory::vertexCode},
      {"Internal Exchange Code", &TileMemory::internalExchangeCode},
      {"Global Exchange Code", &TileMemory::globalExchangeCode},
      {"Host Exchange Code", &TileMemory::hostExchangeCode}};
  std::uint64_t all = 0, most = 0, overflowed = 0, worst = 0, passing = 0;
  for (std::size_t t = 0; t < compiled.memory.size(); ++t) {
    const std::uint64_t bytes = compiled.memory[t].total();
    all += bytes;
    passing += compiled.memory[t].notAlwaysLive;
    overflowed += bytes > compiled.graph->machine.bytesPerTile;
    if (bytes > most)
      most = bytes, worst = t;
  }
  out << (compiled.graph->replicas == 1 ? "\nMemory Usage:\n"
                                        : "\nMemory Usage of each replica:\n");
  line(out, "Total", grouped(all) + " B");
  line(out, "Always live", grouped(all - passing) + " B");
  line(out, "Not always live", grouped(passing) + " B");
  line(out, "Maximum of a tile", grouped(most) + " B");
  line(out, "Tile of the maximum", grouped(worst));
  line(out, "Tiles out of memory", grouped(overflowed));
  out << "\n  By Data Type:" << std::setw(35) << "Total" << std::setw(20) << "Maximum of a tile\n";
  for (const auto &[name, member] : kCategories) {
    std::uint64_t sum = 0, peak = 0;
    for (const TileMemory &tile : compiled.memory) {
      sum += tile.*member;
      peak = std::max(peak, tile.*member);
    }
    out << "    " << std::left << std::setw(26) << (std::string(name) + ":") << std::right
        << std::setw(18) << (grouped(sum) + " B") << std::setw(19) << (grouped(peak) + " B")
        << '\n';
  }
  if (!variables)
    return;
  std::vector<std::pair<std::uint64_t, std::string>> largest;
  for (const Variable &variable : compiled.graph->variables)
    largest.emplace_back(variable.bytes(), variable.name);
  std::sort(largest.rbegin(), largest.rend());
  out << "\n  Variables (largest first):\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(20, largest.size()); ++i)
    out << "    " << std::left << std::setw(44) << largest[i].second << std::right << std::setw(18)
        << (grouped(largest[i].first) + " B") << '\n';
}

std::string percent(double part) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * part);
  return text;
}

void printSteps(std::ostream &out, const Session &session) {
  const std::uint64_t tiles = session.getCompiled().graph->machine.numTiles();
  for (const RunRecord &run : session.runs()) {
    out << "\n  Execution Steps of " << run.name << ":\n";
    for (const StepRecord &record : run.steps) {
      const StepCost &cost = record.cost;
      out << "    " << stepType(*record.step->node) << ": "
          << stepName(session.getCompiled(), *record.step->node) << '\n'
          << "      Cycles:                       " << grouped(cost.cycles()) << " (sync "
          << grouped(cost.sync) << ", exchange " << grouped(cost.exchange) << ", compute "
          << grouped(cost.compute) << ", host " << grouped(cost.host) << ")\n";
      if (cost.activeTiles == 0)
        continue;
      const double perTile = static_cast<double>(cost.tileCycles) /
                             static_cast<double>(std::max<std::uint64_t>(cost.compute, 1));
      out << "      Active Tiles:                 " << grouped(cost.activeTiles) << " / "
          << grouped(tiles) << '\n'
          << "      Tile Balance:                 " << percent(perTile / static_cast<double>(tiles))
          << '\n'
          << "      Active Tile Balance:          "
          << percent(perTile / static_cast<double>(cost.activeTiles)) << '\n';
    }
    if (run.truncated)
      out << "    ... (more steps than are kept)\n";
  }
}

void printExecution(std::ostream &out, const Session &session, bool steps) {
  StepCost sum;
  for (const auto &step : session.steps()) {
    sum.sync += step->total.sync;
    sum.exchange += step->total.exchange;
    sum.compute += step->total.compute;
    sum.host += step->total.host;
    sum.tileCycles += step->total.tileCycles;
    sum.flops += step->total.flops;
  }
  const Machine &m = session.getCompiled().graph->machine;
  out << "\nExecution (emulated cycles):\n";
  line(out, "Total cycles", grouped(sum.cycles()));
  line(out, "Time at the clock speed",
       std::to_string(static_cast<double>(sum.cycles()) / m.clockHz * 1e6) + " us");
  line(out, "Tile compute cycles", grouped(sum.compute));
  line(out, "Compute cycles, all tiles", grouped(sum.tileCycles));
  line(out, "Exchange cycles", grouped(sum.exchange));
  line(out, "Sync cycles", grouped(sum.sync));
  line(out, "Host exchange cycles", grouped(sum.host));
  line(out, "FLOPs", grouped(sum.flops));
  if (steps)
    printSteps(out, session);
}

} // namespace

void printSummary(std::ostream &out, const Compiled &compiled, const Session *session,
                  const OptionFlags &flags) {
  printTarget(out, *compiled.graph);
  printGraph(out, *compiled.graph);
  printMemory(out, compiled, isOn(flags, "showVarStorage"));
  if (session)
    printExecution(out, *session, isOn(flags, "showExecutionSteps"));
}

} // namespace poplar::emulator
