// Programs with known results: prints a name and numbers, one case per line.
#include <stdlib.h> // mkdtemp
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/Program.hpp>
#include <pva/pva.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

Device attached(unsigned ipus = 1) {
  for (Device &device : DeviceManager::createDeviceManager().getDevices(TargetType::IPU, ipus))
    if (device.attach())
      return std::move(device);
  throw poplar_error("no device is free");
}

struct Fixture {
  Device device = attached();
  Graph graph{device.getTarget()};
  Fixture() { graph.addCodelets("codelets.cpp"); }

  Tensor variable(const Type &type, std::vector<std::size_t> shape, const std::string &name,
                  unsigned tile = 0) {
    const Tensor t = graph.addVariable(type, shape, name);
    graph.setTileMapping(t, tile);
    return t;
  }
  /// Runs prog with `a` holding 0, 1, ...; the values of `out`.
  std::vector<float> run(const Program &prog, const Tensor &a, const Tensor &out) {
    graph.createHostWrite("a", a);
    graph.createHostRead("out", out);
    Engine engine(graph, prog);
    engine.load(device);
    std::vector<float> values(a.numElements()), result(out.numElements());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i);
    engine.writeTensor("a", values.data(), values.data() + values.size());
    engine.run();
    engine.readTensor("out", result.data(), result.data() + result.size());
    return result;
  }
};

void print(const std::vector<float> &values) {
  for (const float v : values)
    std::cout << v << ' ';
  std::cout << '\n';
}

std::uint64_t cyclesOfLoop(unsigned count, bool model = false) {
  Device device = model ? IPUModel().createDevice() : attached();
  Graph graph(device.getTarget());
  graph.addCodelets("codelets.cpp");
  const Tensor in = graph.addVariable(FLOAT, {1000}), out = graph.addVariable(FLOAT, {});
  const Tensor n = graph.addConstant<unsigned>(UNSIGNED_INT, {}, count);
  const ComputeSet cs = graph.addComputeSet("loop");
  const VertexRef v = graph.addVertex(cs, "Loop", {{"in", in}, {"count", n}, {"out", out}});
  for (const Tensor &t : {in, out, n})
    graph.setTileMapping(t, 0);
  graph.setTileMapping(v, 0);
  graph.setPerfEstimate(v, 12345);
  Engine engine(graph, Execute(cs));
  engine.load(device);
  engine.run();
  return static_cast<std::uint64_t>(
      engine.getProfile()["execution"]["totals"][0]["computeCycles"].asDouble());
}

#include "engine_graphs.h"

