// Convolutions, pooling and batch norm, forward and backward: prints every tensor.
#include <string>

#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/Pooling.hpp>
#include <poputil/exceptions.hpp>

#include "network_fixture.h"

using poplin::ConvParams;

namespace {

void convolution(Network &n) {
  const ConvParams params(
      FLOAT, FLOAT, 2, {7, 6}, {3, 4}, 2, 3, 2,
      ConvParams::InputTransform({1, 0}, {0, 1}, {1, 2}, {2, 0}, {1, 1}, {true, false}),
      ConvParams::InputTransform({0, 1}, {0, 0}, {2, 1}, {0, 1}, {1, 0}, {false, true}),
      ConvParams::OutputTransform({0, 1}, {1, 0}, {1, 2}, {0, 1}, {1, 0}));
  const Tensor in = n.filled("in", poplin::createInput(n.graph, params, "in"), 1),
               weights = n.filled("weights", poplin::createWeights(n.graph, params, "w"), 2);
  const Tensor out = poplin::convolution(n.graph, in, weights, params, false, n.prog, "forward");
  n.show("out", out);
  const Tensor dOut = n.filled("d_out", out.shape(), 3);
  n.show("d_in", poplin::convolution(n.graph, dOut, weights, poplin::getGradientParams(params),
                                     true, n.prog, "backward"));
  n.show("d_weights", poplin::calculateWeightDeltas(n.graph, dOut, in, params, n.prog, "update"));
  const Tensor biases = n.filled("biases", poplin::createBiases(n.graph, out), 4);
  const Tensor biased = n.graph.clone(out);
  n.prog.add(Copy(out, biased));
  poplin::addBias(n.graph, biased, biases, n.prog);
  n.show("biased", biased);
  std::cout << "flops " << poplin::getFwdFlops(params) << '\n';
}

void pooling(Network &n) {
  const Tensor in = n.filled("pool_in", {2, 3, 5, 6}, 5);
  for (const auto &[name, type] :
       {std::pair("max", popnn::PoolingType::MAX), std::pair("avg", popnn::PoolingType::AVG)}) {
    const popnn::pooling::PoolParams params(type, {5, 6}, {3, 2}, {2, 2}, {1, -1}, {1, 1}, 3, 2,
                                            FLOAT);
    const std::string prefix = name;
    const Tensor out = popnn::pooling::pool(n.graph, params, in, n.prog);
    n.show(prefix, out);
    const Tensor dOut = n.filled(prefix + "_d_out", out.shape(), 6);
    n.show(prefix + "_d_in",
           popnn::pooling::poolInputGradient(n.graph, params, in, out, dOut, false, n.prog));
  }
}

void batchNorm(Network &n) {
  const Tensor acts = n.filled("acts", {4, 3, 2}, 7), dNorm = n.filled("d_norm", {4, 3, 2}, 8);
  const auto [gamma, beta] = popnn::bn::createBatchNormParams(n.graph, acts);
  n.filled("gamma", gamma, 9);
  n.filled("beta", beta, 10);
  const auto [mean, invStdDev] =
      popnn::bn::batchNormStatistics(n.graph, acts, 1e-3f, n.prog, false);
  const auto [norm, whitened] =
      popnn::bn::batchNormalise(n.graph, acts, gamma, beta, mean, invStdDev, n.prog);
  n.show("norm", norm);
  const auto [dGamma, dBeta] = popnn::bn::batchNormParamGradients(n.graph, whitened, dNorm, n.prog);
  n.show("d_gamma", dGamma);
  n.show("d_beta", dBeta);
  n.show("d_acts",
         popnn::bn::batchNormGradients(n.graph, acts, dNorm, mean, invStdDev, gamma, n.prog));
}

} // namespace

int main() {
  Network network;
  convolution(network);
  pooling(network);
  batchNorm(network);
  network.run();
  try {
    ConvParams(FLOAT, 1, {2, 2}, {3, 1}, 1, 1, 1);
  } catch (const poputil::poplibs_error &error) {
    std::cout << error.what() << '\n';
  }
}
