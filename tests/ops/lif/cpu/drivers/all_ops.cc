// The ops on a stand-in for TensorFlow, on top of the kernels; for sanitizers.
#include "conv_and_loss_ops.h"
#include "op_calls.h"
#include "problem.h"

#include "bindings/adam_op.cc"

#include <thread>

namespace {

void refusals() {
  const Problem problem(2 + 4 + 16 + 32 + 64);
  const Node lif = problem.node("IpulseLif", 2), gradient = problem.node("IpulseLifGrad", 2);
  const Tensors &inputs = problem.inputs;
  const Tensors forward = run(lif, inputs), back = problem.gradient_inputs(forward);
  const int matrices = std::any_cast<int>(problem.attributes.at("matrices"));
  const size_t decay = 5 + static_cast<size_t>(matrices), synapse = decay + 2 * (HIDDEN + 1),
               threshold = synapse + HIDDEN + 1, adaptation = threshold + 2 * HIDDEN,
               bits = inputs.size(), membranes = bits + HIDDEN, by_membrane = membranes + HIDDEN,
               by_port = by_membrane + 1, by_short = by_port + HIDDEN, by_u = by_short + HIDDEN;
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
  refuses(gradient, with<float>(back, by_short, {STEPS, BATCH, 34}, 0), "by the spikes of layer 1");
  refuses(gradient, with<float>(back, by_u + 1, {STEPS, 7, BATCH}, 0), "membranes of layer 2");
  refuses(with(gradient, "store", static_cast<int>(LIF_STORE_NOTHING)), back, "nothing");
  const Node slots = problem.slots_node(0, false, 2);
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