const std::map<std::string, void (*)()> cases{
    {"views",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {2, 3, 4}, "a"), out = f.variable(FLOAT, {2, 12}, "o");
       const Tensor moved = a.dimShuffle({2, 0, 1}).reshape({2, 12}).reverse(1);
       print(f.run(Copy(moved, out), a, out));
       std::cout << a.slice(1, 3, 1).shapeToString() << a.expand({1}).shapeToString()
                 << a.dimRoll(2).shapeToString() << a.flatten(1, 3).shapeToString()
                 << a[1].transpose().shapeToString() << a.broadcast(2, 1).shapeToString()
                 << a.subSample(2, 2).shapeToString() << a.isContiguous() << moved.isContiguous()
                 << a.broadcast(2, 0).containsAliases() << a.isParallelWriteable() << '\n';
     }},
    {"upsample",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {3}, "a"), out = f.variable(FLOAT, {9}, "out");
       const Tensor up = concat(a.upsample(2, 0, UpsampleMethod::REPEAT), a.broadcast(1, 0));
       print(f.run(Copy(up, out), a, out));
     }},
    {"overlapping_copy",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {5}, "a");
       print(f.run(Copy(a.slice(0, 4), a.slice(1, 5)), a, a));
     }},
    {"poison",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {4}, "a");
       const ComputeSet cs = f.graph.addComputeSet();
       f.graph.setTileMapping(f.graph.addVertex(cs, "WriteHalf", {{"out", a}}), 3);
       print(f.run(Execute(cs), a, a));
     }},
    {"multivertex",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {13}, "a"), out = f.variable(FLOAT, {13}, "out", 5);
       const ComputeSet cs = f.graph.addComputeSet();
       const VertexRef v =
           f.graph.addVertex(cs, "tests::Scale<float,true>", {{"in", a}, {"out", out}});
       f.graph.setInitialValue(v["n"], 13);
       f.graph.setInitialValue(v["factor"], 0.5);
       f.graph.setTileMapping(v, 5);
       print(f.run(Execute(cs), a, out));
     }},
    {"rows",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {3, 4}, "a"), out = f.variable(FLOAT, {2}, "out");
       const ComputeSet cs = f.graph.addComputeSet();
       const VertexRef pick = f.graph.addVertex(cs, "Pick", {{"sum", out[0]}});
       for (unsigned i = 0; i < 3; ++i)
         f.graph.connect(pick["rows"][i], a[i]);
       f.graph.setInitialValue(pick["column"], std::vector<unsigned>{3, 0, 1});
       f.graph.setTileMapping(pick, 1);
       const VertexRef last = f.graph.addVertex(cs, "PickFromList", {{"sum", out[1]}});
       f.graph.connect(last["rows"], {a[0].slice(0, 2), a[2]});
       f.graph.setTileMapping(last, 1);
       f.graph.setInitialValue(out[0], 100);
       print(f.run(Execute(cs), a, out));
     }},
    {"control",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {4}, "a"), out = f.variable(FLOAT, {4}, "out");
       const Tensor one = f.graph.addConstant<unsigned>(UNSIGNED_INT, {}, 1);
       const Tensor go = f.variable(BOOL, {}, "go");
       f.graph.setTileMapping(one, 0);
       const ComputeSet cs = f.graph.addComputeSet();
       f.graph.setTileMapping(f.graph.addVertex(cs, "Positive", {{"in", a[3]}}), 2);
       // Rotates a until its last element is no longer positive.
       const Tensor turned = concat(a.slice(3, 4), a.slice(0, 3));
       const Function rotate = f.graph.addFunction(Copy(turned, a));
       Sequence prog;
       prog.add(RepeatWhileTrue(Execute(cs, go), go, Call(rotate)));
       prog.add(Switch(one, {{0, WriteUndef(a)}, {1, Copy(a, out)}}));
       prog.add(If(go, WriteUndef(out), Sequence()));
       prog.add(Repeat(2, Copy(out.slice(0, 2).reverse(0), out.slice(0, 2))));
       print(f.run(prog, a, out));
     }},
    {"value_semantics",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {2}, "a");
       Sequence inner, outer;
       outer.add(inner);
       inner.add(Copy(a.reverse(0), a));
       print(f.run(outer, a, a));
     }},
    {"streams",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {2}, "a");
       const DataStream in = f.graph.addHostToDeviceFIFO("in", FLOAT, 2);
       const DataStream out = f.graph.addDeviceToHostFIFO("out", FLOAT, 2);
       Engine engine(f.graph, Repeat(3, Sequence({Copy(in, a), Copy(a.reverse(0), out)})));
       std::vector<float> from{1, 2, 3, 4}, to(6);
       engine.connectStream("in", from.data(), from.data() + from.size());
       engine.connectStream(out, to.data(), to.data() + to.size());
       engine.load(f.device);
       engine.run();
       print(to);
       int calls = 0;
       engine.connectStreamToCallback("in", [&](void *p) {
         static_cast<float *>(p)[0] = static_cast<float>(++calls);
         static_cast<float *>(p)[1] = 0;
       });
       engine.run();
       print(to);
     }},
    {"remote_buffer",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {2}, "a");
       const Tensor row = f.graph.addConstant<unsigned>(UNSIGNED_INT, {1}, 2);
       f.graph.setTileMapping(row, 0);
       f.graph.setInitialValue(a, std::vector<float>{7, 8});
       const RemoteBuffer buffer = f.graph.addRemoteBuffer("rows", FLOAT, 2, 3);
       Engine engine(f.graph, Copy(a, buffer, row));
       engine.load(f.device);
       engine.run();
       std::vector<float> values(2);
       engine.copyFromRemoteBuffer("rows", values.data(), 2);
       print(values);
     }},
    {"serialise",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, {4}, "a"), s = f.variable(FLOAT, {1}, "s", 9);
       const ComputeSet cs = f.graph.addComputeSet("sum");
       f.graph.setTileMapping(f.graph.addVertex(cs, "Sum", {{"in", a}, {"out", s[0]}}), 1);
       const DataStream in = f.graph.addHostToDeviceFIFO("in", FLOAT, 4);
       f.graph.createHostRead("s", s);
       std::stringstream file;
       compileGraph(f.graph, {Sequence({Copy(in, a), Repeat(2, Execute(cs))})}).serialize(file);
       Engine engine(Executable::deserialize(file));
       std::vector<float> values{1, 2, 3, 5};
       engine.connectStream("in", values.data());
       engine.load(f.device);
       engine.run();
       engine.readTensor("s", values.data(), values.data() + 1);
       print({values[0]});
     }},
};

} // namespace

int main(int argc, char **argv) {
  auto all = cases;
  all.insert(graphCases.begin(), graphCases.end());
  for (const auto &one : all)
    if (argc < 2 || one.first == argv[1])
      one.second();
}
