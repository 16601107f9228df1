// Parts that the programs in this folder share: sizes from the command line, a graph and a device
// per case, and one printed line with its cost.
#ifndef IPULSE_EXAMPLES_QUESTION_H
#define IPULSE_EXAMPLES_QUESTION_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <poplar/CycleCount.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <popops/codelets.hpp>

namespace question {

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;

/// Sizes by name with their defaults; arguments are NAME=NUMBER. Every program has `tilesPerIPU`,
/// the number of tiles used on each IPU: all by default.
class Sizes {
public:
  static constexpr unsigned kAllTiles = 1472; // of a Mk2

  Sizes(int argc, char **argv, std::map<std::string, unsigned> defaults)
      : sizes(std::move(defaults)) {
    sizes["tilesPerIPU"] = kAllTiles;
    for (int i = 1; i < argc; ++i) {
      const std::string given = argv[i], name = given.substr(0, given.find('='));
      const unsigned long value =
          name == given ? 0 : std::strtoul(given.c_str() + name.size() + 1, nullptr, 10);
      if (!sizes.count(name) || value == 0) {
        std::cerr << "expected NAME=NUMBER, where NAME is one of:";
        for (const auto &size : sizes)
          std::cerr << ' ' << size.first << " (" << size.second << ")";
        std::cerr << '\n';
        std::exit(2);
      }
      sizes[name] = static_cast<unsigned>(value);
    }
  }
  unsigned operator[](const std::string &name) const { return sizes.at(name); }

private:
  std::map<std::string, unsigned> sizes;
};

/// Returns a tensor on one tile.
inline Tensor onTile(Graph &graph, const poplar::Type &type, std::vector<std::size_t> shape,
                     unsigned tile, const char *name) {
  const Tensor t = graph.addVariable(type, shape, name);
  graph.setTileMapping(t, tile);
  return t;
}

/// Returns a tensor on one tile with initial values.
template <typename T>
Tensor valuesOnTile(Graph &graph, const poplar::Type &type, std::vector<std::size_t> shape,
                    unsigned tile, const char *name, const std::vector<T> &values) {
  const Tensor t = onTile(graph, type, std::move(shape), tile, name);
  graph.setInitialValue(t, poplar::ArrayRef<T>(values));
  return t;
}

inline poplar::Device attach(unsigned ipus, unsigned tilesPerIPU) {
  for (poplar::Device &device :
       poplar::DeviceManager::createDeviceManager().getDevices(poplar::TargetType::IPU, ipus))
    if (device.attach())
      return tilesPerIPU < device.getTarget().getTilesPerIPU()
                 ? device.createVirtualDevice(tilesPerIPU)
                 : std::move(device);
  throw poplar::poplar_error("no IPU is free");
}

/// Prints a line per case: the cycles of one run, in parts, and the bytes of the fullest tile. `at`
/// is the size that a series of cases varies.
class Table {
public:
  using Build = std::function<void(Graph &, Sequence &)>;

  explicit Table(const Sizes &sizes, unsigned ipus = 1)
      : device(attach(ipus, sizes["tilesPerIPU"])) {
    line("case", "at", {kColumns.begin(), kColumns.end()});
  }

  /// Runs what `build` adds; `connect` connects the program's streams before.
  void measure(const std::string &name, unsigned at, const Build &build,
               const std::function<void(poplar::Engine &)> &connect = {}) {
    Graph graph(device.getTarget());
    popops::addCodelets(graph);
    graph.addCodelets("codelets.cpp");
    graph.addCodelets("gradient_codelets.cpp");
    Sequence program;
    build(graph, program);
#ifdef DEVICE_COUNTER // cycles only, from the tile's own counter
    const Tensor counted =
        poplar::cycleCount(graph, program, 0, poplar::SyncType::INTERNAL, "cycles");
    graph.createHostRead("cycles", counted);
    poplar::Engine engine(graph, program);
    engine.load(device);
    if (connect)
      connect(engine);
    engine.run();
    std::uint64_t cycles = 0;
    engine.readTensor("cycles", &cycles, &cycles + 1);
    line(name, std::to_string(at), {std::to_string(cycles)});
#else
    poplar::Engine engine(graph, program);
    engine.load(device);
    if (connect)
      connect(engine);
    engine.run();
    line(name, std::to_string(at), figuresOf(engine.getProfile()));
#endif
  }

private:
  static constexpr const char *kParts[] = {"syncCycles", "exchangeCycles", "computeCycles",
                                           "hostCycles"};
  static constexpr const char *kMemory[] = {"message",         "variable",   "vertexInstanceState",
                                            "vertexFieldData", "vertexCode", "internalExchangeCode",
                                            "controlCode"};
  inline static const std::vector<std::string> kColumns{
      "cycles",   "sync",  "exchange", "compute", "host",          "vertices",    "message",
      "variable", "state", "fields",   "code",    "exchange code", "control code"};

  static void line(const std::string &name, const std::string &at,
                   const std::vector<std::string> &cells) {
    std::cout << std::left << std::setw(40) << name << std::right << std::setw(8) << at;
    for (std::size_t i = 0; i < cells.size(); ++i)
      std::cout << "  " << std::setw(static_cast<int>(std::max<std::size_t>(kColumns[i].size(), 7)))
                << cells[i];
    std::cout << std::endl;
  }

  static std::vector<std::string> figuresOf(const poplar::ProfileValue &profile) {
    std::vector<std::size_t> parts(std::size(kParts)), memory(std::size(kMemory));
    for (const poplar::ProfileValue &step : profile["execution"]["totals"].asVector())
      for (std::size_t i = 0; i < parts.size(); ++i)
        parts[i] += step[kParts[i]].asUint();
    for (const poplar::ProfileValue &tile : profile["compilation"]["tiles"].asVector())
      for (std::size_t i = 0; i < memory.size(); ++i)
        memory[i] = std::max(memory[i], tile["memory"]["category"][kMemory[i]]["total"].asUint());
    std::size_t cycles = 0;
    for (const std::size_t part : parts)
      cycles += part;
    std::vector<std::string> cells{std::to_string(cycles)};
    for (const std::size_t part : parts)
      cells.push_back(std::to_string(part));
    cells.push_back(std::to_string(profile["compilation"]["graph"]["numVertices"].asUint()));
    for (const std::size_t bytes : memory)
      cells.push_back(std::to_string(bytes));
    return cells;
  }

  poplar::Device device;
};

} // namespace question

#endif
