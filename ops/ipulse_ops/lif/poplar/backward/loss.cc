#include "loss.h"

#include <popnn/LogSoftmax.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Reduce.hpp>
#include <poputil/TileMapping.hpp>

namespace lif {

using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Sequence;

namespace {

const std::string kName = "loss/";

Tensor number(Graph &graph, double value) {
  const Tensor t = graph.addConstant<float>(FLOAT, {}, static_cast<float>(value));
  graph.setTileMapping(t, 0);
  return t;
}

Tensor sum(Graph &graph, const Tensor &t, std::size_t dimension, Sequence &program) {
  return popops::reduce(graph, t, {dimension}, {popops::Operation::ADD}, program, kName + "sum");
}

} // namespace

LossResult addLoss(Graph &graph, Loss loss, const Tensor &membrane, const Tensor &labels,
                   const Tensor &mask, Sequence &program) {
  const std::size_t steps = membrane.dim(0), batch = membrane.dim(1), classes = membrane.dim(2);
  const bool each = loss == Loss::StepMembrane;
  const auto overTime = [&](const Tensor &t) {
    return t.expand({0}).broadcast(unsigned(steps), 0);
  };
  Tensor logits = membrane[steps - 1];
  if (loss == Loss::MeanMembrane)
    logits = popops::mul(graph, sum(graph, membrane, 0, program),
                         number(graph, 1.0 / static_cast<double>(steps)), program, kName + "mean");
  else if (each)
    logits = membrane.reshape({steps * batch, classes});
  const Tensor rowLabels = each ? overTime(labels).flatten() : labels;
  const Tensor right = graph.addVariable(FLOAT, logits.shape(), kName + "right");
  poputil::mapTensorLinearly(graph, right);
  popops::encodeOneHot(graph, rowLabels, right, program, kName + "right");
  const Tensor logarithms = popnn::logSoftmax(graph, logits, program, kName + "log_softmax");
  const Tensor ofLabels = popops::mul(graph, right, logarithms, program, kName + "of_labels");
  Tensor bySample = sum(graph, ofLabels, 1, program);
  if (each)
    bySample = sum(graph, bySample.reshape({steps, batch}), 0, program);
  bySample =
      popops::mul(graph, bySample, number(graph, each ? -1.0 / static_cast<double>(steps) : -1.0),
                  program, kName + "by_sample");
  // A sample's share in the mean, and of a step in its loss.
  const Tensor samples = sum(graph, mask, 0, program);
  Tensor share = popops::div(graph, mask, samples, program, kName + "share");
  if (loss != Loss::LastMembrane)
    share = popops::mul(graph, share, number(graph, 1.0 / static_cast<double>(steps)), program,
                        kName + "share");
  const Tensor probabilities = popops::exp(graph, logarithms, program, kName + "softmax");
  const Tensor errors = popops::sub(graph, probabilities, right, program, kName + "errors");
  const Tensor rowShare = (each ? overTime(share).flatten() : share).expand({1});
  const Tensor gradient = popops::mul(graph, errors, rowShare.broadcast(unsigned(classes), 1),
                                      program, kName + "gradient");
  LossResult found{bySample, {}};
  if (each) {
    found.gradient = gradient.reshape(membrane.shape());
  } else if (loss == Loss::MeanMembrane) {
    found.gradient = overTime(gradient);
  } else {
    const Tensor zero = number(graph, 0).expand({0, 0, 0});
    const Tensor before = zero.broadcast(unsigned(steps - 1), 0)
                              .broadcast(unsigned(batch), 1)
                              .broadcast(unsigned(classes), 2);
    found.gradient = poplar::concat(before, gradient.expand({0}), 0);
  }
  return found;
}

} // namespace lif
