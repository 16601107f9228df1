// Programs that break a rule, with the checks of $IPULSE_EMULATOR_SANITIZE. Prints a line for each:
// its name, the class of the error or "no error", and the message. Arguments: names of cases, or
// all.
#include <algorithm>
#include <functional>
#include <iostream>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>

using namespace poplar;

namespace {

Device deviceOf(TargetType type, unsigned tiles = 4) {
  if (type == TargetType::CPU)
    return Device::createCPUDevice();
  if (type == TargetType::IPU)
    return std::move(DeviceManager::createDeviceManager().getDevices(type, 1).at(0));
  IPUModel model;
  model.tilesPerIPU = tiles;
  return model.createDevice();
}

struct Fixture {
  Device device;
  Graph graph;
  ComputeSet cs;

  explicit Fixture(TargetType type) : device(deviceOf(type)), graph(device.getTarget()) {
    graph.addCodelets("breaches_codelets.cpp");
    cs = graph.addComputeSet("layer/step");
  }
  Tensor variable(Type type, std::size_t elements, unsigned tile = 1) {
    const Tensor t = graph.addVariable(type, {elements}, "t");
    graph.setTileMapping(t, tile);
    graph.setInitialValue(t, std::vector<float>(elements, 1.f));
    return t;
  }
  VertexRef vertex(const std::string &name, unsigned tile = 1) {
    const VertexRef v = graph.addVertex(cs, name);
    graph.setTileMapping(v, tile);
    return v;
  }
  /// A vertex of the macro FLOATS.
  void floats(const std::string &name) {
    const VertexRef v = vertex(name);
    graph.connect(v["in"], variable(FLOAT, 6));
    graph.connect(v["out"], variable(FLOAT, 6));
    graph.setInitialValue(v["n"], 0);
    graph.setInitialValue(v["one"], 1);
    graph.setInitialValue(v["least"], INT32_MIN);
    run();
  }
  void reads(const std::string &name, Type type) {
    const VertexRef v = vertex(name);
    graph.connect(v["in"], variable(type, 8));
    graph.connect(v["out"], variable(FLOAT, 6));
    run();
  }
  /// A vertex of the macro WORKERS.
  void workers(const std::string &name, Type type) {
    const VertexRef v = vertex(name);
    graph.connect(v["out"], variable(type, 8));
    graph.setInitialValue(v["n"], 0u);
    run();
  }
  /// Two vertices that write [0, cut) and [cut, 8) of a variable.
  void two(const std::string &name, Type type, std::size_t cut, unsigned otherTile = 1) {
    const Tensor t = variable(type, 8);
    graph.setTileMapping(t.slice(cut, 8), otherTile);
    graph.connect(vertex(name)["out"], t.slice(0, cut));
    graph.connect(vertex(name, otherTile)["out"], t.slice(cut, 8));
    run();
  }
  VertexRef valued() {
    const VertexRef v = vertex("Valued");
    graph.connect(v["out"], variable(FLOAT, 2));
    return v;
  }
  void run(const OptionFlags &options = {}) {
    Engine engine(graph, program::Execute(cs), options);
    engine.load(device);
    engine.run(0);
  }
  void loadOn(const Device &other) {
    const VertexRef v = vertex("Words");
    graph.connect(v["out"], variable(UNSIGNED_INT, 4));
    Engine(graph, program::Execute(cs)).load(other);
  }
  void option(const std::string &name) { Engine(graph, program::Sequence(), {{name, "true"}}); }
};

using Case = std::pair<std::string, std::function<void(Fixture &)>>;

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char *name :
       {"Nothing",        "ReadBehind",  "ReadFar",       "ReadBefore",   "WriteBehind",
        "WriteFar",       "WriteBefore", "WriteInput",    "WriteZero",    "ReadZero",
        "WriteNull",      "WriteWild",   "StepsTooFar",   "Divide",       "Remainder",
        "DivideLeast",    "Trap",        "DeepRecursion", "LoadPair",     "LoadOddPair",
        "StorePair",      "Recursion",   "CallsPointer",  "CallsVirtual", "UsesNew",
        "UsesUnusedHeap", "UsesVector",  "LargeLocal",    "LargeStatic",  "LargeTable",
        "DeclaredStack",  "OwnStack"})
    all.emplace_back(name, [=](Fixture &f) { f.floats(name); });
  for (const auto &[name, type] : std::vector<std::pair<std::string, Type>>{
           {"AlignedPair", FLOAT}, {"LoadWordOfBytes", CHAR}, {"LoadPairOfHalves", HALF}})
    all.emplace_back(name, [name = name, type = type](Fixture &f) { f.reads(name, type); });
  for (const auto &[name, type] :
       std::vector<std::pair<std::string, Type>>{{"OwnWords", FLOAT},
                                                 {"SameWord", FLOAT},
                                                 {"ReadsNeighbour", FLOAT},
                                                 {"ReadsBeforeWrite", FLOAT},
                                                 {"OwnBytes", CHAR},
                                                 {"OwnHalves", HALF},
                                                 {"OwnShorts", UNSIGNED_SHORT},
                                                 {"OwnBooleans", BOOL},
                                                 {"CountsInState", FLOAT},
                                                 {"CountsInStatic", FLOAT},
                                                 {"CountsInTensor", FLOAT}})
    all.emplace_back(name, [name = name, type = type](Fixture &f) { f.workers(name, type); });
  const auto add = [&](const char *name, std::function<void(Fixture &)> run) {
    all.emplace_back(name, std::move(run));
  };
  add("charsOfOneWord", [](Fixture &f) { f.two("Chars", CHAR, 3); });
  add("halvesOfOneWord", [](Fixture &f) { f.two("Halves", HALF, 3); });
  add("boolsOfOneWord", [](Fixture &f) { f.two("Bools", BOOL, 1); });
  add("shortsOfOneWord", [](Fixture &f) { f.two("Shorts", UNSIGNED_SHORT, 5); });
  add("charsOfTwoWords", [](Fixture &f) { f.two("Chars", CHAR, 4); });
  add("charsOfTwoTiles", [](Fixture &f) { f.two("Chars", CHAR, 3, 2); });
  add("wordsOfTwoVertices", [](Fixture &f) { f.two("Words", UNSIGNED_INT, 3); });
  add("twoWriters", [](Fixture &f) {
    const Tensor t = f.variable(UNSIGNED_INT, 4);
    f.graph.connect(f.vertex("Words")["out"], t);
    f.graph.connect(f.vertex("Words", 2)["out"], t);
    f.run();
  });
  add("writerAndReader", [](Fixture &f) {
    const Tensor t = f.variable(FLOAT, 8);
    const VertexRef a = f.vertex("AlignedPair"), b = f.vertex("AlignedPair");
    f.graph.connect(a["in"], f.variable(FLOAT, 2));
    f.graph.connect(a["out"], t.slice(0, 4));
    f.graph.connect(b["in"], t.slice(2, 8));
    f.graph.connect(b["out"], f.variable(FLOAT, 2));
    f.run();
  });
  add("noValue", [](Fixture &f) {
    const VertexRef v = f.valued();
    f.graph.setInitialValue(v["list"], std::vector<short>{1});
    f.graph.setInitialValue(v["positive"], 1u), f.graph.setInitialValue(v["whole"], 1);
    f.run();
  });
  add("tooLarge", [](Fixture &f) { f.graph.setInitialValue(f.valued()["small"], 300); });
  add("negative", [](Fixture &f) { f.graph.setInitialValue(f.valued()["positive"], -1); });
  add("fraction", [](Fixture &f) { f.graph.setInitialValue(f.valued()["whole"], 1.5f); });
  add("oneOfAList", [](Fixture &f) {
    f.graph.setInitialValue(f.valued()["list"], std::vector<int>{1, 2, 40000});
  });
  add("listWithoutSize", [](Fixture &f) {
    const VertexRef v = f.valued();
    for (const char *name : {"small", "positive", "whole"})
      f.graph.setInitialValue(v[name], 1);
    f.run();
  });
  add("otherTargetType", [](Fixture &f) { f.loadOn(deviceOf(TargetType::CPU)); });
  add("otherTiles", [](Fixture &f) { f.loadOn(deviceOf(TargetType::IPU_MODEL, 8)); });
  for (const char *name : {"debug.instrumnet", "autoReport.al", "debug.checkBound",
                           "profiler.replicaToProfil", "deubg.verify", "prng.sed", "banana.split"})
    add(name, [=](Fixture &f) { f.option(name); });
  return all;
}

} // namespace

int main(int count, char **arguments) {
  const std::vector<std::string> named(arguments + 1, arguments + count);
  for (const auto &[name, run] : cases()) {
    if (!named.empty() && std::find(named.begin(), named.end(), name) == named.end())
      continue;
    // A tile of an IPU is needed for what the model may do.
    const bool onIpu = name == "Recursion" || name == "CallsPointer" || name == "CallsVirtual";
    std::cout << name << ": ";
    try {
      Fixture fixture(onIpu ? TargetType::IPU : TargetType::IPU_MODEL);
      run(fixture);
      std::cout << "no error" << std::endl;
    } catch (const poplar_error &error) {
      std::cout << error.type << ": " << error.what() << std::endl;
    }
  }
}
