#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <ostream>

#include <poplar/Engine.hpp>

#include "profile.h"
#include "session/engine_options.h"

namespace poplar {
namespace {

using emulator::isOn;

/// Numbers with a comma every three digits, whatever the stream's locale.
std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, ",");
  return digits;
}
std::string grouped(const ProfileValue &n) { return grouped(std::uint64_t{n.asUint()}); }

void line(std::ostream &out, const char *name, const std::string &value) {
  out << "  " << std::left << std::setw(28) << (std::string(name) + ":") << std::right
      << std::setw(20) << value << '\n';
}

void printTarget(std::ostream &out, const ProfileValue &target) {
  const double clock = target["clockFrequency"].asDouble();
  out << "Target:\n";
  line(out, "Type", target["type"].asString() + " (emulated)");
  line(out, "Architecture", target["architecture"].asString());
  line(out, "Number of IPUs", grouped(target["numIPUs"]));
  line(out, "Tiles per IPU", grouped(target["tilesPerIpu"]));
  line(out, "Total Tiles", grouped(target["numTiles"]));
  line(out, "Memory Per-Tile", grouped(target["bytesPerTile"]) + " B");
  line(out, "Total Memory", grouped(target["totalMemory"]) + " B");
  line(out, "Clock Speed (approx)", grouped(static_cast<std::uint64_t>(clock / 1e6)) + " MHz");
  line(out, "Number of Replicas", grouped(target["numReplicas"]));
}

void printGraph(std::ostream &out, const ProfileValue &graph) {
  out << "\nGraph:\n";
  line(out, "Number of vertices", grouped(graph["numVertices"]));
  line(out, "Number of edges", grouped(graph["numEdges"]));
  line(out, "Number of variables", grouped(graph["numVars"]));
  line(out, "Number of compute sets", grouped(graph["numComputeSets"]));
}

void printMemory(std::ostream &out, const ProfileValue &compilation, bool variables) {
  static const std::pair<const char *, const char *> kCategories[] = {
      {"Variables", "variable"},
      {"Constants", "constant"},
      {"Messages", "message"},
      {"Stack", "stack"},
      {"Vertex Instances", "vertexInstanceState"},
      {"Vertex Field Data", "vertexFieldData"},
      {"Control Code", "controlCode"},
      {"Vertex Code", "vertexCode"},
      {"Internal Exchange Code", "internalExchangeCode"},
      {"Global Exchange Code", "globalExchangeCode"},
      {"Host Exchange Code", "hostExchangeCode"}};
  const auto &tiles = compilation["tiles"].asVector();
  std::uint64_t all = 0, most = 0, overflowed = 0, worst = 0, passing = 0;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const ProfileValue &memory = tiles[t]["memory"];
    const std::uint64_t bytes = memory["total"]["includingGaps"].asUint();
    all += bytes;
    passing += memory["notAlwaysLiveBytes"].asUint();
    overflowed += memory["overflowed"]["includingGaps"].asUint() > 0;
    if (bytes > most)
      most = bytes, worst = t;
  }
  out << (compilation["target"]["numReplicas"].asUint() == 1 ? "\nMemory Usage:\n"
                                                             : "\nMemory Usage of each replica:\n");
  line(out, "Total", grouped(all) + " B");
  line(out, "Always live", grouped(all - passing) + " B");
  line(out, "Not always live", grouped(passing) + " B");
  line(out, "Maximum of a tile", grouped(most) + " B");
  line(out, "Tile of the maximum", grouped(worst));
  line(out, "Tiles out of memory", grouped(overflowed));
  out << "\n  By Data Type:" << std::setw(35) << "Total" << std::setw(20) << "Maximum of a tile\n";
  for (const auto &category : kCategories) {
    std::uint64_t sum = 0, peak = 0;
    for (const ProfileValue &tile : tiles) {
      const std::uint64_t bytes = tile["memory"]["category"][category.second]["total"].asUint();
      sum += bytes;
      peak = std::max(peak, bytes);
    }
    out << "    " << std::left << std::setw(26) << (std::string(category.first) + ":") << std::right
        << std::setw(18) << (grouped(sum) + " B") << std::setw(19) << (grouped(peak) + " B")
        << '\n';
  }
  if (!variables)
    return;
  out << "\n  Variables (largest first):\n";
  for (const ProfileValue &variable : compilation["largestVariables"].asVector())
    out << "    " << std::left << std::setw(44) << variable["name"].asString() << std::right
        << std::setw(18) << (grouped(variable["size"]) + " B") << '\n';
}

std::string percent(double part) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * part);
  return text;
}

