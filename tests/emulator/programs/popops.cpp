// PopLibs' operations on small tensors: prints one line a case.
#include <functional>
#include <iostream>
#include <map>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Fill.hpp>
#include <popops/Gather.hpp>
#include <popops/Loop.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/TopK.hpp>
#include <popops/Zero.hpp>
#include <popops/codelets.hpp>
#include <poprand/RandomGen.hpp>
#include <poprand/codelets.hpp>
#include <poputil/Broadcast.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>

using namespace poplar;
using namespace poplar::program;
namespace pe = popops::expr;

namespace {

struct Fixture {
  Device device = model();
  Graph graph{device.getTarget()};
  Sequence prog;

  static Device model() {
    IPUModel m;
    m.tilesPerIPU = 6;
    return m.createDevice();
  }
  Fixture() {
    popops::addCodelets(graph);
    poplin::addCodelets(graph);
    poprand::addCodelets(graph);
  }
  template <typename T> Tensor values(const Type &type, std::vector<std::size_t> shape, T first) {
    const Tensor t = graph.addVariable(type, shape);
    poputil::mapTensorLinearly(graph, t, 1, 1);
    std::vector<T> v(t.numElements());
    for (std::size_t i = 0; i < v.size(); ++i)
      v[i] = first + static_cast<T>(i);
    graph.setInitialValue(t, v);
    return t;
  }
  Tensor floats(std::vector<std::size_t> shape, float first = 0) {
    return values<float>(FLOAT, std::move(shape), first);
  }
  Tensor index(unsigned value) {
    const Tensor t = graph.addConstant<unsigned>(UNSIGNED_INT, {1}, value);
    graph.setTileMapping(t, 0);
    return t;
  }
  template <typename T> void print(const Tensor &t) {
    graph.createHostRead("out", t);
    Engine engine(graph, prog);
    engine.load(device);
    engine.run();
    std::vector<T> v(t.numElements());
    engine.readTensor("out", v.data(), v.data() + v.size());
    std::cout << t.shapeToString();
    for (const T x : v)
      std::cout << ' ' << static_cast<double>(x);
    std::cout << '\n';
  }
};

std::string errorOf(const std::function<void()> &f) {
  try {
    f();
  } catch (const poputil::poplibs_error &error) {
    return error.type;
  } catch (const poplar_error &error) {
    return error.type;
  }
  return "none";
}

const std::map<std::string, void (*)(Fixture &)> cases{
    {"map",
     [](Fixture &f) {
       const Tensor a = f.floats({2, 3}), b = f.floats({3}, 10);
       f.print<float>(popops::map(f.graph,
                                  pe::Select(pe::_1 * 2 + pe::_2, pe::Neg(pe::_1), pe::_1 > 1.5f),
                                  {a, b}, f.prog));
     }},
    {"in_place",
     [](Fixture &f) {
       const Tensor a = f.floats({4});
       popops::addInPlace(f.graph, a, a, f.prog);
       popops::mulInPlace(f.graph, a, 0.5f, f.prog, "half");
       popops::subInPlace(f.graph, a, f.floats({1}, 1), f.prog);
       f.print<float>(a);
     }},
    {"integers",
     [](Fixture &f) {
       const Tensor a = f.values<int>(INT, {4}, -2);
       const Tensor b = popops::div(f.graph, popops::mul(f.graph, a, 7, f.prog), 2, f.prog);
       f.print<int>(popops::rem(f.graph, b, 5, f.prog));
     }},
    {"wraps",
     [](Fixture &f) {
       const Tensor a = f.values<unsigned>(UNSIGNED_INT, {2}, 4294967294u);
       f.print<unsigned>(popops::add(f.graph, a, 3u, f.prog));
     }},
    {"large_constant",
     [](Fixture &f) {
       const Tensor a = f.values<unsigned>(UNSIGNED_INT, {1}, 0);
       f.print<unsigned>(popops::add(f.graph, a, 4000000001u, f.prog));
     }},
    {"compare_and_cast",
     [](Fixture &f) {
       const Tensor yes = popops::gteq(f.graph, f.floats({4}), 2.f, f.prog);
       f.print<float>(popops::cast(f.graph, yes, FLOAT, f.prog));
     }},
    {"half",
     [](Fixture &f) {
       const Tensor h = popops::cast(f.graph, f.floats({2}, 2048), HALF, f.prog);
       f.print<float>(popops::cast(f.graph, popops::add(f.graph, h, h, f.prog), FLOAT, f.prog));
     }},
    {"fill",
     [](Fixture &f) {
       const Tensor a = f.values<unsigned>(UNSIGNED_INT, {4}, 0);
       popops::fill(f.graph, a.slice(1, 3), f.prog, 4294967295u);
       popops::zero(f.graph, a.slice(3, 4), f.prog);
       f.print<unsigned>(a);
     }},
    {"reduce",
     [](Fixture &f) {
       const Tensor a = f.floats({2, 3, 4});
       const Tensor sums = popops::reduce(f.graph, a, {0, 2}, popops::Operation::ADD, f.prog);
       const Tensor most = popops::reduce(f.graph, a, {1}, {popops::Operation::MAX}, f.prog);
       f.print<float>(concat(sums, most.flatten()));
     }},
    {"reduce_update",
     [](Fixture &f) {
       const Tensor scale = f.floats({1}, 3), out = f.floats({2}, 100);
       popops::reduceWithOutput(f.graph, f.floats({3, 2}), out, {0},
                                {popops::Operation::SQUARE_ADD, true, scale}, f.prog);
       f.print<float>(out);
     }},
    {"reduce_many",
     [](Fixture &f) {
       std::vector<Tensor> out;
       const std::size_t sets = 1;
       popops::reduceMany(f.graph,
                          {{f.floats({2, 2}), {0}, {popops::Operation::ADD}},
                           {f.floats({3}, 1), {0}, {popops::Operation::MUL}, "product"}},
                          out, f.prog);
       static_cast<void>(sets);
       f.print<float>(concat(out[0], out[1].reshape({1})));
     }},
    {"dynamic_slice",
     [](Fixture &f) {
       const Tensor t = popops::createSliceableTensor(f.graph, FLOAT, {5, 3}, {0}, {1});
       f.prog.add(Copy(f.floats({5, 3}), t));
       f.print<float>(popops::dynamicSlice(f.graph, t, f.index(4), {0}, {2}, f.prog));
     }},
    {"dynamic_slice_of_two",
     [](Fixture &f) {
       const Tensor at = concat(f.index(1), f.index(2));
       f.print<float>(popops::dynamicSlice(f.graph, f.floats({3, 4}), at, {0, 1}, {2, 1}, f.prog));
     }},
    {"dynamic_update",
     [](Fixture &f) {
       const Tensor t = f.floats({3, 2});
       popops::dynamicUpdate(f.graph, t, f.floats({3, 1}, 70), f.index(1), {1}, {1}, f.prog);
       popops::dynamicUpdate(f.graph, t, f.floats({1, 1}, 90), concat(f.index(2), f.index(0)),
                             {0, 1}, {1, 1}, f.prog);
       f.print<float>(t);
     }},
    {"counted_loop",
     [](Fixture &f) {
       const Tensor sum = f.values<unsigned>(UNSIGNED_INT, {1}, 0);
       f.prog.add(popops::countedLoop(f.graph, 3, 12, 4, [&](const Tensor &i) {
         Sequence body;
         popops::addInPlace(f.graph, sum, i, body);
         return body;
       }));
       f.print<unsigned>(sum);
     }},
    {"mat_mul",
     [](Fixture &f) {
       const Tensor b = poplin::createMatMulInputRHS(f.graph, FLOAT, FLOAT, {2, 3}, {3, 2}, "b");
       f.prog.add(Copy(f.floats({3, 2}, 1), b));
       f.print<float>(poplin::matMul(f.graph, f.floats({2, 3}, 1), b, f.prog, FLOAT));
     }},
    {"top_k",
     [](Fixture &f) {
       using popops::SortOrder;
       const Tensor a = f.floats({2, 3});
       const Tensor t = concat(a, popops::neg(f.graph, a, f.prog), 1); // 0 1 2 -0 -1 -2, ...
       const auto up =
           popops::topKWithPermutation(f.graph, f.prog, t, {2, true, SortOrder::ASCENDING});
       const Tensor down = popops::topK(f.graph, f.prog, t, {2, false, SortOrder::DESCENDING});
       const Tensor indices = popops::cast(f.graph, up.second, FLOAT, f.prog);
       f.print<float>(concat({up.first, indices, down}));
     }},
    {"scaled_add",
     [](Fixture &f) {
       const Tensor a = f.floats({3}), b = f.floats({3}, 10);
       popops::scaledAddTo(f.graph, a, b, 0.5f, f.prog);
       popops::scaledSubtractFrom(f.graph, a, b, f.floats({1}, 2), f.prog);
       popops::scaledAddTo(f.graph, a, 2.f, b, 1.f, f.prog);
       f.print<float>(a);
     }},
    {"numbers_in_ternaries",
     [](Fixture &f) {
       const Tensor a = f.floats({4}, -1);
       const Tensor mask = popops::gt(f.graph, a, 0.f, f.prog);
       std::vector<Tensor> found{
           popops::select(f.graph, a, 9.f, mask, f.prog),
           popops::select(f.graph, 9.f, a, mask, f.prog),
           popops::clamp(f.graph, a, 0.f, 1.5f, f.prog),
           popops::map(f.graph, pe::Select(pe::Const(1.f), pe::Const(-1.f), pe::_1 > 1.f), {a},
                       f.prog)};
       popops::clampInPlace(f.graph, a, 1, a, f.prog);
       found.push_back(a);
       f.print<float>(concat(found));
     }},
    {"split_groups",
     [](Fixture &f) {
       const std::vector<std::vector<Interval>> groups{{{0, 5}, {10, 12}}, {{20, 21}}};
       for (const auto &part :
            poputil::splitRegionsBetweenWorkers(f.graph.getTarget(), groups, 2, 4)) {
         for (const auto &group : part) {
           for (const Interval &i : group)
             std::cout << i;
           std::cout << '+';
         }
         std::cout << ' ';
       }
       std::cout << '\n';
     }},
    {"random",
     [](Fixture &f) {
       const Tensor seed = f.values<unsigned>(UNSIGNED_INT, {2}, 7);
       const Tensor like = f.graph.addVariable(FLOAT, {6000}, VariableMappingMethod::LINEAR);
       const auto draw = [&](unsigned modifier) {
         return poprand::uniform(f.graph, &seed, modifier, like, FLOAT, -1, 3, f.prog);
       };
       const Tensor a = draw(0), b = draw(0), c = draw(1);
       const Tensor n = poprand::normal(f.graph, &seed, 2, like, FLOAT, 5, 2, f.prog);
       const auto sum = [&](const Tensor &t, popops::Operation op) {
         return popops::reduce(f.graph, t, {0}, op, f.prog).reshape({1});
       };
       using popops::Operation;
       std::vector<Tensor> found{sum(a, Operation::ADD),
                                 sum(a, Operation::MIN),
                                 sum(a, Operation::MAX),
                                 sum(popops::sub(f.graph, a, b, f.prog), Operation::SQUARE_ADD),
                                 sum(popops::sub(f.graph, a, c, f.prog), Operation::SQUARE_ADD),
                                 sum(n, Operation::ADD),
                                 sum(popops::sub(f.graph, n, 5.f, f.prog), Operation::SQUARE_ADD)};
       const Tensor whole = poprand::uniform(f.graph, &seed, 3, like, INT, -1, 1, f.prog);
       for (int value = -1; value <= 1; ++value) {
         const Tensor equal = popops::eq(f.graph, whole, value, f.prog);
         found.push_back(sum(popops::cast(f.graph, equal, FLOAT, f.prog), Operation::ADD));
       }
       f.print<float>(concat(found));
     }},
    {"poputil",
     [](Fixture &f) {
       const Tensor t = f.graph.addVariable(FLOAT, {100});
       poputil::mapTensorLinearly(f.graph, t); // 128 bytes a tile at least
       unsigned used = 0;
       for (const auto &regions : f.graph.getTileMapping(t))
         used += !regions.empty();
       poputil::mapTensorLinearlyWithOffset(f.graph, t, 4);
       std::cout << used << f.graph.getTileMapping(t)[4][0] << ' '
                 << poputil::templateVertex("ns::V", FLOAT, true, 3u, UNSIGNED_INT) << ' '
                 << poputil::templateVertex("V") << ' '
                 << poputil::cloneN(f.graph, t, 3).shapeToString() << ' ';
       Tensor a = f.floats({2, 1}), b = f.floats({3});
       poputil::broadcastToMatch(a, b);
       std::cout << a.shapeToString() << b.shapeToString() << '\n';
     }},
    {"errors",
     [](Fixture &f) {
       const Tensor a = f.floats({3}), i = f.values<int>(INT, {3}, 0);
       Graph bare(f.device.getTarget());
       const Tensor t = bare.addVariable(FLOAT, {3}, VariableMappingMethod::LINEAR);
       std::cout
           << errorOf([&] { popops::add(f.graph, a, i, f.prog); }) << ' '
           << errorOf([&] { popops::add(f.graph, a, f.floats({2}), f.prog); }) << ' '
           << errorOf([&] { popops::zero(bare, t, f.prog); }) << ' ' << errorOf([&] {
                popops::countedLoop(f.graph, 2, 2, 1, [](const Tensor &) { return Program(); });
              })
           << ' '
           << errorOf([&] { popops::reduce(f.graph, a, {1}, popops::Operation::ADD, f.prog); })
           << ' '
           << errorOf([&] { popops::dynamicSlice(f.graph, a, i.slice(0, 1), {0}, {1}, f.prog); })
           << ' ' << errorOf([&] { poplin::matMul(f.graph, a, a, f.prog); }) << ' '
           << errorOf([&] { popops::logicalNot(f.graph, i, f.prog); }) << ' '
           << errorOf([&] { popops::bitwiseAnd(f.graph, a, a, f.prog); }) << ' '
           << errorOf([&] { popops::select(f.graph, a, a, a, f.prog); }) << ' '
           << errorOf([&] { poprand::normal(f.graph, nullptr, 0, i, INT, 0, 1, f.prog); }) << ' '
           << errorOf([&] { popops::gather(f.graph, a, a, 0, f.prog, {}); }) << '\n';
     }},
};

} // namespace

int main(int argc, char **argv) {
  for (const auto &one : cases) {
    if (argc >= 2 && one.first != argv[1])
      continue;
    Fixture fixture;
    one.second(fixture);
  }
}
