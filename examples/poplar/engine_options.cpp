// Engine options: the choice of reports, their folder, and a program that exceeds a tile's memory.
#include <iostream>
#include <string>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/exceptions.hpp>
#include <popops/ElementWise.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

Device model() {
  IPUModel m("ipu2");
  m.tilesPerIPU = 2;
  return m.createDevice();
}

/// x = x + 1, all of x on tile 0.
void compile(std::size_t elements, const std::string &directory, const OptionFlags &more) {
  const Device device = model();
  Graph graph(device.getTarget());
  popops::addCodelets(graph);
  const Tensor x = graph.addVariable(FLOAT, {elements}, "membranes");
  graph.setTileMapping(x, 0);
  Sequence prog;
  popops::addInPlace(graph, x, 1.0f, prog, "charge");

  OptionFlags options{{"autoReport.directory", directory},
                      {"autoReport.outputGraphProfile", "true"},
                      {"autoReport.outputExecutionProfile", "true"}};
  for (const auto &option : more)
    options.set(option.first, option.second);
  Engine engine(graph, prog, options);
  engine.load(device);
  engine.run();
  engine.printProfileSummary(std::cout, {{"showVarStorage", "true"}});
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " DIRECTORY\n";
    return 2;
  }
  compile(1000, argv[1], {});
  const std::size_t tooMany = 200 * 1000; // 800,000 bytes of a tile's 638,976
  try {
    compile(tooMany, argv[1], {});
  } catch (const graph_memory_allocation_error &error) {
    std::cout << "does not fit: " << error.what() << '\n';
  }
  compile(tooMany, argv[1], {{"debug.allowOutOfMemory", "true"}});
  try {
    compile(10, argv[1], {{"reports.everything", "true"}});
  } catch (const invalid_option &error) {
    std::cout << "no such option: " << error.what() << '\n';
  }
}