/// Prints the balance over the tiles of all IPUs; the profile lists tiles by IPU.
void printBalance(std::ostream &out, const ProfileValue &step, const ProfileValue &target) {
  const double tiles = target["tilesPerReplica"].asDouble();
  const double perIpu = tiles / target["ipusPerReplica"].asDouble();
  const double shared = step["syncCycles"].asDouble() + step["exchangeCycles"].asDouble() +
                        step["hostCycles"].asDouble();
  const double compute = std::max(step["computeCycles"].asDouble(), 1.0);
  double active = 0, cycles = 0;
  for (const ProfileValue &ipu : step["ipus"].asVector()) {
    const double balance = ipu["tileBalance"].asDouble();
    if (balance == 0)
      continue;
    active += std::round(perIpu * balance / ipu["activeTileBalance"].asDouble());
    cycles += balance * perIpu * (ipu["cycles"].asDouble() - shared);
  }
  if (active == 0)
    return;
  out << "      Active Tiles:                 " << grouped(static_cast<std::uint64_t>(active))
      << " / " << grouped(static_cast<std::uint64_t>(tiles)) << '\n'
      << "      Tile Balance:                 " << percent(cycles / compute / tiles) << '\n'
      << "      Active Tile Balance:          " << percent(cycles / compute / active) << '\n';
}

void printSteps(std::ostream &out, const ProfileValue &compilation, const ProfileValue &execution) {
  for (const ProfileValue &run : execution["runs"].asVector()) {
    out << "\n  Execution Steps of " << run["name"].asString() << ":\n";
    for (const ProfileValue &step : run["steps"].asVector()) {
      const ProfileValue &program = compilation["programs"][step["program"].asUint()];
      std::uint64_t cycles = 0;
      for (const char *part : {"syncCycles", "exchangeCycles", "computeCycles", "hostCycles"})
        cycles += step[part].asUint();
      out << "    " << program["type"].asString() << ": " << program["name"].asString() << '\n'
          << "      Cycles:                       " << grouped(cycles) << " (sync "
          << grouped(step["syncCycles"]) << ", exchange " << grouped(step["exchangeCycles"])
          << ", compute " << grouped(step["computeCycles"]) << ", host "
          << grouped(step["hostCycles"]) << ")\n";
      printBalance(out, step, compilation["target"]);
    }
    if (run["truncated"].asBool())
      out << "    ... (more steps than are kept)\n";
  }
}

void printExecution(std::ostream &out, const ProfileValue &compilation,
                    const ProfileValue &execution, bool steps) {
  const auto sum = [&](const char *name) {
    std::uint64_t all = 0;
    for (const ProfileValue &step : execution["totals"].asVector())
      all += step[name].asUint();
    return all;
  };
  std::uint64_t ofTiles = 0;
  for (const ProfileValue &tile : execution["computeCyclesByTile"].asVector())
    ofTiles += tile.asUint();
  const std::uint64_t sync = sum("syncCycles"), exchange = sum("exchangeCycles"),
                      compute = sum("computeCycles"), host = sum("hostCycles"),
                      cycles = sync + exchange + compute + host;
  const double clock = compilation["target"]["clockFrequency"].asDouble();
  out << "\nExecution (emulated cycles):\n";
  line(out, "Total cycles", grouped(cycles));
  line(out, "Time at the clock speed",
       std::to_string(static_cast<double>(cycles) / clock * 1e6) + " us");
  line(out, "Tile compute cycles", grouped(compute));
  line(out, "Compute cycles, all tiles", grouped(ofTiles));
  line(out, "Exchange cycles", grouped(exchange));
  line(out, "Sync cycles", grouped(sync));
  line(out, "Host exchange cycles", grouped(host));
  line(out, "FLOPs", grouped(sum("flops")));
  if (steps)
    printSteps(out, compilation, execution);
}

} // namespace

void printGraphSummary(std::ostream &out, const ProfileValue &graphProfile,
                       const OptionFlags &opts) {
  printTarget(out, graphProfile["target"]);
  printGraph(out, graphProfile["graph"]);
  printMemory(out, graphProfile, isOn(opts, "showVarStorage"));
}

void printExecutionSummary(std::ostream &out, const ProfileValue &graphProfile,
                           const ProfileValue &executionProfile, const OptionFlags &opts) {
  printExecution(out, graphProfile, executionProfile, isOn(opts, "showExecutionSteps"));
}

void printProfileSummary(std::ostream &out, const ProfileValue &graphProfile,
                         const ProfileValue &executionProfile, const OptionFlags &opts) {
  printGraphSummary(out, graphProfile, opts);
  printExecutionSummary(out, graphProfile, executionProfile, opts);
}

void printGraphSummary(std::ostream &out, const std::string &profilePath, const OptionFlags &opts) {
  printGraphSummary(out, emulator::readProfile(profilePath)["compilation"], opts);
}

void printExecutionSummary(std::ostream &out, const std::string &profilePath,
                           const OptionFlags &opts) {
  const ProfileValue profile = emulator::readProfile(profilePath);
  printExecutionSummary(out, profile["compilation"], profile["execution"], opts);
}

void printProfileSummary(std::ostream &out, const std::string &profilePath,
                         const OptionFlags &opts) {
  const ProfileValue profile = emulator::readProfile(profilePath);
  printProfileSummary(out, profile["compilation"], profile["execution"], opts);
}

namespace emulator {

void printSummary(std::ostream &out, const ProfileValue &profile, const OptionFlags &flags) {
  printGraphSummary(out, profile["compilation"], flags);
  if (profile.has("execution"))
    printExecutionSummary(out, profile["compilation"], profile["execution"], flags);
}

} // namespace emulator
} // namespace poplar
