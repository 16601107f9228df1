// Operations of PopLibs beyond element-wise ones, each with a result to be checked by hand.
#include <gcl/Collectives.hpp>
#include <iostream>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popnn/Loss.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/codelets.hpp>
#include <popops/AllTrue.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/ElementWiseUtil.hpp>
#include <popops/Encoding.hpp>
#include <popops/Fill.hpp>
#include <popops/Gather.hpp>
#include <popops/Loop.hpp>
#include <popops/NaN.hpp>
#include <popops/Pad.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Sort.hpp>
#include <popops/TopK.hpp>
#include <popops/Zero.hpp>
#include <popops/codelets.hpp>
#include <poprand/RandomGen.hpp>
#include <poprand/codelets.hpp>
#include <poputil/Broadcast.hpp>
#include <poputil/DebugInfo.hpp>
#include <poputil/GraphFunction.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>
#include <poputil/exceptions.hpp>
namespace pe = popops::expr;
using namespace poplar;
using namespace poplar::program;
using namespace popops::expr;
int main() {
  IPUModel m;
  m.tilesPerIPU = 8;
  m.numIPUs = 2;
  Device d = m.createDevice();
  Graph graph(d.getTarget(), replication_factor(1));
  popops::addCodelets(graph);
  poplin::addCodelets(graph);
  popnn::addCodelets(graph);
  poprand::addCodelets(graph);
  Sequence prog({}, {"prog"});
  auto show = [&](const char *n, const Tensor &t) { prog.add(PrintTensor(n, t)); };
  auto var = [&](const Type &ty, std::vector<size_t> s) {
    Tensor t = graph.addVariable(ty, s, VariableMappingMethod::LINEAR, "v");
    return t;
  };
  Tensor a = var(FLOAT, {2, 4}), i4 = var(UNSIGNED_INT, {4});
  graph.setInitialValue(a, ArrayRef<float>({4, -3, 2, 1, 0, 5, -6, 7}));
  graph.setInitialValue(i4, ArrayRef<unsigned>({3, 0, 1, 2}));
  show("sorted", popops::sort(graph, a, 1, prog, "sort"));
  show("sorted0", popops::sort(graph, a, 0, prog));
  show("byKey", popops::sortKeyValue(graph, a[0], i4, 0, prog));
  show("argmax", popnn::argMax(graph, a, prog));
  show("argmin", popnn::argMin(graph, a, prog));
  auto kv = popops::topKKeyValue(graph, prog, a[1], i4,
                                 popops::TopKParams(2, true, popops::SortOrder::DESCENDING));
  show("kv", kv.second);
  Tensor table = var(FLOAT, {5, 3});
  Tensor off = var(UNSIGNED_INT, {2, 1});
  Tensor count = var(FLOAT, {15});
  popops::iota(graph, count, 0u, prog);
  prog.add(Copy(count, table.flatten()));
  graph.setInitialValue(off, ArrayRef<unsigned>({4, 1}));
  auto plan = popops::embedding::plan(graph, FLOAT, 5, 3, {2}, {});
  Tensor sl = popops::multiSlice(graph, table, off, {0}, {1}, prog, plan, {}, "ms");
  std::cout << sl.shapeToString() << "\n";
  show("ms", sl);
  Tensor scale = graph.addConstant<float>(FLOAT, {}, 10.f);
  graph.setTileMapping(scale, 0);
  popops::multiUpdateAdd(graph, table, sl, off, scale, {0}, {1}, prog, plan, OptionFlags(), "mu");
  show("table", table);
  Tensor g = popops::gather(graph, a, i4.slice(0, 3), 1, prog, popops::GatherParams{});
  std::cout << g.shapeToString() << "\n";
  show("gather", g);
  Tensor hot = var(FLOAT, {4, 4});
  popops::encodeOneHot(graph, i4, hot, prog);
  show("hot", hot);
  show("pad", popops::pad(graph, a, {0, 1}, {1, 0}, 9.f));
  show("reflect", popops::pad(a[0], {2}, {1}, popops::padding::Type::REFLECT));
  show("softmax", popnn::nonLinearity(graph, popnn::NonLinearityType::SOFTMAX, a, prog));
  show("gelu", popnn::gelu(graph, a, prog));
  Tensor r = graph.clone(a);
  prog.add(Copy(a, r));
  popnn::reluInPlace(graph, r, prog);
  show("relu", r);
  show("relugrad",
       popnn::nonLinearityInputGradient(graph, popnn::NonLinearityType::RELU, r, a, prog));
  show("alltrue", popops::allTrue(graph, popops::gteq(graph, r, 0.f, prog), prog));
  show("nan", popops::hasNaN(graph, a, prog));
  show("select",
       popops::map(graph, pe::Select(pe::_1, pe::Const(0.f), pe::_1 > pe::Const(1.f)), {a}, prog));
  show("clamp", popops::map(graph, Clamp(_1, Const(-1.f), Const(1.f)), {a}, prog));
  show("complex", popops::map(graph, Cast(Round(Exp(_1 / 10.f) * _2) + 1.f, INT), {a, a[0]}, prog));
  popops::addInPlace(graph, r, a, prog, {"addInPlace"});
  show("added", r);
  show("reduce", popops::reduce(graph, a, {1}, {popops::Operation::MAX}, prog));
  show("reduceScaled",
       popops::reduce(graph, a, FLOAT, {0}, {popops::Operation::ADD, false, scale}, prog, "x"));
  Tensor A = poplin::createMatMulInputLHS(graph, FLOAT, FLOAT, {2, 4}, {4, 3}, "A"),
         B = poplin::createMatMulInputRHS(graph, FLOAT, {2, 4}, {4, 3}, "B");
  graph.setInitialValue(A, 2.f);
  graph.setInitialValue(B, 3.f);
  Tensor C = poplin::matMul(graph, A, B, prog, FLOAT, "mm");
  poplin::matMulAcc(graph, C, 0.5f, A, B, prog);
  show("C", C);
  show("G", poplin::matMulGrouped(graph, A.expand({0}), B.expand({0}), prog, FLOAT, "g"));
  Tensor limit = var(UNSIGNED_INT, {});
  graph.setInitialValue(limit, 3u);
  Tensor acc = var(FLOAT, {});
  graph.setInitialValue(acc, 0.f);
  Sequence body;
  popops::addInPlace(graph, acc, 1.f, body);
  prog.add(popops::countedForLoop(graph, 0, limit, 1, body));
  show("acc", acc);
  prog.add(popops::countedLoop(graph, 4, [&](const Tensor &i) {
    Sequence s;
    popops::addInPlace(graph, acc, popops::cast(graph, i, FLOAT, s).reshape({}), s);
    return s;
  }));
  show("acc2", acc);
  Tensor seed = var(UNSIGNED_INT, {2});
  graph.setInitialValue(seed, 7u);
  Tensor big = var(FLOAT, {1000});
  auto stat = [&](const char *n, const Tensor &t) {
    show(n, popops::reduce(graph, t.flatten(), {0}, popops::Operation::ADD, prog));
  };
  stat("uni", poprand::uniform(graph, nullptr, 0, big, FLOAT, 0., 1., prog));
  stat("tn", poprand::truncatedNormal(graph, &seed, 1, big, FLOAT, 5., 1., 2., prog));
  stat("lu", poprand::logUniform(graph, &seed, 1, big, FLOAT, 1., 10., prog));
  graph.setInitialValue(big, 1.f);
  stat("drop", poprand::dropout(graph, &seed, 1, big, big, 0.5, 2., prog));
  poprand::setSeed(graph, seed, 1, prog);
  Tensor u1 = poprand::uniform(graph, nullptr, 0, acc, FLOAT, 0, 1, prog),
         u2 = poprand::uniform(graph, nullptr, 0, acc, FLOAT, 0, 1, prog);
  show("differ", popops::neq(graph, u1, u2, prog));
  Tensor far = poputil::copyToIpu(graph, a, prog, 1);
  std::cout << (graph.getTileMapping(far)[8].size() > 0) << "\n";
  show("far", far);
  Tensor f = poputil::factorDims(var(FLOAT, {6, 4}), {2, 2});
  std::cout << f.shapeToString() << poputil::unfactorDims(f, 2).shapeToString() << "\n";
  poputil::graphfn::TensorFunction fn(
      graph, {poputil::graphfn::input(a, "x")},
      [&](std::vector<Tensor> &args, Sequence &s) { return popops::square(graph, args[0], s); });
  std::vector<Tensor> args{a};
  show("fn", fn(args, prog));
  show("gcl", gcl::allReduceCrossReplica(graph, a[0], gcl::CollectiveOperator::ADD, prog));
  Tensor lossT = var(FLOAT, {2}), deltas = graph.clone(a), lab = var(UNSIGNED_INT, {2}),
         good = var(UNSIGNED_INT, {});
  graph.setInitialValue(lab, ArrayRef<unsigned>({0, 1}));
  graph.setInitialValue(good, 0u);
  Tensor sm = popnn::softmax(graph, a, prog);
  prog.add(
      popnn::calcLoss(graph, sm, lab, lossT, deltas, good, popnn::LossType::CROSS_ENTROPY_LOSS));
  show("loss", lossT);
  show("good", good);
  Tensor used = graph.addVariable(FLOAT, {8});
  poputil::TensorUseTracker uses(graph.getTarget().getNumTiles());
  uses.add(graph, 3, used.slice(0, 4));
  uses.add(graph, 1, used.slice(2, 8));
  uses.mapTensorsByUse(graph, 1, 1);
  for (std::size_t i = 0; i < 8; ++i)
    for (unsigned tile = 0; tile < 8; ++tile)
      if (!graph.getTileMapping(used[i])[tile].empty())
        std::cout << tile;
  std::cout << "\n";
  poputil::PoplibsOpDebugInfo di(DebugContext{"x"}, DI_ARGS(a, C));
  di.addOutput(a);
  Engine e(graph, prog);
  e.setPrintStream(std::cout);
  e.load(d);
  e.run(0);
}
