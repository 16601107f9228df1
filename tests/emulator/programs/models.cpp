// Programs with cycles and bytes that can be computed by hand: prints one line per case.
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include <poplar/CycleCount.hpp>
#include <popops/Fill.hpp>
#include <poputil/cyclesTables.hpp>

#include "model_fixture.h"

namespace {

#include "models_memory.h"
#include "models_vectors.h"

/// The estimate of a codelet, as libraries register it.
VertexPerfEstimate MAKE_PERF_ESTIMATOR_NAME(Scale)(const VertexIntrospector &vertex,
                                                   const Target &target, const Type &type, bool) {
  CODELET_FIELD(in);
  CODELET_SCALAR_VAL(n, unsigned);
  return std::uint64_t{25} * target.getTypeSize(type) * in.size() + n;
}

const std::map<std::string, void (*)()> cases{
    {"vectors_of_clang",
     [] {
       const std::size_t own = cyclesOfPairs("typedef float2 Pair"),
                         clang = cyclesOfPairs(
                             "typedef float Pair __attribute__((ext_vector_type(2)))");
       std::cout << (own > 64 * 6 * 4) << (clang < own + 6 * 10 && own < clang + 6 * 10);
     }},
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
    {"estimator_table",
     [] {
       Fixture f(Fixture::ipu());
       poputil::internal::registerPerfFunctions(
           f.graph, {CYCLE_ESTIMATOR_ENTRY(tests, Scale, FLOAT, false)});
       const VertexRef v =
           f.graph.addVertex(f.cs, "tests::Scale<float,false>",
                             {{"in", f.variable(FLOAT, 8, 0)}, {"out", f.variable(FLOAT, 8, 0)}});
       f.graph.setInitialValue(v["factor"], 2.0f);
       f.graph.setInitialValue(v["n"], 5u);
       f.graph.setTileMapping(v, 0);
       const ProfileValue profile = f.run(Execute(f.cs));
       std::cout << profile["compilation"]["computeSets"][0]["estimatedCycles"].asUint() << ' '
                 << poputil::internal::getUnpackCost(layout::Vector::SHORT_SPAN)
                 << poputil::internal::getUnpackCost(layout::VectorList::DELTANELEMENTS);
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
};

} // namespace

int main(int argc, char **argv) {
  auto all = cases;
  all.insert(memoryCases.begin(), memoryCases.end());
  for (const auto &one : all)
    if (argc < 2 || one.first == argv[1]) {
      std::cout << one.first << ": ";
      one.second();
      std::cout << '\n';
    }
}
