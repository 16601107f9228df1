// Programs with cycles and bytes that can be computed by hand: prints one line per case.
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include <poplar/CycleCount.hpp>
#include <popops/Fill.hpp>

#include "model_fixture.h"

namespace {

const std::map<std::string, void (*)()> cases{
    {"workers",
     [] {
       for (const unsigned vertices : {1u, 6u, 7u, 13u}) {
         Fixture f;
         const Tensor in = f.variable(FLOAT, 8, 0), out = f.variable(FLOAT, vertices, 0);
         for (unsigned v = 0; v < vertices; ++v)
           f.sum(in, out[v], 0, 600);
         printCompute(f, Execute(f.cs));
       }
     }},
    {"slowest_tile",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, 1, 0), b = f.variable(FLOAT, 1, 1);
       f.sum(f.variable(FLOAT, 8, 0), a[0], 0, 100);
       f.sum(f.variable(FLOAT, 8, 1), b[0], 1, 500);
       const ProfileValue profile = f.run(Execute(f.cs));
       const ProfileValue &execution = profile["execution"];
       std::cout << total(profile, "computeCycles") << ' '
                 << execution["computeCyclesByTile"][0].asUint() << ' '
                 << execution["computeCyclesByTile"][1].asUint() << ' '
                 << execution["runs"][0]["steps"][0]["ipus"][0]["activeTileBalance"].asDouble();
     }},
    {"estimate_of_an_ipu",
     [] {
       // Not asked for on an IPU: what the codelet does is counted.
       Fixture f(Fixture::ipu());
       f.sum(f.variable(FLOAT, 8, 0), f.variable(FLOAT, 1, 0)[0], 0, 1000000);
       std::cout << (total(f.run(Execute(f.cs)), "computeCycles") < 1000);
     }},
    {"local",
     [] {
       Fixture f;
       f.sum(f.variable(FLOAT, 8, 3), f.variable(FLOAT, 1, 3)[0], 3);
       print(f.run(Execute(f.cs)));
     }},
    {"exchange_in",
     [] {
       Fixture f;
       f.sum(f.variable(FLOAT, 8, 0), f.variable(FLOAT, 1, 3)[0], 3);
       print(f.run(Execute(f.cs)));
     }},
    {"exchange_out",
     [] {
       Fixture f;
       f.sum(f.variable(FLOAT, 8, 3), f.variable(FLOAT, 1, 0)[0], 3);
       print(f.run(Execute(f.cs)));
     }},
    {"exchange_from_many",
     [] {
       Fixture f;
       const Tensor in =
           concat({f.variable(FLOAT, 8, 0), f.variable(FLOAT, 8, 1), f.variable(FLOAT, 8, 2)});
       f.sum(in, f.variable(FLOAT, 1, 3)[0], 3);
       print(f.run(Execute(f.cs)));
     }},
    {"broadcast",
     [] {
       for (const bool same : {true, false}) {
         Fixture f;
         const Tensor in = f.variable(FLOAT, 32, 0);
         for (unsigned tile = 1; tile <= 4; ++tile) {
           const unsigned first = same ? 0 : 8 * (tile - 1);
           f.sum(in.slice(first, first + 8), f.variable(FLOAT, 1, tile)[0], tile);
         }
         std::cout << total(f.run(Execute(f.cs)), "exchangeCycles") << ' ';
       }
     }},
    {"decision",
     [] {
       // The same whichever way it goes; a loop is asked once more than it turns.
       for (const unsigned value : {1u, 0u}) {
         Fixture f;
         const Tensor go = f.variable(UNSIGNED_INT, 1, 3)[0];
         f.graph.setInitialValue(go, value);
         print(f.run(If(go, Sequence(), Sequence())));
       }
       Fixture f;
       const Tensor flag = f.variable(UNSIGNED_INT, 1, 3), zero = f.variable(UNSIGNED_INT, 1, 3);
       f.graph.setInitialValue(flag, 1u);
       f.graph.setInitialValue(zero, 0u);
       const ProfileValue profile = f.run(RepeatWhileTrue(Sequence(), flag[0], Copy(zero, flag)));
       std::cout << total(profile, "exchangeCycles");
     }},
    {"copy_between_tiles",
     [] {
       Fixture f;
       print(f.run(Copy(f.variable(FLOAT, 64, 0), f.variable(FLOAT, 64, 1))));
     }},
    {"copy_within_a_tile",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, 64, 0), b = f.variable(FLOAT, 64, 0);
       const Tensor c = f.variable(HALF, 64, 0), d = f.variable(HALF, 64, 0);
       print(f.run(Copy(a, b)));
       printCompute(f, Copy(a.reshape({8, 8}).transpose(), b.reshape({8, 8})));
       printCompute(f, Copy(c.reshape({8, 8}).transpose(), d.reshape({8, 8})));
     }},
    {"rearrangement",
     [] {
       // In one piece, in two, float by float, half by half, and half of it from another tile.
       const auto cycles = [](const std::function<void(Fixture &, const Tensor &)> &add) {
         Fixture f;
         add(f, f.variable(FLOAT, 64, 0));
         printCompute(f, Execute(f.cs));
       };
       const auto sum = [](Fixture &f, const Tensor &in) {
         f.sum(in, f.variable(FLOAT, 1, 0)[0], 0);
       };
       const auto turned = [](const Tensor &t) { return t.reshape({8, 8}).transpose().flatten(); };
       cycles(sum);
       cycles(
           [&](Fixture &f, const Tensor &t) { sum(f, concat(t.slice(32, 64), t.slice(0, 32))); });
       cycles([&](Fixture &f, const Tensor &t) { sum(f, turned(t)); });
       cycles([&](Fixture &f, const Tensor &) {
         f.scale("half", f.variable(HALF, 64, 0).reverse(0), f.variable(HALF, 64, 0));
       });
       cycles([&](Fixture &f, const Tensor &t) {
         sum(f, concat(t.slice(0, 32), f.variable(FLOAT, 32, 1)));
       });
       // The written elements are copied back, and read once for two vertices.
       cycles([&](Fixture &f, const Tensor &t) {
         f.scale("float", f.variable(FLOAT, 64, 0), turned(t));
       });
       cycles([&](Fixture &f, const Tensor &t) {
         sum(f, turned(t));
         sum(f, turned(t));
       });
       // A tile's columns of a matrix are one piece on the tile.
       cycles([&](Fixture &f, const Tensor &) {
         const Tensor m = f.graph.addVariable(FLOAT, {8, 16}, "m");
         for (unsigned tile = 0; tile < 2; ++tile)
           f.graph.setTileMapping(m.slice(8 * tile, 8 * tile + 8, 1), tile);
         sum(f, m.slice(0, 8, 1).flatten());
       });
       Fixture f;
       sum(f, turned(f.variable(FLOAT, 64, 0)));
       const ProfileValue profile = f.run(Execute(f.cs));
       std::cout << category(profile, 0, "message") << ' '
                 << profile["compilation"]["computeSets"][0]["rearrangementCycles"].asUint();
     }},
    {"estimated",
     [] {
       // Two of seven vertices share a worker; a vertex without an estimate leaves the set without
       // one.
       Fixture f(Fixture::ipu());
       for (unsigned v = 0; v < 7; ++v)
         f.sum(f.variable(FLOAT, 8, 0), f.variable(FLOAT, 1, 0)[0], 0, 600);
       const ComputeSet without = f.graph.addComputeSet("without");
       const VertexRef v = f.graph.addVertex(without, "Sum");
       f.graph.connect(v["in"], f.variable(FLOAT, 8, 0));
       f.graph.connect(v["out"], f.variable(FLOAT, 1, 0)[0]);
       f.graph.setTileMapping(v, 0);
       const ProfileValue profile = f.run(Sequence({Execute(f.cs), Execute(without)}));
       const ProfileValue &sets = profile["compilation"]["computeSets"];
       std::cout << sets[0]["estimatedCycles"].asUint() << ' '
                 << sets[0].asMap().size() - sets[1].asMap().size();
     }},
    {"host",
     [] {
       Fixture f;
       const Tensor a = f.variable(FLOAT, 1000, 0);
       const DataStream in = f.graph.addHostToDeviceFIFO("in", FLOAT, 1000);
       Engine engine(f.graph, Copy(in, a));
       std::vector<float> values(1000);
       engine.connectStream(in, values.data(), values.data() + values.size());
       engine.load(f.device);
       engine.run();
       print(engine.getProfile());
     }},
    {"links",
     [] {
       Fixture two(Fixture::model(2)), four(Fixture::model(4));
       print(two.run(Copy(two.variable(FLOAT, 1024, 0), two.variable(FLOAT, 1024, 16))));
       print(four.run(Copy(four.variable(FLOAT, 1024, 16), four.variable(FLOAT, 1024, 32))));
     }},
    {"unpacking",
     [] {
       const auto cycles = [](const std::string &type, bool rows) {
         Fixture f(Fixture::ipu());
         const Tensor in = f.variable(FLOAT, 12, 0);
         const VertexRef v = f.graph.addVertex(f.cs, type, {{"out", f.variable(FLOAT, 1, 0)[0]}});
         f.graph.connect(v["in"], rows ? in.reshape({3, 4}) : in);
         f.graph.setTileMapping(v, 0);
         return total(f.run(Execute(f.cs)), "computeCycles");
       };
       const auto ofLayout = [&](const std::string &layout, unsigned align) {
         return cycles("First<poplar::VectorLayout::" + layout + "," + std::to_string(align) + ">",
                       false);
       };
       const std::size_t plain = ofLayout("ONE_PTR", 4);
       std::cout << ofLayout("SHORT_SPAN", 4) - plain << ' ' << ofLayout("SCALED_PTR32", 4) - plain
                 << ' ' << ofLayout("SCALED_PTR64", 8) - plain << ' '
                 << ofLayout("SCALED_PTR128", 16) - plain << ' '
                 << cycles("FirstOfList", true) - cycles("FirstOfRows", true);
     }},
    {"cycle_count",
     [] {
       Fixture f;
       Sequence prog{Copy(f.variable(FLOAT, 64, 0), f.variable(FLOAT, 64, 1))};
       f.graph.createHostRead("count", cycleCount(f.graph, prog, 3, SyncType::INTERNAL));
       Engine engine(f.graph, prog);
       engine.load(f.device);
       engine.run();
       std::uint64_t cycles = 0;
       engine.readTensor("count", &cycles, &cycles + 1);
       const ProfileValue profile = engine.getProfile();
       std::cout << cycles << ' ' << total(profile, "syncCycles") << ' '
                 << total(profile, "exchangeCycles");
     }},
    {"liveness",
     [] {
       // a -> b -> c -> d, each needed for one step only: two of them at a time.
       Fixture f;
       std::vector<Tensor> t;
       for (const char *name : {"a", "b", "c", "d"})
         t.push_back(f.variable(FLOAT, 1000, 5, name));
       f.graph.createHostWrite("a", t[0]);
       f.graph.createHostRead("d", t[3]);
       Sequence prog;
       for (unsigned i = 0; i < 3; ++i)
         prog.add(Copy(t[i], t[i + 1]));
       const ProfileValue profile = f.run(prog);
       std::cout << category(profile, 5, "variable") << ' '
                 << bytesOf(profile, 5, "notAlwaysLiveBytes") << ' ';
       for (const ProfileValue &step : profile["compilation"]["livenessProgramSteps"].asVector()) {
         const ProfileValue &memory = step["notAlwaysLiveMemory"];
         std::cout << memory["maxTileBytes"].asUint();
         for (const ProfileValue &variable : memory["variables"].asVector())
           std::cout << variable["name"].asString();
         std::cout << ' ';
       }
       for (const ProfileValue &v : profile["compilation"]["alwaysLiveVariables"].asVector())
         std::cout << v["name"].asString();
     }},
    {"liveness_in_control_flow",
     [] {
       Fixture f;
       const auto names = [&](const Program &prog) {
         Engine engine(f.graph, prog);
         const ProfileValue profile = engine.getProfile();
         std::multiset<std::string> always;
         for (const ProfileValue &v : profile["compilation"]["alwaysLiveVariables"].asVector())
           always.insert(v["name"].asString());
         for (const std::string &name : always)
           std::cout << name;
         std::cout << ' ';
       };
       const Tensor a = f.variable(FLOAT, 10, 0, "a"), b = f.variable(FLOAT, 10, 0, "b");
       const Tensor p = f.variable(BOOL, 1, 0, "p");
       const auto set = [&](const Tensor &t) {
         Sequence prog;
         popops::fill(f.graph, t, prog, 1.0f);
         return prog;
       };
       // Read at the top of a loop before it is written: kept from trip to trip, and from run to
       // run.
       names(Sequence({set(p), Repeat(3, Sequence({Copy(a, b), Copy(b, a)}))}));
       // Written first: kept by no run.
       names(Sequence({set(p), set(a), Repeat(3, Sequence({Copy(a, b), Copy(b, a)}))}));
       // Written in one branch only.
       names(Sequence({set(p), If(p[0], set(a), Sequence()), Copy(a, b)}));
       // Written half by half.
       names(Sequence({set(p), set(a.slice(0, 5)), set(a.slice(5, 10)), Copy(a, b)}));
       // A function is needed to keep what any of its callers needs.
       const Function copy = f.graph.addFunction(Copy(a, b));
       names(Sequence({set(p), set(a), Call(copy), set(a), Call(copy)}));
     }},
    {"messages",
     [] {
       // 8 floats come from elsewhere, 1 goes elsewhere: 36 bytes while the compute set runs.
       Fixture f;
       f.sum(f.variable(FLOAT, 8, 0), f.variable(FLOAT, 1, 2)[0], 1);
       const ProfileValue profile = f.run(Execute(f.cs));
       std::cout << category(profile, 1, "message") << ' '
                 << category(profile, 1, "internalExchangeCode") << ' '
                 << category(profile, 2, "internalExchangeCode");
     }},
    {"memory_shared",
     [] {
       // Five of 200,000 bytes do not fit a tile at once; two at a time do.
       Fixture f;
       std::vector<Tensor> t;
       for (unsigned i = 0; i < 5; ++i)
         t.push_back(f.variable(FLOAT, 50000, 5));
       Sequence prog;
       popops::fill(f.graph, t[0], prog, 1.0f);
       for (unsigned i = 0; i < 4; ++i)
         prog.add(Copy(t[i], t[i + 1]));
       Engine(f.graph, prog);
       std::cout << "fits ";
       for (const Tensor &one : t) // all are needed in the end
         prog.add(PrintTensor(one));
       try {
         Engine(f.graph, prog);
       } catch (const graph_memory_allocation_error &error) {
         std::cout << error.type;
       }
     }},
    {"tile_sizes",
     [] {
       for (const char *version : {"ipu1", "ipu2", "ipu21"}) {
         const Target target = Target::createIPUTarget(1, version);
         std::cout << target.getTilesPerIPU() << ' ' << target.getBytesPerTile() << ' '
                   << target.getTileClockFrequency() / 1e6 << ' ';
       }
     }},
    {"size_of_a_profile",
     [] {
       Fixture f(Fixture::ipu());
       const Tensor a = f.variable(FLOAT, 2, 0);
       const Program turn = Copy(a.reverse(0), a);
       Sequence many;
       for (unsigned i = 0; i < 3000; ++i)
         many.add(Copy(a.reverse(0), a));
       Engine engine(f.graph, Sequence({many, Repeat(10000, turn)}));
       engine.load(f.device);
       for (unsigned i = 0; i < 3; ++i)
         engine.run();
       const ProfileValue profile = engine.getProfile();
       std::ostringstream text;
       serializeToJSON(text, profile);
       const ProfileValue &run = profile["execution"]["runs"][0];
       std::cout << text.str().size() << ' ' << profile["execution"]["runs"].size() << ' '
                 << run["steps"].size() << ' ' << run["truncated"].asBool() << ' '
                 << profile["compilation"]["livenessProgramSteps"].size() << ' '
                 << total(profile, "executions");
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
