// GRU layers with attention, vanilla recurrent layers and pre-arranged operands, with their
// gradients: prints every tensor.
#include <popnn/Gru.hpp>
#include <popnn/Recurrent.hpp>
#include <popops/Rearrange.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/Util.hpp>

#include "network_fixture.h"

namespace {

constexpr std::size_t kTime = 4, kBatch = 3, kIn = 5, kOut = 2;

/// scored: with an attention, else without. steps: of every sample, if they differ.
void gru(Network &n, const std::string &name, bool scored, bool resetAfter,
         const std::vector<unsigned> &steps) {
  popnn::gru::GruParams params(FLOAT, kBatch, kTime, {kIn, kOut});
  params.resetAfter = resetAfter;
  Tensor given;
  if (!steps.empty()) {
    given = n.graph.addVariable(UNSIGNED_INT, {kBatch}, VariableMappingMethod::LINEAR);
    n.graph.setInitialValue(given, ArrayRef<unsigned>(steps));
  }
  const Tensor in = n.filled(name + "_in", {kTime, kBatch, kIn}, 1),
               initial = n.filled(name + "_initial", {kBatch, kOut}, 2),
               grad = n.filled(name + "_grad", {kTime, kBatch, kOut}, 3);
  const popnn::gru::GruWeights weights{
      n.filled(name + "_wi", {3, kIn, kOut}, 4), n.filled(name + "_wo", {3, kOut, kOut}, 5),
      resetAfter ? n.filled(name + "_b", {3, 2, kOut}, 6) : n.filled(name + "_b", {3, kOut}, 6)};
  const Tensor scores = popnn::gru::createAttention(n.graph, params);
  n.prog.add(Copy(n.filled(name + "_scores", {kBatch, kTime}, 7), scores));
  Tensor kept, inputGrad, scoreGrad;
  popnn::gru::GruWeights weightGrads;
  Tensor out, before;
  if (!scored) {
    out = popnn::gru::gruFwd(n.graph, params, initial, in, given, weights, &kept, n.prog);
    before = popnn::gru::gruBwdWithWU(n.graph, params, n.prog, initial, kept, weights, in, given,
                                      out, grad, &inputGrad, weightGrads);
  } else if (given.valid()) {
    out = popnn::gru::auGruFwd(n.graph, params, initial, in, given, weights, &kept, scores, n.prog);
    before = popnn::gru::auGruBwdWithWU(n.graph, params, n.prog, initial, kept, weights, in, given,
                                        out, grad, &inputGrad, weightGrads, scores, &scoreGrad);
  } else {
    out = popnn::gru::auGruFwd(n.graph, params, initial, in, weights, &kept, scores, n.prog);
    before = popnn::gru::auGruBwdWithWU(n.graph, params, n.prog, initial, kept, weights, in, out,
                                        grad, &inputGrad, weightGrads, scores, &scoreGrad);
  }
  n.show(name + "_out", out);
  n.show(name + "_by_initial", before);
  n.show(name + "_by_in", inputGrad);
  n.show(name + "_by_wi", weightGrads.inputWeights);
  n.show(name + "_by_wo", weightGrads.outputWeights);
  n.show(name + "_by_b", weightGrads.biases);
  if (scored)
    n.show(name + "_by_scores", scoreGrad);
}

void vanilla(Network &n) {
  const Tensor in = popnn::rnn::createInput(n.graph, kTime, kBatch, kIn, kOut, FLOAT),
               wi = popnn::rnn::createWeightsInput(n.graph, kTime, kBatch, kIn, kOut, FLOAT),
               wo = popnn::rnn::createWeightsFeedback(n.graph, kBatch, kOut, FLOAT);
  n.prog.add(Copy(n.filled("vanilla_in", {kTime, kBatch, kIn}, 1), in));
  n.prog.add(Copy(n.filled("vanilla_wi", {kIn, kOut}, 2), wi));
  n.prog.add(Copy(n.filled("vanilla_wo", {kOut, kOut}, 3), wo));
  const Tensor b = n.filled("vanilla_b", {kOut}, 4),
               grad = n.filled("vanilla_grad", {kTime, kBatch, kOut}, 5),
               initial = n.filled("vanilla_initial", {kBatch, kOut}, 6);
  const auto tanh = popnn::NonLinearityType::TANH;
  const Tensor out = popnn::rnn::rnnFwdSequence(n.graph, n.prog, initial, nullptr, b, wi, wo, in,
                                                tanh, FLOAT, false);
  const auto [byIn, byWi, byWo, byB] =
      popnn::rnn::rnnBwdSequence(n.graph, true, false, n.prog, initial, out, b, wi, wo,
                                 grad.dimShuffle({1, 0, 2}), in, tanh, FLOAT);
  n.show("vanilla_out", out);
  n.show("vanilla_by_in", byIn);
  n.show("vanilla_by_wi", byWi);
  n.show("vanilla_by_wo", byWo);
  n.show("vanilla_by_b", byB);
}

void arranged(Network &n) {
  const Tensor a = n.filled("arranged_a", {6, 4}, 1), b = n.filled("arranged_b", {4, 7}, 2);
  const Tensor kept = poplin::preArrangeMatMulInputRHS(n.graph, {6, 4}, b, n.prog);
  n.show("arranged_product", poplin::matMul(n.graph, a, kept, n.prog, FLOAT, "product",
                                            {{"inputRHSIsPreArranged", "true"}}));
  n.show("arranged_groups",
         popops::rearrange::regroupIfPossible(n.graph, b, n.prog, poputil::GroupingInfo(0, 2)));
  n.show("arranged_no_groups",
         popops::rearrange::regroupIfPossible(n.graph, b, n.prog, poputil::GroupingInfo(1, 2)));
}

/// Says what is wrong.
void check(bool right, const char *what) {
  if (!right)
    throw std::runtime_error(what);
}

void mappings(Network &n) {
  std::vector<Interval> regions{{8, 9}, {0, 3}, {3, 5}, {6, 8}};
  poputil::mergeAdjacentRegions(regions);
  check(regions == std::vector<Interval>({{0, 5}, {6, 9}}), "mergeAdjacentRegions");
  const Tensor t = n.graph.addVariable(FLOAT, {9}, VariableMappingMethod::LINEAR);
  const std::vector<Interval> shuffled{{4, 9}, {0, 1}, {1, 4}};
  const Tensor moved = poplar::concat(t.slices(shuffled));
  const Tensor back =
      poplar::concat(moved.slices(poputil::calculateUnshufflingIntervals(shuffled)));
  const auto regionsOf = back.getVarRegions();
  check(regionsOf.size() == 1 && regionsOf[0].interval == Interval(0, 9),
        "calculateUnshufflingIntervals");
  const Target &target = n.graph.getTarget();
  check(poputil::castToDeviceHalfValue(target, 0.1) == 0.0999755859375, "castToDeviceHalfValue");
  check(poputil::checkAccuracyWhenCast(target, 0.1, FLOAT, HALF, 1e-3) &&
            !poputil::checkAccuracyWhenCast(target, 0.1, FLOAT, HALF, 1e-4) &&
            !poputil::checkAccuracyWhenCast(target, 1e6, FLOAT, HALF, 1e-3),
        "checkAccuracyWhenCast");
  const unsigned tiles = target.getNumTiles();
  for (const bool ascending : {true, false})
    for (unsigned tile = 0; tile < tiles; ++tile) {
      const unsigned place = poputil::transformTileIndex(tile, tiles, 3, ascending);
      check(poputil::invTransformTileIndex(place, tiles, 3, ascending) == tile,
            "invTransformTileIndex");
      check(place != 0 || tile == (ascending ? 3 : tiles - 4), "transformTileIndex");
    }
  check(poputil::calcLinearTileMapping(target, {100}, FLOAT, 2) ==
            poputil::calcLinearTileMapping(n.graph, n.graph.addVariable(FLOAT, {100}), 2),
        "calcLinearTileMapping");
  const Tensor two = n.graph.addVariable(FLOAT, {64});
  check(poputil::calcLinearTileMappingAndNewOffset(n.graph, two, tiles - 1).second == 1,
        "calcLinearTileMappingAndNewOffset");
  check(poputil::chooseMappingOffset(tiles, {3, 4}) < tiles, "chooseMappingOffset");
}

} // namespace

int main() {
  Network n;
  gru(n, "plain", false, false, {4, 1, 2});
  gru(n, "scored", true, false, {});
  gru(n, "after", true, true, {4, 1, 2});
  vanilla(n);
  arranged(n);
  mappings(n);
  n.run();
  return 0;
}
