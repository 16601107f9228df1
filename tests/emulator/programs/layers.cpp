// Norms, recurrent layers, scatter, gather and collectives: prints every tensor.
#include <gcl/TileAllocation.hpp>
#include <popnn/GroupNorm.hpp>
#include <popnn/Gru.hpp>
#include <popnn/InstanceNorm.hpp>
#include <popnn/LayerNorm.hpp>
#include <popnn/LogSoftmax.hpp>
#include <popnn/Lstm.hpp>
#include <popops/CircBuf.hpp>
#include <popops/Collectives.hpp>
#include <popops/ElementWise.hpp>
#include <popops/EncodingConstants.hpp>
#include <popops/Gather.hpp>
#include <popops/Scatter.hpp>
#include <popops/SelectScalarFromRows.hpp>
#include <popops/UpdateScalarInRows.hpp>
#include <poputil/Util.hpp>

#include "network_fixture.h"

namespace {

constexpr std::size_t kTime = 3, kBatch = 2, kIn = 3, kOut = 4;

void groupNorm(Network &n, const std::string &name, const OptionFlags &options) {
  const Tensor acts = n.filled(name + "_acts", {2, 6, 3}, 1),
               dz = n.filled(name + "_dz", {2, 6, 3}, 2);
  const auto [gamma, beta] = popnn::gn::createGroupNormParams(n.graph, acts);
  n.filled(name + "_gamma", gamma, 3);
  n.filled(name + "_beta", beta, 4);
  const auto [mean, invStdDev] = popnn::gn::groupNormStatistics(n.graph, acts, 1e-3f, n.prog, 2,
                                                                false, true, FLOAT, {}, options);
  const auto [norm, whitened] =
      popnn::gn::groupNormalise(n.graph, acts, gamma, beta, mean, invStdDev, n.prog, {}, options);
  n.show(name, norm);
  const auto [dGamma, dBeta] =
      popnn::gn::groupNormParamGradients(n.graph, whitened, dz, n.prog, FLOAT, {}, options);
  n.show(name + "_dgamma", dGamma);
  n.show(name + "_dbeta", dBeta);
  n.show(name + "_dacts", popnn::gn::groupNormGradients(n.graph, acts, dz, mean, invStdDev, gamma,
                                                        n.prog, FLOAT, {}, options));
}

void otherNorms(Network &n) {
  const Tensor acts = n.filled("norm_acts", {2, 3, 4}, 5);
  const auto layer = popnn::ln::layerNormStatistics(n.graph, acts, 1e-3f, n.prog, true);
  n.show("layer_norm",
         popnn::ln::layerNormWhiten(n.graph, acts, layer.first, layer.second, n.prog));
  const auto instance = popnn::in::instanceNormStatistics(n.graph, acts, 1e-3f, n.prog, false);
  n.show("instance_norm",
         popnn::in::instanceNormWhiten(n.graph, acts, instance.first, instance.second, n.prog));
}

/// Weights with small values, so that no gate is shut.
template <typename Weights> void fill(Network &n, const std::string &name, const Weights &w) {
  n.filled(name + "_wi", w.inputWeights, 11, 0.25f);
  n.filled(name + "_wo", w.outputWeights, 12, 0.25f);
  n.filled(name + "_b", w.biases, 13, 0.25f);
}
template <typename Weights>
void showGradients(Network &n, const std::string &name, const Weights &grads, const Tensor &dx,
                   const Tensor &dh) {
  n.show(name + "_dwi", grads.inputWeights);
  n.show(name + "_dwo", grads.outputWeights);
  n.show(name + "_db", grads.biases);
  n.show(name + "_dx", dx);
  n.show(name + "_dh", dh);
}

/// Three time steps for the one sample, and one for the other.
Tensor steps(Network &n) {
  const Tensor t = n.graph.addConstant(UNSIGNED_INT, {kBatch}, ArrayRef<unsigned>({3, 1}));
  n.graph.setTileMapping(t, 0);
  return t;
}

void lstm(Network &n, const std::string &name, bool full, bool varied = false) {
  using namespace popnn::lstm;
  LstmParams params(FLOAT, kBatch, kTime, {kIn, kOut});
  if (varied)
    params = LstmParams(FLOAT, kBatch, kTime, steps(n), {kIn, kOut});
  params.outputFullSequence = full;
  if (!full)
    params.cellOrder = {BasicLstmCellUnit::INPUT_GATE, BasicLstmCellUnit::FORGET_GATE,
                        BasicLstmCellUnit::CANDIDATE, BasicLstmCellUnit::OUTPUT_GATE};
  poplin::PlanningCache cache;
  const Tensor x = n.filled(name + "_x", createInput(n.graph, params, "x", {}, &cache), 14);
  const LstmState state = createInitialState(n.graph, params, "state", {}, &cache);
  n.filled(name + "_h", state.output, 15);
  n.filled(name + "_c", state.cellState, 16);
  const LstmWeights weights = createWeights(n.graph, params, "weights", {}, &cache);
  fill(n, name, weights);
  Tensor kept, dx;
  const auto [y, c] = lstmFwd(n.graph, params, state, x, weights, &kept, n.prog, "fwd", {}, &cache);
  n.show(name, y);
  n.show(name + "_cell", c);
  const Tensor dy = n.filled(name + "_dy", y.shape(), 17),
               dLast = n.filled(name + "_dlast", c.shape(), 18);
  LstmWeights grads;
  const LstmState before = lstmBwdWithWU(n.graph, params, n.prog, state, kept, weights, x, y, dy,
                                         &dLast, &dx, grads, "bwd", {}, &cache);
  showGradients(n, name, grads, dx, before.output);
  n.show(name + "_dc", before.cellState);
}

void gru(Network &n, const std::string &name, bool resetAfter, bool varied = false) {
  using namespace popnn::gru;
  GruParams params(FLOAT, kBatch, kTime, {kIn, kOut});
  if (varied)
    params = GruParams(FLOAT, kBatch, kTime, steps(n), {kIn, kOut});
  params.resetAfter = resetAfter;
  const Tensor x = n.filled(name + "_x", createInput(n.graph, params, "x"), 14);
  const Tensor state = n.filled(name + "_h", createInitialState(n.graph, params, "h"), 15);
  const GruWeights weights = createWeights(n.graph, params, "weights");
  fill(n, name, weights);
  Tensor kept, dx;
  const Tensor y = gruFwd(n.graph, params, state, x, weights, &kept, n.prog, "fwd");
  n.show(name, y);
  const Tensor dy = n.filled(name + "_dy", y.shape(), 17);
  GruWeights grads;
  const Tensor before =
      gruBwdWithWU(n.graph, params, n.prog, state, kept, weights, x, y, dy, &dx, grads, "bwd");
  showGradients(n, name, grads, dx, before);
}

Tensor indices(Network &n, std::vector<std::size_t> shape, const std::vector<int> &values) {
  const Tensor t = n.graph.addConstant(INT, shape, ArrayRef<int>(values));
  n.graph.setTileMapping(t, 1);
  return t;
}

void scatterAndGather(Network &n) {
  using namespace popops::expr;
  const Tensor rows = n.filled("rows", {5, 3}, 21), cells = n.filled("cells", {4, 5, 2}, 22),
               sums = n.filled("sums", {6}, 23);
  const auto copyOf = [&](const Tensor &t) {
    const Tensor copy = n.graph.clone(t);
    n.prog.add(Copy(t, copy));
    return copy;
  };
  const Tensor byRow = copyOf(rows), byWindow = copyOf(cells), added = copyOf(sums);
  popops::scatter(n.graph, byRow, indices(n, {3}, {4, -1, 1}), n.filled("row_updates", {3, 3}, 24),
                  1, {1}, {0}, {0}, n.prog);
  n.show("by_row", byRow);
  // Windows [2, 1, 2] at (dimension 1, dimension 0); the last does not fit.
  popops::scatter(n.graph, byWindow, indices(n, {2, 3}, {3, 0, 1, 1, 2, 3}),
                  n.filled("window_updates", {2, 3, 2}, 25), 0, {0, 2}, {1}, {1, 0}, n.prog);
  n.show("by_window", byWindow);
  popops::UpdateComputationFunc add = [](Graph &graph, Tensor &current, Tensor &update,
                                         Sequence &prog) {
    return popops::map(graph, _1 + _2, {current, update}, prog);
  };
  popops::scatter(n.graph, added, indices(n, {4}, {2, 2, 7, 0}), n.filled("adds", {4}, 26), 1, {},
                  {0}, {0}, add, n.prog);
  n.show("added", added);
  n.show("gathered", popops::gather(n.graph, cells, indices(n, {2, 2}, {3, 4, -1, 1}), 1, {0, 2},
                                    {2, 1, 2}, {1}, {0, 1}, n.prog));
}

void rows(Network &n) {
  const Tensor params = n.filled("params", {4, 3}, 31);
  const std::vector<unsigned> values{2, 0, 3, MASKED_LABEL_CODE};
  const Tensor at = n.graph.addConstant(UNSIGNED_INT, {4}, ArrayRef<unsigned>(values));
  n.graph.setTileMapping(at, 0);
  n.show("selected", popops::selectScalarFromRows(n.graph, params, at, n.prog));
  const Tensor updated = poputil::duplicate(n.graph, params, n.prog);
  popops::updateScalarInRows(n.graph, updated, at, n.prog);
  n.show("updated", updated);
  n.show("log_softmax", popnn::logSoftmax(n.graph, params, n.prog));
  popops::CircBuf ring(n.graph, FLOAT, 2, {3});
  for (std::size_t i = 0; i < 3; ++i)
    ring.add(params[i], n.prog);
  n.show("ring", concat(ring.prev(0, n.prog).expand({0}), ring.prev(1, n.prog).expand({0})));
}

/// Over two IPUs, and over the one replica.
void collectives(Network &n) {
  const Tensor data = n.graph.addVariable(FLOAT, {2, 5}, "data");
  n.graph.setTileMapping(data[0], 0);
  n.graph.setTileMapping(data[1], n.graph.getTarget().getTilesPerIPU());
  n.filled("data", data, 41);
  n.show("mean", gcl::allReduceWithinReplica(n.graph, data, gcl::CollectiveOperator::MEAN, n.prog));
  const popops::Chunks chunks =
      popops::reduceScatterWithinReplica(n.graph, data, popops::CollectiveOperator::MAX, n.prog);
  n.show("max", gcl::concatChunks(chunks));
  const auto on = n.graph.getTileMapping(chunks.chunks.at(1).tensor);
  std::cout << "chunk 1 from " << chunks.chunks[1].offset
            << " on the second IPU: " << !on.at(n.graph.getTarget().getTilesPerIPU()).empty()
            << '\n';
  n.show("replicas", popops::replicatedAllGather(n.graph, data, n.prog));
  const std::vector<unsigned> tiles = gcl::perIPUTiles(n.graph, 1, 3);
  std::cout << "tiles";
  for (const unsigned tile : tiles)
    std::cout << ' ' << tile;
  std::cout << '\n';
}

} // namespace

int main() {
  Network network;
  groupNorm(network, "strided", {});
  groupNorm(network, "grouped", {{"groupNormStridedChannelGrouping", "false"}});
  otherNorms(network);
  lstm(network, "lstm", true);
  lstm(network, "lstm_last", false);
  lstm(network, "lstm_varied", true, true);
  gru(network, "gru", false);
  gru(network, "gru_after", true);
  gru(network, "gru_varied", false, true);
  scatterAndGather(network);
  rows(network);
  collectives(network);
  network.run();
}
