// The ops of convolutions, cross-entropies and ordered sums.
#ifndef TESTS_OPS_CONV_AND_LOSS_OPS_H
#define TESTS_OPS_CONV_AND_LOSS_OPS_H

#include "op_calls.h"

#include <cmath>

namespace {

// 5 x 6 planes of 2 channels, 4 filters of 3 x 2 in two groups, and a pool of 1 x 2.
struct Convolution {
  static constexpr int steps = 4, batch = 5, slots = 7, sites = 60, filters = 4;
  bool gated, bias, port, keep;

  Node node(const char *op, int threads) const {
    Node made{op,
              {{"geometry", Ints{5, 6, 2, 1, 3, 2, 1, 1, 1, 0, 1, 1, 5, 5, 1, 2, 2, filters}},
               {"delay", 0},
               {"reset", 0},
               {"reset_gradient", 0},
               {"decay", 0.8f},
               {"threshold", 1.0f},
               {"weight_scale", 0.7f},
               {"bias_scale", 0.5f},
               {"surrogate", static_cast<int>(LIF_TABLE)},
               {"slope", 10.0f},
               {"width", 0.5f},
               {"values", Floats{0, 0.5f, 1, 0.25f}},
               {"threads", threads},
               {"arch", static_cast<int>(lif_supported_arch())}}};
    if (made.op == "IpulseConv")
      made.attributes["keep"] = keep;
    return made;
  }

