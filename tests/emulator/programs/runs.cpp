// Whole programs: control flow, callbacks, executables and reports. Prints one line a case.
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/Program.hpp>
#include <poplar/StreamCallback.hpp>
#include <popops/ElementWise.hpp>
#include <popops/codelets.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

struct Fixture {
  Device device;
  Graph graph;
  std::vector<Tensor> shown;

  static Device model() {
    IPUModel m;
    m.tilesPerIPU = 4;
    return m.createDevice();
  }
  Fixture() : device(model()), graph(device) {
    graph.addCodelets("codelets.cpp");
    popops::addCodelets(graph);
  }
  template <typename T> Tensor scalar(const Type &type, T initial, bool print = false) {
    const Tensor t = graph.addVariable(type, {}, "scalar");
    graph.setTileMapping(t, static_cast<unsigned>(shown.size() % 4));
    graph.setInitialValue(t, initial);
    if (print) {
      graph.createHostRead("shown " + std::to_string(shown.size()), t);
      shown.push_back(t);
    }
    return t;
  }
  Sequence add(const Tensor &t, int amount) {
    Sequence prog;
    popops::addInPlace(graph, t, amount, prog);
    return prog;
  }
  /// flag = condition(t)
  Sequence set(const Tensor &flag, popops::expr::BinaryOpType op, const Tensor &t, int value) {
    namespace pe = popops::expr;
    Sequence prog;
    const Tensor result = popops::map(graph, pe::BinaryOp(op, pe::_1, pe::Const(value)), {t}, prog);
    prog.add(Copy(result, flag));
    return prog;
  }
  void run(const std::vector<Program> &programs) {
    Engine engine(graph, programs);
    engine.load(device);
    for (unsigned i = 0; i < programs.size(); ++i)
      engine.run(i);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      int value = 0;
      engine.readTensor("shown " + std::to_string(i), &value, &value + 1);
      std::cout << value << ' ';
    }
  }
};

/// Gives 1, 2, ...: the first two are ready before they are asked for.
class Numbers : public StreamCallback {
public:
  Numbers(std::string &log) : log(log) {}
  Result prefetch(void *p) override {
    log += 'p';
    if (given >= 2)
      return Result::NotAvailable;
    *static_cast<int *>(p) = ++given;
    return Result::Success;
  }
  void fetch(void *p) override {
    log += 'f';
    *static_cast<int *>(p) = ++given;
  }
  void complete() override { log += 'c'; }

private:
  std::string &log;
  int given = 0;
};

std::string executable(const OptionFlags &options = {}) {
  Fixture f;
  const Tensor x = f.scalar(INT, 1, true);
  std::ostringstream out;
  compileGraph(f.graph, {f.add(x, 41)}, options).serialize(out);
  return out.str();
}

void load(const std::string &bytes) {
  std::istringstream in(bytes);
  try {
    Engine engine(Executable::deserialize(in));
    engine.load(Fixture::model());
    engine.run();
    int value = 0;
    engine.readTensor("shown 0", &value, &value + 1);
    std::cout << value << ' ';
  } catch (const poplar_error &error) {
    std::cout << error.type << ": " << error.what() << " | ";
  }
}

