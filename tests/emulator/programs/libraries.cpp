// What PopLibs' less common headers have, in float and in half: prints every tensor.
#include <poplin/Cholesky.hpp>
#include <poplin/MeshGrid.hpp>
#include <poplin/TriangularSolve.hpp>
#include <popnn/GroupNorm.hpp>
#include <popnn/Gru.hpp>
#include <popnn/Loss.hpp>
#include <popnn/Lstm.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/SpatialSoftMax.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/EncodingConstants.hpp>
#include <popops/GatherStatistics.hpp>
#include <popops/Rearrange.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/SequenceSlice.hpp>
#include <popsparse/codelets.hpp>
#include <poputil/Util.hpp>
#include <poputil/VarStructure.hpp>
#include <poputil/exceptions.hpp>

#include "libraries_fixture.h"
#include "libraries_sparse.h"

namespace {

void slices(Libraries &n, const std::string &name, const Type &type) {
  const popops::SlicePlan plan = popops::embedding::plan(n.graph, type, 2, 4, 3, {3}, {});
  const Tensor tables =
      popops::createGroupedSliceableTensor(n.graph, type, 2, {4, 3}, {0}, {1}, plan, {});
  n.prog.add(popops::cast(n.graph, n.filled(name + "_tables", {2, 4, 3}, 1), tables));
  const Tensor at = n.numbers({2, 3, 1}, {3, 0, 3, 1, 2, 1});
  n.show(name + "_lookups",
         popops::groupedMultiSlice(n.graph, tables, at, {0}, {1}, n.prog, plan, {}));
  const Tensor updates = n.filled(name + "_updates", {2, 3, 1, 3}, 2, type);
  popops::groupedMultiUpdateAdd(n.graph, tables, updates, at, n.number(0.5f), {0}, {1}, n.prog,
                                plan, {});
  n.show(name + "_updated", tables);
  // Windows of two dimensions, [n, 2, 2], and no window at all.
  const Tensor cells = n.filled(name + "_cells", {3, 5}, 3, type);
  const Tensor corners = n.numbers({2, 2}, {0, 3, 1, 1});
  const Tensor windows =
      popops::multiSlice(n.graph, cells, corners, {0, 1}, {2, 2}, n.prog, plan, {});
  n.show(name + "_windows", windows);
  popops::multiUpdateAdd(n.graph, cells, windows, corners, n.number(2, type), {0, 1}, {2, 2},
                         n.prog, plan, {});
  n.show(name + "_doubled", cells);
  std::cout << "no window "
            << popops::multiSlice(n.graph, cells, n.numbers({0, 1}, {}), {0}, {1}, n.prog, plan, {})
                   .shapeToString()
            << '\n';
}

void losses(Libraries &n, const std::string &name, const Type &type) {
  const Tensor in = n.filled(name + "_in", {3, 4}, 4, type);
  float scaling = 0;
  const Tensor p =
      popnn::nonLinearity(n.graph, popnn::NonLinearityType::SOFTMAX_SCALED, in, scaling, n.prog);
  const Tensor loss = n.graph.addVariable(type, {3}, VariableMappingMethod::LINEAR),
               deltas = n.graph.clone(p);
  n.prog.add(popnn::calcLoss(n.graph, p, n.numbers({3}, {2, MASKED_LABEL_CODE, 0}), loss, deltas,
                             n.number(8, type), n.number(scaling, type),
                             popnn::CROSS_ENTROPY_LOSS));
  n.show(name + "_loss", loss);
  n.show(name + "_deltas", deltas);
  n.show(name + "_gelu", popnn::geluErf(n.graph, in, n.prog));
  n.show(name + "_gelu_gradient",
         popnn::nonLinearityInputGradient(n.graph, popnn::NonLinearityType::GELU_ERF, in,
                                          n.filled(name + "_dy", {3, 4}, 5, type), n.prog));
  const auto [least, place] = popnn::minAndArgMin(n.graph, in, n.prog);
  n.show(name + "_least", least);
  n.show(name + "_place", place);
}

void accuracies(Libraries &n, const std::string &name, const Type &type) {
  const Tensor outputs = n.graph.addConstant(
      type, {4, 3}, ArrayRef<float>({.1f, .2f, .7f, .6f, .3f, .1f, .2f, .5f, .3f, 1.f, 0.f, 0.f}));
  n.graph.setTileMapping(outputs, 2);
  const Tensor labels = n.numbers({4}, {2, 0, MASKED_LABEL_CODE, 1});
  const Tensor correct = n.graph.addVariable(UNSIGNED_INT, {1}, VariableMappingMethod::LINEAR),
               byLoss = n.graph.addVariable(UNSIGNED_INT, {}, VariableMappingMethod::LINEAR),
               loss = n.graph.addVariable(type, {4}, VariableMappingMethod::LINEAR),
               deltas = n.graph.clone(outputs);
  for (const Tensor &counted : {correct, byLoss})
    n.graph.setInitialValue(counted, 5u);
  n.prog.add(Repeat(3, popnn::calcAccuracy(n.graph, outputs, labels, correct)));
  n.prog.add(Repeat(3, popnn::calcLoss(n.graph, outputs, labels, loss, deltas, byLoss,
                                       popnn::CROSS_ENTROPY_LOSS)));
  n.show(name + "_correct", correct);
  n.show(name + "_by_loss", byLoss.reshape({1}));
  n.show(name + "_loss", loss);
  try {
    popnn::calcLoss(n.graph, outputs, labels, loss, deltas, n.number(8, type), n.number(1, type),
                    popnn::SUM_SQUARED_LOSS);
  } catch (const poputil::poplibs_error &error) {
    std::cout << error.what() << '\n';
  }
}

void elements(Libraries &n, const std::string &name, const Type &type) {
  const Tensor a = n.filled(name + "_a", {5}, 6, type), b = n.filled(name + "_b", {5}, 7, type);
  const Tensor moved = poputil::duplicate(n.graph, a, n.prog);
  popops::scaledAddTo(n.graph, moved, n.number(0.25f), b, n.number(0.5f), n.prog,
                      popops::ScaledAddSpecialisation::X_MINUS_AX_PLUS_BY);
  popops::scaledSubtractFrom(n.graph, moved, 2.f, b, 0.5f, n.prog);
  n.show(name + "_moved", moved);
  n.show(name + "_power", popops::exp2(n.graph, a, n.prog));
  const Tensor variance = popops::square(n.graph, a, n.prog);
  n.show(name + "_deviation",
         popops::varianceToInvStdDev(n.graph, variance, 0.25f, n.prog, FLOAT, "deviation"));
}

void linear(Libraries &n, const std::string &name, const Type &type) {
  const Tensor a = n.filled(name + "_a", {2, 3, 3}, 8, type);
  const Tensor unit = n.filled(name + "_right", {2, 2, 3}, 9, type);
  n.show(name + "_solved", poplin::triangularSolve(n.graph, a, unit, false, true, true, n.prog));
  // A matrix times its transpose is symmetric; what is added makes it positive definite.
  const Tensor twice = poplin::matMulGrouped(n.graph, a, a.dimShuffle({0, 2, 1}), n.prog, type);
  const Tensor eye =
      n.graph.addConstant(type, {3, 3}, ArrayRef<float>({8, 0, 0, 0, 8, 0, 0, 0, 8}));
  n.graph.setTileMapping(eye, 0);
  popops::addInPlace(n.graph, twice, eye, n.prog);
  const Tensor l = poplin::cholesky(n.graph, twice, true, n.prog);
  n.show(name + "_lower", l);
  n.show(name + "_upper", poplin::cholesky(n.graph, twice, false, n.prog));
  const Tensor b = n.filled(name + "_left", {2, 3, 2}, 10, type);
  n.show(name + "_b", poplin::triangularSolve(n.graph, l, b, true, true, false, n.prog));
}

void layers(Libraries &n, const std::string &name, const Type &type) {
  const Tensor acts = n.filled(name + "_acts", {2, 4, 3}, 11, type);
  const auto [mean, invStdDev] =
      popnn::gn::groupNormStatistics(n.graph, acts, 1e-3f, n.prog, 2, false, true);
  n.show(name + "_norm", popnn::gn::groupNormWhiten(n.graph, acts, mean, invStdDev, n.prog));
  const popnn::lstm::LstmParams lstm(type, 2, 2, {3, 4});
  const Tensor x = n.filled(name + "_x", {2, 2, 3}, 12, type),
               h = n.filled(name + "_h", {2, 4}, 13, type);
  const auto weights = [&](std::size_t units) {
    const Tensor in = n.filled(name + "_wi" + std::to_string(units), {units, 3, 4}, 14, type);
    const Tensor out = n.filled(name + "_wo" + std::to_string(units), {units, 4, 4}, 15, type);
    const Tensor bias = n.filled(name + "_b" + std::to_string(units), {units, 4}, 16, type);
    return std::make_tuple(in, out, bias);
  };
  const auto [li, lo, lb] = weights(4);
  Tensor kept, dx;
  const auto [y, c] = popnn::lstm::lstmFwd(n.graph, lstm, {h, h}, x, {li, lo, lb}, &kept, n.prog);
  n.show(name + "_lstm", y);
  n.show(name + "_cell", c);
  const auto [gi, go, gb] = weights(3);
  const popnn::gru::GruParams gru(type, 2, 2, {3, 4});
  n.show(name + "_gru", popnn::gru::gruFwd(n.graph, gru, h, x, {gi, go, gb}, &kept, n.prog));
}

void counts(Libraries &n, const std::string &name, const Type &type) {
  const Tensor in = n.filled(name + "_in", {4, 6}, 17, type).transpose();
  const Tensor levels = n.graph.addConstant(type, {2}, ArrayRef<float>({-0.5f, 1}));
  n.graph.setTileMapping(levels, 0);
  n.show(name + "_histogram", popops::histogram(n.graph, in, levels, false, n.prog));
  Tensor more = n.graph.addVariable(FLOAT, {3}, VariableMappingMethod::LINEAR);
  n.graph.setInitialValue(more, 100.f);
  popops::histogram(n.graph, in, more, true, levels, true, n.prog);
  n.show(name + "_more", more);
  for (const bool zero : {false, true}) {
    const Tensor to = n.filled(name + (zero ? "_to0" : "_to1"), {5, 4}, 18, type);
    popops::sequenceSlice(n.graph, in, to, n.numbers({2}, {2, 1}), n.numbers({2}, {1, 5}),
                          n.numbers({2}, {3, 0}), zero, n.prog);
    n.show(name + (zero ? "_zeroed" : "_copied"), to);
  }
}

void views(Libraries &n, const std::string &name, const Type &type) {
  using namespace popops::rearrange;
  const Tensor in = n.filled(name + "_in", {2, 3, 8}, 22, type);
  const auto [means, temperature] = popnn::spatialSoftMax2D(n.graph, n.prog, in, 0.5f);
  n.show(name + "_means", means);
  n.show(name + "_temperature", temperature.expand({0}));
  n.show(name + "_sums", popnn::spatialSoftMax2D(n.graph, n.prog, in, 1, true).first);
  const Tensor x = poplin::linspace(n.graph, type, -1, 2, 7);
  const std::vector<Tensor> grids = poplin::meshgrid2d(n.graph, x, in[0][0]);
  n.show(name + "_x", grids[0]);
  n.show(name + "_y", grids[1]);
  const poplar::ComputeSet cs = n.graph.addComputeSet("transposes");
  const Tensor turned = partialTranspose(n.graph, in, cs);
  const Tensor each = n.graph.clone(turned);
  addTransposeVertices(n.graph, cs, type, 3, 8, {{{0, 1}}, {{1, 2}}},
                       [&](std::size_t i) { return std::make_pair(in[i], each[i]); });
  n.prog.add(poplar::program::Execute(cs));
  n.show(name + "_turned", turned);
  n.show(name + "_each", each);
  const Tensor grouped = regroupTensor(n.graph, turned, n.prog, cs, {2, 1}, {1, 4});
  n.show(name + "_grouped", regroupIfBeneficial(n.graph, grouped, in, n.prog));
  std::cout << "grouped by " << poputil::detectInnermostGrouping(n.graph, grouped.dimRoll(1, 2))
            << ' ' << canUseFastTranspose(n.graph.getTarget(), type, 8, 4, 1) << '\n';
}

void structure(Network &n) {
  const Tensor t = poputil::createPartitionableTensor(n.graph, FLOAT, {4, 6}, {2, 3});
  std::cout << "parts";
  poputil::iterateTensorPartitions(t, {2, 3},
                                   [](const std::vector<std::size_t> &, const Tensor &s) {
                                     std::cout << ' ' << s.isContiguous();
                                   });
  std::cout << "; innermost " << poputil::detectInnermostGrouping(n.graph, t);
  std::cout << '\n';
}

} // namespace

int main() {
  Libraries n;
  popsparse::addCodelets(n.graph);
  for (const auto &[name, type] : {std::pair<std::string, Type>{"float", FLOAT}, {"half", HALF}}) {
    slices(n, name + "_slices", type);
    losses(n, name + "_loss", type);
    accuracies(n, name + "_accuracy", type);
    elements(n, name + "_elements", type);
    linear(n, name + "_linear", type);
    layers(n, name + "_layers", type);
    counts(n, name + "_counts", type);
    sparse(n, name + "_sparse", type);
    views(n, name + "_views", type);
  }
  structure(n);
  n.run();
}