  Tensors inputs() const {
    std::vector<int32_t> ids(static_cast<size_t>(steps * batch * slots));
    for (size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<int32_t>(i * 7 % sites);
    const TensorShape places({steps, batch}), all({steps, batch, slots}), none({0});
    return {port ? Tensor::of(all, std::vector<uint16_t>(ids.begin(), ids.end()))
                 : Tensor::of(all, ids),
            filled_with<int32_t>(places, slots - 2),
            filled_with<float>(port ? all : none, 0),
            filled_with<int32_t>(port ? places : none, slots),
            drawn({3, 2, 1, filters}, -0.4f, 1),
            bias ? drawn({filters}, 0, 0.2f) : filled_with<float>(none, 0),
            filled_with<float>({gated}, 0.3f)};
  }

  static Tensors gradient_inputs(Tensors inputs, const Tensors &forward) {
    inputs.insert(inputs.end(), {forward[0], forward[1]});
    inputs.push_back(filled_with<float>(forward[0].shape(), 0.5f));
    return inputs;
  }

  // The same convolution without neurons, and its gradients.
  void try_currents() const {
    Tensors given = inputs();
    given.pop_back(); // the second threshold
    const Tensors one = run(currents("IpulseSpikeConv", 1), given);
    if (sum(one[0]) == 0)
      fail("no spike reaches a convolution");
    same(one, run(currents("IpulseSpikeConv", 3), given), "with more threads");
    given.push_back(filled_with<float>(one[0].shape(), 0.5f));
    same(run(currents("IpulseSpikeConvGrad", 1), given),
         run(currents("IpulseSpikeConvGrad", 3), given), "with more threads");
  }

  Node currents(const char *op, int threads) const {
    Node made = node(op, threads), kept{op, {}};
    for (const char *name : {"geometry", "weight_scale", "threads", "arch"})
      kept.attributes[name] = made.attributes.at(name);
    return kept;
  }

  void try_all() const {
    const Tensors given = inputs(), one = run(node("IpulseConv", 1), given);
    if (sum(one[2]) == 0)
      fail("no neuron of a convolution spikes");
    same(one, run(node("IpulseConv", 3), given), "with more threads");
    if (!keep)
      return;
    const Tensors back = gradient_inputs(given, one);
    same(run(node("IpulseConvGrad", 1), back), run(node("IpulseConvGrad", 3), back),
         "with more threads");
  }
};

void refuse_currents(const Convolution &layer) {
  const Node forward = layer.currents("IpulseSpikeConv", 2),
             gradient = layer.currents("IpulseSpikeConvGrad", 2);
  Tensors given = layer.inputs();
  given.pop_back();
  Tensors back = given;
  back.push_back(filled_with<float>({layer.steps, layer.batch, 25 * layer.filters}, 1));
  for (const Node &node : {forward, gradient}) {
    const Tensors &inputs = node.op == forward.op ? given : back;
    const TensorShape all({layer.steps, layer.batch, layer.slots});
    refuses(node, with<uint16_t>(inputs, 0, all, Convolution::sites), "ids must be 0 to 59");
    refuses(node, with<int32_t>(inputs, 1, {1, 1}, 0), "ids must be [time, batch, slots]");
    refuses(node, with<float>(inputs, 4, {3, 2, 2, 4}, 0), "the kernel must have shape [3,2,1,4]");
    refuses(with(node, "weight_scale", INFINITY), inputs, "scales must be finite");
  }
  refuses(gradient, with<float>(back, 6, {1, 1, 1}, 0), "the gradient of the currents has shape");
}

void convolutions() {
  for (unsigned variant = 0; variant < 16; ++variant) {
    const Convolution layer{bool(variant & 1), bool(variant & 2), bool(variant & 4),
                            bool(variant & 8)};
    layer.try_all();
    if (layer.gated && layer.keep) // without neurons these change nothing
      layer.try_currents();
  }
  const Convolution layer{true, true, true, true};
  const Node forward = layer.node("IpulseConv", 2), gradient = layer.node("IpulseConvGrad", 2);
  const Tensors inputs = layer.inputs(),
                back = Convolution::gradient_inputs(inputs, run(forward, inputs));
  for (const Node &node : {forward, gradient}) {
    const Tensors &given = node.op == forward.op ? inputs : back;
    const TensorShape all({layer.steps, layer.batch, layer.slots});
    refuses(node, with<uint16_t>(given, 0, all, Convolution::sites), "ids must be 0 to 59");
    refuses(node, with<int32_t>(given, 1, {1, 1}, 0), "ids must be [time, batch, slots]");
    refuses(node, with<float>(given, 2, {1}, 0), "port must have the shape of ids");
    refuses(node, with<int32_t>(given, 3, {1, 1}, 0), "filled must have the shape of counts");
    refuses(node, with<float>(given, 4, {3, 2, 2, 4}, 0), "the kernel must have shape [3,2,1,4]");
    refuses(node, with<float>(given, 5, {3}, 0), "the bias must have shape [4]");
    refuses(node, with<float>(given, 6, {2}, 0), "second_threshold must be one number");
    refuses(node, with<float>(given, 6, {1}, 1.5f), "must not be above the threshold");
    refuses(with(node, "geometry", Ints{1}), given, "geometry must be 18 numbers; got 1");
    refuses(with(node, "decay", 1.5f), given, "decay must be 0 to 1");
  }
  refuses(gradient, with<float>(back, 9, {1, 1, 1}, 0), "the gradient of the spikes has shape");
  refuse_currents(layer);
}

void losses() {
  const Node loss{"IpulseCrossEntropy", {}};
  for (int batch : {0, 1, 5})
    for (int classes : {1, 3, 10}) {
      const Tensors found = run(loss, {filled_with<float>({batch, classes}, -2),
                                       filled_with<int32_t>({batch}, classes - 1)});
      if (std::fabs(sum(found[0]) - float(batch) * std::log(float(classes))) > 1e-5f ||
          std::fabs(sum(found[1])) > 1e-5f)
        fail("a cross-entropy of equal logits is not the logarithm of the number of classes");
    }
  const Tensor logits = drawn({2, 3}, -4, 4);
  refuses(loss, {logits, filled_with<int32_t>({2}, 3)}, "label 3 of sample 0 is not below");
  refuses(loss, {logits, filled_with<int32_t>({2}, -1)}, "label -1 of sample 0");
  refuses(loss, {logits, filled_with<int32_t>({3}, 0)}, "logits must be [batch, classes]");
  refuses(loss, {filled_with<float>({2, 0}, 0), filled_with<int32_t>({2}, 0)}, "label 0");
  for (bool squares : {false, true}) {
    const Node node{"IpulseOrderedSum", {{"squares", squares}}};
    for (int n : {1, 7, 8, 9, 1003})
      for (const TensorShape &shape : {TensorShape({1, n, 1}), {2, n, 3}, {0, n, 1}, {2, n, 0}}) {
        const Tensors found = run(node, {filled_with<float>(shape, -0.5f)});
        const double each = squares ? 0.25 : -0.5;
        for (int64_t i = 0; i < found[0].NumElements(); ++i)
          if (found[0].flat<double>()(i) != n * each ||
              found[1].flat<float>()(i) != static_cast<float>(each))
            fail("a sum of equal numbers is not their multiple");
      }
    refuses(node, {filled_with<float>({2, 3}, 0)}, "values must be [outer, n, inner]");
  }
}

} // namespace

#endif