const std::map<std::string, void (*)()> cases{
    {"if_in_repeat",
     [] {
       Fixture f;
       const Tensor x = f.scalar(INT, 0, true), flag = f.scalar(BOOL, true);
       Sequence flip;
       popops::logicalNotInPlace(f.graph, flag, flip);
       const Program inner = If(flag, Repeat(2, f.add(x, 1)), f.add(x, 10));
       f.run({Repeat(3, Sequence({inner, flip}))});
     }},
    {"while_in_repeat",
     [] {
       Fixture f;
       const Tensor n = f.scalar(INT, 0), y = f.scalar(INT, 0, true), go = f.scalar(BOOL, false);
       const auto greater = popops::expr::BinaryOpType::GREATER_THAN;
       const Sequence body({f.add(n, -1), f.add(y, 1)});
       f.run(
           {Repeat(2, Sequence({f.add(n, 3), RepeatWhileTrue(f.set(go, greater, n, 0), go, body)})),
            RepeatWhileFalse(f.set(go, greater, y, 8), go, f.add(y, 1))});
     }},
    {"switch",
     [] {
       Fixture f;
       const Tensor i = f.scalar(INT, 0), z = f.scalar(INT, 0, true);
       Switch choose(i, {{0, f.add(z, 1)}, {2, f.add(z, 100)}}, f.add(z, 10));
       choose.add(3, f.add(z, 1000));
       Switch one(i), others(i, f.add(z, 100000));
       one.add(1, f.add(z, 10000));
       others.add(4, Sequence());
       Switch every = Switch::switchWithUnreachableDefault(i);
       for (int value = 0; value < 5; ++value)
         every.add(value, f.add(z, 1000000));
       f.run({Repeat(5, Sequence({choose, one, others, every, f.add(i, 1)}))});
     }},
    {"calls",
     [] {
       Fixture f;
       const Tensor z = f.scalar(INT, 0, true);
       const Function one = f.graph.addFunction(f.add(z, 1));
       const Function two = f.graph.addFunction(Sequence({Call(one), Call(one)}));
       f.run({Repeat(2, Call(two)), Repeat(0, Call(two))});
     }},
    {"callbacks",
     [] {
       Fixture f;
       const Tensor x = f.graph.addVariable(INT, {1}, "x");
       f.graph.setTileMapping(x, 0);
       const DataStream in = f.graph.addHostToDeviceFIFO("in", INT, 1);
       const DataStream out = f.graph.addDeviceToHostFIFO("out", INT, 1);
       std::string log;
       std::vector<int> got;
       Engine engine(f.graph, Repeat(3, Sequence({Copy(in, x), Copy(x, out)})));
       engine.load(f.device);
       engine.connectStreamToCallback("in", std::make_unique<Numbers>(log));
       engine.connectStreamToCallback(out, [&](void *p) { got.push_back(*static_cast<int *>(p)); });
       engine.run();
       std::cout << log << ' ';
       for (const int value : got)
         std::cout << value << ' ';
     }},
    {"executables",
     [] {
       const std::string good = executable();
       load(good);
       load("ELF, or whatever else");
       std::string other = good;
       other[good.find('\n') - 1] = '1';
       load(other);
       load(good.substr(0, good.size() / 2));
       // No damaged byte is taken for something else, wherever it is.
       unsigned refused = 0, tried = 0;
       for (std::size_t at = good.find('\n') + 1; at < good.size(); at += good.size() / 50) {
         std::string damaged = good;
         damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
         std::istringstream in(damaged);
         ++tried;
         try {
           Executable::deserialize(in);
         } catch (const parse_error &) {
           ++refused;
         }
       }
       std::cout << (refused == tried && tried > 40);
     }},
    {"report",
     [] {
       Fixture f;
       const Tensor x = f.scalar(INT, 1, true);
       for (const char *name : {"", "named"}) {
         Engine engine(f.graph, f.add(x, 1), {}, {}, name);
         engine.load(f.device);
         for (unsigned i = 0; i < 4; ++i)
           engine.run();
       }
     }},
    {"out_of_memory",
     [] {
       Fixture f;
       const Tensor t = f.graph.addVariable(FLOAT, {200000}, "wide");
       f.graph.setTileMapping(t, 2);
       try {
         Engine(f.graph, WriteUndef(t));
       } catch (const graph_memory_allocation_error &error) {
         std::cout << error.profilePath;
       }
     }},
};

} // namespace

int main(int argc, char **argv) {
  for (const auto &one : cases)
    if (argc < 2 || one.first == argv[1]) {
      std::cout << one.first << ": ";
      one.second();
      std::cout << '\n';
    }
}
