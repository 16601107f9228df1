// The ops on a stand-in for TensorFlow, on top of the kernels; for sanitizers.
#include "conv_and_loss_ops.h"
#include "op_calls.h"

#include "bindings/adam_op.cc"

#include <thread>

namespace {

constexpr int STEPS = 4, BATCH = 3, INPUTS = 13, SLOTS = 9, HIDDEN = 2;
const int NEURONS[] = {33, 7, 3}; // the readout last

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

  Node slots_node(int layer, int threads) const {
    return {"IpulseLifSlots",
            {{"neurons", NEURONS[layer]},
             {"slots", std::any_cast<Ints>(attributes.at("slots"))[static_cast<size_t>(layer)]},
             {"gated", gated},
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
    for (int i = 0; i < layers; ++i) {
      const int slots = std::any_cast<Ints>(attributes.at("slots"))[static_cast<size_t>(i)];
      all.push_back(filled_with<float>(
          wide ? TensorShape({steps, batch, slots}) : TensorShape({0, 0, 0}), 0.25f));
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
      found.push_back(run(slots_node(i, threads), slots_inputs(forward, i))[0]);
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

void refusals() {
  const Problem problem(2 + 4 + 16 + 32 + 64);
  const Node lif = problem.node("IpulseLif", 2), gradient = problem.node("IpulseLifGrad", 2);
  const Tensors &inputs = problem.inputs;
  const Tensors forward = run(lif, inputs), back = problem.gradient_inputs(forward);
  const int matrices = std::any_cast<int>(problem.attributes.at("matrices"));
  const size_t decay = 5 + static_cast<size_t>(matrices), synapse = decay + 2 * (HIDDEN + 1),
               threshold = synapse + HIDDEN + 1, adaptation = threshold + 2 * HIDDEN,
               bits = inputs.size(), membranes = bits + HIDDEN, by_membrane = membranes + HIDDEN,
               by_port = by_membrane + 1, by_u = by_port + HIDDEN;
  for (const Node &node : {lif, gradient}) {
    auto expect = [&](size_t index, Tensor wrong, const char *words) {
      Tensors changed = node.op == lif.op ? inputs : back;
      changed[index] = std::move(wrong);
      refuses(node, changed, words);
    };
    const TensorShape slots({STEPS, BATCH, SLOTS});
    expect(0, filled_with<int32_t>(slots, INPUTS), "ids");
    expect(0, filled_with<int32_t>(slots, -1), "ids");
    expect(0, filled_with<int32_t>({STEPS, BATCH}, 0), "ids must be [time, batch, slots]");
    expect(1, filled_with<int32_t>({STEPS, BATCH}, SLOTS + 1), "counts");
    expect(1, filled_with<int32_t>({BATCH, STEPS}, 0), "ids must be [time, batch, slots]");
    expect(2, filled_with<float>({STEPS, BATCH, 1}, 0), "port must have the shape of ids");
    expect(3, filled_with<int64_t>({2}, 0), "seed must be a scalar");
    expect(4, filled_with<int32_t>({STEPS, 1}, 0), "filled must have the shape of counts");
    expect(5, filled_with<float>({INPUTS}, 0), "weights[0] must have shape [inputs, neurons]");
    expect(5, filled_with<float>({INPUTS, 0}, 0), "must have shape [0,0]");
    expect(6, filled_with<float>({33, 32}, 0), "weights[1] must have shape [33,33]");
    expect(7, filled_with<float>({32}, 0), "weights[2] must have shape [33], a bias");
    expect(8, filled_with<float>({32, 7}, 0), "weights[3] must have 33 rows");
    expect(decay, filled_with<float>({32}, 0.5f), "layer 1: constants must have 33 elements");
    expect(synapse, filled_with<float>({1}, 0.5f), "layer 1: constants must have 33 elements");
    expect(threshold, filled_with<float>({0}, 1), "layer 1: constants must have 33 elements");
    expect(adaptation, filled_with<float>({1}, 1), "layer 1: constants must have 33 elements");
    expect(adaptation, filled_with<float>({33}, 0.5f), "layer 1: adaptation_decay and");
    const Tensors &given = node.op == lif.op ? inputs : back;
    refuses(with(node, "slots", Ints{34, 7}), given, "layer 1: slots must be 1 to 33; got 34");
    refuses(with(node, "bias", Bools{true}), given, "the attributes describe no network");
    refuses(with(node, "policy", Ints{7, 7}), given, "policy");
    refuses(with(node, "detach_adaptation", Bools{true}), given, "describe no network");
    refuses(with(node, "delay", Ints{0, -1, 1}), given, "layer 2: delay must be 0 to");
    refuses(with(node, "delay", Ints{0}), given, "describe no network");
    Node cut = with(node, "truncate", 2);
    refuses(with(cut, "delay", Ints{0, 0, 1}), given, "need a delay of 0; got 1");
  }
  refuses(with(lif, "hidden", 2 * HIDDEN), inputs, "hidden must be 2; got 4");
  const char *other = "the record has 5 words of bits; it is another network's";
  refuses(gradient, with<float>(back, bits, {5}, 0), other);
  refuses(gradient, with<float>(back, membranes, {1}, 0), "membranes");
  refuses(gradient, with<float>(back, by_membrane, {STEPS, BATCH, 4}, 0), "by the membrane");
  refuses(gradient, with<float>(back, by_port, {STEPS, BATCH, 1}, 0), "by the spikes of layer 1");
  refuses(gradient, with<float>(back, by_u + 1, {STEPS, 7, BATCH}, 0), "membranes of layer 2");
  refuses(with(gradient, "store", static_cast<int>(LIF_STORE_NOTHING)), back, "nothing");
  const Node slots = problem.slots_node(0, 2);
  const Tensors read = problem.slots_inputs(forward, 0);
  refuses(slots, with<float>(read, 1, {5}, 0), other);
  refuses(slots, with<float>(read, 2, {STEPS, 2}, 0), "spike_counts must be [time, batch, 2]");
  refuses(with(slots, "slots", 34), read, "slots must be 1 to 33; got 34");
}

using Variables = std::vector<std::shared_ptr<Var>>;

Variables variables(const Ints &sizes) {
  Variables made;
  for (int size : sizes)
    made.push_back(std::make_shared<Var>(filled_with<float>({size}, 1)));
  return made;
}

// weights, means and squares, each in this order, and gradients of 1.
Tensors adam_inputs(const Variables &given, const Ints &sizes, const Ints &order) {
  Tensors inputs;
  for (size_t kind = 0; kind < 3; ++kind)
    for (int i : order)
      inputs.emplace_back(given[kind * sizes.size() + static_cast<size_t>(i)]);
  for (int i : order)
    inputs.push_back(filled_with<float>({sizes[static_cast<size_t>(i)]}, 1));
  inputs.push_back(Tensor::of<int64_t>({}, {3}));
  inputs.push_back(Tensor::of<float>({}, {0.1f}));
  return inputs;
}

void adam() {
  const Ints sizes = {33, 1, 0, 517}, there = {0, 1, 2, 3}, back = {3, 2, 1, 0};
  Ints thrice;
  for (int kind = 0; kind < 3; ++kind)
    thrice.insert(thrice.end(), sizes.begin(), sizes.end());
  const Node node{"IpulseAdam",
                  {{"n", 4},
                   {"beta_1", 0.9f},
                   {"beta_2", 0.99f},
                   {"epsilon", 1e-6f},
                   {"weight_decay", 0.1f},
                   {"threads", 2},
                   {"arch", static_cast<int>(lif_supported_arch())}}};
  auto values = [](const Variables &of) {
    Tensors found;
    for (const auto &variable : of)
      found.push_back(*variable->tensor());
    return found;
  };
  Variables twice = variables(thrice), both = variables(thrice);
  run(node, adam_inputs(twice, sizes, there));
  run(node, adam_inputs(twice, sizes, there));
  // Two updates of the same variables, in either order: neither tears the other's, none waits.
  std::thread beside([&] { run(node, adam_inputs(both, sizes, back)); });
  run(node, adam_inputs(both, sizes, there));
  beside.join();
  same(values(twice), values(both), "where two updates run at once");
  // A reader of a variable keeps the value that it read.
  const Tensors before = values(both);
  const float *shown = ipulse_lif::floats_of(before[0]);
  const float first = shown[0];
  run(node, adam_inputs(both, sizes, there));
  if (shown[0] != first || both[0]->tensor()->data() == before[0].data())
    fail("an update wrote to what somebody else reads");
  Tensors inputs = adam_inputs(both, sizes, there);
  refuses(node, with<int64_t>(inputs, 16, {2}, 1), "update and rate must be scalars");
  refuses(node, with<int64_t>(inputs, 16, {}, 0), "update");
  refuses(node, with<float>(inputs, 15, {516}, 1), "weights[3], its moments and its gradient");
  inputs[3] = Tensor(std::make_shared<Var>(filled_with<int32_t>({517}, 1)));
  refuses(node, inputs, "must be float32 of one shape; got int32");
  inputs[3] = Tensor(std::shared_ptr<Var>());
  refuses(node, inputs, "no such variable");
}

} // namespace

int main() {
  for (unsigned variant : {0u, 1023u, 16u, 2u + 32u, 1u + 4u + 64u + 256u + 512u, 8u + 16u + 128u,
                           2u + 605u, 1024u, 1024u + 1023u, 1024u + 16u + 32u, 1024u + 2u + 512u})
    Problem(variant).try_all();
  Problem(32, 0).try_all();
  Problem(33, STEPS, 0).try_all();
  refusals();
  convolutions();
  losses();
  adam();
  std::printf("%d\n", calls.load());
}
