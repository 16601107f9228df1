// A network as inputs and attributes of the ops.
#ifndef TESTS_OPS_PROBLEM_H
#define TESTS_OPS_PROBLEM_H

#include "op_calls.h"

#include <algorithm>

constexpr int STEPS = 4, BATCH = 3, INPUTS = 13, SLOTS = 9, HIDDEN = 2;
constexpr int NEURONS[] = {33, 7, 3}; // the readout last

// Bits of `variant` choose.
struct Problem {
  bool leaky, recurrent, bias, synapse, gated, wide, port, narrow, recompute, adapts;
  int policy, steps, batch, layers;
  Attributes attributes;
  Tensors inputs; // of the forward op

  explicit Problem(unsigned variant, int steps = STEPS, int batch = BATCH)
      : leaky(!(variant & 1)), recurrent(variant & 2), bias(variant & 4), synapse(variant & 8),
        gated(variant & 16), wide(variant & 32), port(variant & 64), narrow(variant & 128),
        recompute(variant & 256), adapts(variant & 1024), policy(static_cast<int>(variant % 3)),
        steps(steps), batch(batch), layers(HIDDEN + !leaky) {
    std::vector<int32_t> ids(static_cast<size_t>(steps * batch * SLOTS));
    for (size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<int32_t>(i * 7 % INPUTS);
    const TensorShape places({steps, batch}), slots({steps, batch, SLOTS});
    inputs.push_back(narrow ? Tensor::of(slots, std::vector<uint16_t>(ids.begin(), ids.end()))
                            : Tensor::of(slots, ids));
    inputs.push_back(filled_with<int32_t>(places, SLOTS - 2));
    inputs.push_back(filled_with<float>(port ? slots : TensorShape({0}), 0));
    inputs.push_back(Tensor::of<int64_t>({}, {5}));
    inputs.push_back(filled_with<int32_t>(port ? places : TensorShape({0}), SLOTS));
    Bools recurrent_list, bias_list;
    int rows = INPUTS;
    for (int i = 0; i <= HIDDEN; ++i) {
      const int neurons = NEURONS[i];
      inputs.push_back(drawn({rows, neurons}, -0.4f, 0.6f));
      rows = neurons;
      recurrent_list.push_back(recurrent && i < layers);
      if (recurrent_list.back())
        inputs.push_back(drawn({neurons, neurons}, -0.1f, 0.1f));
      bias_list.push_back(bias);
      if (bias)
        inputs.push_back(drawn({neurons}, 0, 0.2f));
    }
    const int matrices = static_cast<int>(inputs.size()) - 5;
    constants(HIDDEN + 1, true, 0.5f, 0.9f);
    constants(HIDDEN + 1, true, 1, 2);
    constants(HIDDEN + 1, synapse, 0.1f, 0.5f);
    constants(layers, true, 0.8f, 1.2f);
    constants(layers, gated, 0.2f, 0.7f);
    constants(layers, adapts, 0.5f, 0.9f);
    constants(layers, adapts, 0.1f, 0.3f);
    Ints capacity;
    for (int i = 0; i < layers; ++i)
      capacity.push_back(variant & 512 ? (NEURONS[i] + 1) / 2 : NEURONS[i]);
    const int delay = static_cast<int>(variant >> 1 & 1);
    attributes = {{"matrices", matrices},
                  {"all", HIDDEN + 1},
                  {"layers", layers},
                  {"hidden", HIDDEN},
                  {"recurrent", recurrent_list},
                  {"bias", bias_list},
                  {"slots", capacity},
                  {"policy", Ints(static_cast<size_t>(layers), policy)},
                  {"detach_adaptation", Bools(static_cast<size_t>(layers), variant & 1)},
                  {"delay", Ints{policy, delay, 2 * delay}},
                  {"reset", policy},
                  {"reset_on", 0},
                  {"reset_gradient", 1},
                  {"surrogate", static_cast<int>(LIF_TABLE)},
                  {"slope", 10.0f},
                  {"width", 0.5f},
                  {"values", Floats{0, 0.5f, 1, 0.25f}},
                  {"truncate", policy || delay ? 0 : 2},
                  {"weight_type", 0},
                  {"store", static_cast<int>(recompute ? LIF_STORE_SPIKES : LIF_STORE_MEMBRANES)},
                  {"threads", 1},
                  {"arch", static_cast<int>(lif_supported_arch())},
                  {"return_membranes", wide},
                  {"reads_out", leaky || !wide},
                  {"trained", wide ? Names{"decay", "synapse_decay", "threshold",
                                           "adaptation_decay", "adaptation_strength"}
                                   : Names{}}};
  }

  void constants(int of, bool given, float low, float high) {
    for (int i = 0; i < of; ++i)
      inputs.push_back(drawn({given ? NEURONS[i] : 0}, low, high));
  }

  Node node(const char *op, int threads) const {
    Node made{op, attributes};
    made.attributes["threads"] = threads;
    return made;
  }

  Node slots_node(int layer, bool filled, int threads) const {
    return {"IpulseLifSlots",
            {{"neurons", NEURONS[layer]},
             {"slots", std::any_cast<Ints>(attributes.at("slots"))[static_cast<size_t>(layer)]},
             {"gated", gated},
             {"filled", filled},
             {"policy", policy},
             {"threads", threads}}};
  }

  // Returns the index of an output in the order of forward_op.h.
  size_t output(const char *name, int layer) const {
    const Node forward = node("IpulseLif", 1);
    const auto &outputs = tensorflow::op_definitions().at("IpulseLif").outputs;
    return static_cast<size_t>(forward.range(outputs, name).first + layer);
  }

  Tensors slots_inputs(const Tensors &forward, int layer) const {
    return {forward[output("ports", layer)], forward[output("bits", layer)],
            forward[output("spike_counts", layer)]};
  }

  // What TensorFlow passes on to the gradient op, with a loss that looks at everything or not.
  Tensors gradient_inputs(const Tensors &forward) const {
    Tensors all = inputs;
    for (const char *name : {"bits", "membranes"})
      for (int i = 0; i < layers; ++i)
        all.push_back(forward[output(name, i)]);
    all.push_back(filled_with<float>(forward[0].shape(), 0.5f));
    const auto slots = std::any_cast<Ints>(attributes.at("slots"));
    auto of_slots = [this](bool given, int count) {
      return filled_with<float>(given ? TensorShape({steps, batch, count}) : TensorShape({0, 0, 0}),
                                0.25f);
    };
    for (int i = 0; i < layers; ++i)
      all.push_back(of_slots(wide, slots[static_cast<size_t>(i)]));
    for (int i = 0; i < layers; ++i) { // the gradient of shorter lists, alone or as well
      const Tensor &counts = forward[output("spike_counts", i)];
      const float *from = ipulse_lif::floats_of(counts), *end = from + counts.NumElements();
      const float most = from == end ? 1 : std::max(1.0f, *std::max_element(from, end));
      all.push_back(of_slots(recurrent, static_cast<int>(most)));
    }
    for (int i = 0; i < HIDDEN; ++i)
      all.push_back(filled_with<float>(
          wide ? TensorShape({steps, batch, NEURONS[i]}) : TensorShape({0}), 0.125f));
    return all;
  }

  // Every op once. What the gradient op reads of membranes is nobody else's, unless it is `held`.
  Tensors everything(int threads, bool held) const {
    Tensors forward = run(node("IpulseLif", threads), inputs), found = forward;
    for (int i = 0; i < layers; ++i) {
      for (bool filled : {false, true})
        found.push_back(run(slots_node(i, filled, threads), slots_inputs(forward, i))[0]);
      found[output("membranes", i)] = copy(forward[output("membranes", i)]);
    }
    Tensors passed = gradient_inputs(forward);
    if (!held)
      forward.clear();
    for (Tensor &gradient : run(node("IpulseLifGrad", threads), std::move(passed)))
      found.push_back(std::move(gradient));
    for (int i = 0; held && i < layers; ++i)
      same({forward[output("membranes", i)]}, {found[output("membranes", i)]}, "once it was read");
    return found;
  }

  void try_all() const {
    const Tensors one = everything(1, false);
    if (steps > 0 && batch > 0 && sum(one[output("spike_counts", layers - 1)]) == 0)
      fail("the last layer never spikes");
    same(one, everything(3, false), "with more threads");
    same(one, everything(2, true), "where somebody else holds the membranes");
    // As TensorFlow does with two branches of a graph.
    Tensors other;
    std::thread beside([&] { other = everything(2, true); });
    const Tensors here = everything(2, false);
    beside.join();
    same(one, here, "beside another call");
    same(one, other, "beside another call");
  }
};

#endif
