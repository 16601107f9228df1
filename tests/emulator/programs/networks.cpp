// Convolutions, pooling, batch norm and CTC loss, forward and backward: prints every tensor.
#include <sstream>
#include <string>

#include <poplin/ConvPreplan.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/MultiConvolution.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/CTCLoss.hpp>
#include <popnn/LogSoftmax.hpp>
#include <popnn/NonLinearityDefUtil.hpp>
#include <popnn/Pooling.hpp>
#include <popops/Cast.hpp>
#include <popops/NormaliseImage.hpp>
#include <popops/Operation.hpp>
#include <poputil/Util.hpp>
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
  const Tensor biases = n.filled("biases", poplin::createBiases(n.graph, out, params, "b"), 4);
  try {
    poplin::createBiases(n.graph, in, params);
  } catch (const poputil::poplibs_error &error) {
    std::cerr << error.what() << '\n';
  }
  const Tensor biased = poputil::duplicate(n.graph, out, n.prog);
  poplin::addBias(n.graph, biased, biases, n.prog);
  n.show("biased", biased);
  std::cout << "flops " << poplin::getFwdFlops(params) << '\n';

  const std::vector<poplin::multiconv::ConvolutionArgs> both{{in, weights, params, {}},
                                                             {in, weights, params, {}}};
  n.show("multi", poplin::multiconv::convolution(n.graph, both, false, n.prog)[1]);
  const Tensor newWeights = poputil::duplicate(n.graph, weights, n.prog),
               newBiases = poputil::duplicate(n.graph, biases, n.prog);
  poplin::multiconv::convolutionWeightUpdate<float>(
      n.graph, {{dOut, newWeights, in, -0.5f, params, {}}}, n.prog);
  n.show("weights_updated", newWeights);
  poplin::convolutionBiasUpdate(n.graph, dOut, newBiases, 2.0f, {{"partialsType", "float"}},
                                n.prog);
  n.show("biases_updated", newBiases);
  poplin::PlanningCache cache;
  poplin::preplan({{&n.graph.getTarget(), params, nullptr}}, {}, cache);
  std::ostringstream words;
  words << params;
  std::cout << "words " << (words.str().find("stride {1,2}") != std::string::npos)
            << (ConvParams(params) == params) << (ConvParams(params) < params) << '\n';
}

void image(Network &n) {
  const Tensor image = popops::createNormaliseImageInput(n.graph, FLOAT, {2, 2, 3}, "image");
  n.show("normal",
         popops::normaliseImage(n.graph, n.prog, n.filled("image", image, 11), 0.5f,
                                n.filled("offsets", {3}, 12), n.filled("scales", {3}, 13)));
}

void names() {
  popops::Operation op;
  popnn::NonLinearityType type;
  std::istringstream words("LOG_ADD swish other");
  words >> op >> type;
  std::cout << "names " << op << ' ' << type << ' ' << popnn::PoolingType::AVG << ' '
            << !(words >> type) << '\n';
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

/// Seven samples of up to four steps and labels of up to three of the classes 0, 1 and 3.
void ctcLoss(Network &n) {
  const unsigned batch = 7, time = 4, label = 3, classes = 4, blank = 2;
  const auto numbers = [&](std::vector<std::size_t> shape, const std::vector<unsigned> &values) {
    const Tensor t = n.graph.addConstant(UNSIGNED_INT, shape, ArrayRef<unsigned>(values));
    n.graph.setTileMapping(t, 3);
    return t;
  };
  const Tensor labels =
      numbers({batch, label}, {0, 1, 3, 1, 1, 0, 3, 0, 0, 0, 0, 0, 1, 1, 1, 0, 4, 1, 3, 1, 0});
  const Tensor steps = numbers({batch}, {4, 4, 3, 2, 4, 4, 1}),
               lengths = numbers({batch}, {3, 2, 1, 0, 3, 2, 1});
  const Tensor logits = n.filled("logits", {time, batch, classes}, 11);
  for (const auto &[name, type] : {std::pair<std::string, Type>{"float", FLOAT}, {"half", HALF}}) {
    const auto plan = popnn::ctc::plan(n.graph, type, type, batch, time, label, classes);
    const Tensor data = popnn::ctc::createDataInput(n.graph, type, batch, time, classes, plan);
    n.prog.add(popops::cast(n.graph, logits, data));
    const auto [loss, gradient] = popnn::ctc::calcLossAndGradientLogits(
        n.graph, type, data, labels, steps, lengths, n.prog, blank, plan);
    n.show("ctc_loss_" + name, popops::cast(n.graph, loss, FLOAT, n.prog));
    n.show("ctc_gradient_" + name, popops::cast(n.graph, gradient, FLOAT, n.prog));
    const Tensor logProbs = popnn::logSoftmax(n.graph, data, n.prog);
    const Tensor alone = popnn::ctc::calcCTCLossLogProbabilities(
        n.graph, type, logProbs, labels, steps, lengths, n.prog, blank, plan);
    n.show("ctc_alone_" + name, popops::cast(n.graph, alone, FLOAT, n.prog));
  }
  const auto plan = popnn::ctc::plan(n.graph, FLOAT, FLOAT, batch, time, label, classes);
  for (const unsigned wrong : {blank, classes}) {
    try {
      popnn::ctc::calcCTCLossLogits(n.graph, FLOAT, wrong == blank ? logits[0] : logits, labels,
                                    steps, lengths, n.prog, wrong, plan);
    } catch (const poputil::poplibs_error &error) {
      std::cout << error.what() << '\n';
    }
  }
}

} // namespace

int main() {
  Network network;
  names();
  convolution(network);
  image(network);
  pooling(network);
  batchNorm(network);
  ctcLoss(network);
  network.run();
  try {
    ConvParams(FLOAT, 1, {2, 2}, {3, 1}, 1, 1, 1);
  } catch (const poputil::poplibs_error &error) {
    std::cout << error.what() << '\n';
  }
}
