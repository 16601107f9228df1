// Every sparse op on a stand-in for TensorFlow, with one thread and with several; for sanitizers.
#include "sparse/kernels/tensorflow_ops.cc"

#include <cstdio>

namespace {

using namespace ipulse;
using tensorflow::call;
using Attributes = std::map<std::string, std::any>;
using Tensors = std::vector<Tensor>;

int failures = 0, calls = 0;

void fail(const char *what, const std::string &message) {
  std::printf("%s: %s\n", what, message.c_str());
  ++failures;
}

// The outputs, which must be the same with one thread and with many.
Tensors run(const char *op, const Attributes &attributes, const Tensors &inputs) {
  Tensors first;
  for (int64_t threads : {1, 4}) {
    Status status;
    const Tensors found = call({op, attributes}, inputs, threads, &status);
    ++calls;
    if (!status.ok()) {
      std::printf("%s: %s\n", op, status.message().c_str());
      std::exit(1);
    }
    if (threads == 1)
      first = found;
    for (size_t i = 0; i < found.size(); ++i)
      if (found[i].NumElements() &&
          std::memcmp(found[i].data(), first[i].data(),
                      static_cast<size_t>(found[i].NumElements()) * sizeof(float)))
        fail(op, "another result with more threads");
  }
  return first;
}

// Checks that wrong inputs are refused.
void refuses(const char *op, const Attributes &attributes, const Tensors &inputs,
             const char *words) {
  Status status;
  call({op, attributes}, inputs, 4, &status);
  ++calls;
  if (status.message().find(words) == std::string::npos)
    fail(op, "said '" + status.message() + "' and not '" + words + "'");
}

Tensor drawn(TensorShape shape, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(
                    below(philox4x32({static_cast<uint32_t>(i), 0, 0, 7}, seed)[0], 2001) - 1000) /
                500;
  return Tensor::of(std::move(shape), values);
}

template <typename T> Tensor as(const Tensor &floats) {
  const float *from = floats_of(floats);
  return Tensor::of(floats.shape(), std::vector<T>(from, from + floats.NumElements()));
}

const Attributes SURROGATE = {{"surrogate", std::string("superspike")},
                              {"slope", 10.0f},
                              {"width", 0.0f},
                              {"values", std::vector<float>()}};

const tensorflow::int64 HALF = tensorflow::int64{1} << 31; // drops every second sender

void all_ops(int64_t steps, int64_t batch, int64_t n_in, int64_t n_out, int capacity,
             const std::string &policy, uint64_t seed) {
  const int slots = capacity ? capacity : static_cast<int>(n_in);
  const Tensor u = drawn({steps, batch, n_in}, seed), weights = drawn({n_in, n_out}, seed + 1);
  const Tensor high = Tensor::of<float>({n_in}, std::vector<float>(static_cast<size_t>(n_in), 1));
  const Tensor low = Tensor::of<float>({n_in}, std::vector<float>(static_cast<size_t>(n_in), 0));
  const Tensor word = Tensor::of<int64_t>({}, {5});
  Attributes chosen = SURROGATE;
  chosen.insert({{"gated", true}, {"capacity", capacity}, {"policy", policy}, {"layer", 1}});
  Tensors picked = run("IpulseSelectSpikes", chosen, {u, high, low, word, word});
  const Tensor &ids = picked[0], &counts = picked[1];
  const Tensor by_slots = drawn({steps, batch, slots}, seed + 2);
  run("IpulseSelectSpikesGrad", SURROGATE, {u, high, ids, counts, by_slots});

  const Tensor by_product = drawn({steps, batch, n_out}, seed + 3);
  run("IpulseSpikeMatmul", {}, {weights, ids, counts});
  run("IpulseSpikeMatmul", {}, {weights, as<uint16_t>(ids), as<int64_t>(counts)});
  run("IpulseSpikeMatmulGradWeights", {}, {weights, ids, counts, by_product});
  run("IpulseSpikeMatmulGradSlots", {}, {weights, ids, counts, by_product});

  const Attributes neurons = {{"neurons", static_cast<int>(n_in)}};
  const Tensor by_dense = drawn({steps, batch, n_in}, seed + 4);
  Tensors dense = run("IpulseSparseToDense", neurons, {ids, counts});
  run("IpulseScatterSlots", neurons, {ids, counts, by_slots});
  run("IpulseGatherSlots", {}, {ids, counts, by_dense});
  run("IpulseDenseToSparse", {{"capacity", 0}}, {dense[0]});

  const Attributes dropout = {{"neurons", static_cast<int>(n_in)}, {"layer", 1}, {"limit", HALF}};
  run("IpulseKeptSpikes", dropout, {ids, counts, word});
  run("IpulseKeptSpikes", dropout, {as<uint16_t>(ids), as<int64_t>(counts), word});
  run("IpulseKeptSpikesGrad", dropout, {ids, counts, word, by_slots}); // more slots than are kept

  Attributes two = neurons;
  two["N"] = 2;
  const Tensor added = run("IpulseAddedSpikes", two, {ids, ids, counts, counts})[0];
  const Tensor by_both = drawn(added.shape(), seed);
  run("IpulseAddedSpikesGrad", two, {ids, ids, counts, counts, by_both});

  std::vector<int32_t> sites(static_cast<size_t>(n_in));
  for (size_t i = 0; i < sites.size(); ++i)
    sites[i] = static_cast<int32_t>(i / 2) - 1; // two neurons to a site, the first two to none
  const Tensor pooled = run("IpulsePooledSpikes", {}, {ids, counts, Tensor::of({n_in}, sites)})[0];
  run("IpulsePooledSpikesGrad", {},
      {ids, counts, Tensor::of({n_in}, sites), drawn(pooled.shape(), seed + 5)});

  std::vector<int32_t> wanted(static_cast<size_t>(steps * batch));
  for (size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = static_cast<int32_t>(static_cast<int64_t>(i) % (n_in + 1));
  run("IpulseRandomSpikes", {{"neurons", static_cast<int>(n_in)}, {"slots", 0}},
      {word, Tensor::of({steps, batch}, wanted)});

  if (steps * batch * slots == 0)
    return;
  std::vector<int32_t> wrong(static_cast<size_t>(steps * batch * slots), 0);
  wrong.back() = static_cast<int32_t>(n_in);
  std::vector<int32_t> full(static_cast<size_t>(steps * batch), slots);
  const Tensor outside = Tensor::of({steps, batch, slots}, wrong);
  const Tensor filled = Tensor::of({steps, batch}, full);
  refuses("IpulseSpikeMatmul", {}, {weights, outside, filled}, "it must be 0 to");
  refuses("IpulseSparseToDense", neurons, {outside, filled}, "it must be 0 to");
  refuses("IpulsePooledSpikes", {}, {outside, filled, Tensor::of({n_in}, sites)},
          "it must be 0 to");
  sites.back() = static_cast<int32_t>(n_in);
  refuses("IpulsePooledSpikes", {}, {ids, counts, Tensor::of({n_in}, sites)}, "it must be -1 to");
  full.back() = slots + 1;
  refuses("IpulseSpikeMatmul", {}, {weights, ids, Tensor::of({steps, batch}, full)}, "counts");
  refuses("IpulseSpikeMatmul", {}, {weights, ids, Tensor::of<float>({1}, {0})}, "counts must");
}

} // namespace

int main() {
  uint64_t seed = 0;
  for (const char *policy : {"index", "cyclic", "top"})
    for (int capacity : {0, 1, 3}) {
      all_ops(3, 2, 7, 5, capacity, policy, ++seed);
      all_ops(1, 1, 3, 1, capacity, policy, ++seed);
      all_ops(2, 5, 64, 600, capacity, policy, ++seed); // more than one block of columns
      all_ops(0, 4, 9, 2, capacity, policy, ++seed);
    }
  std::printf("%d\n", calls);
  return failures ? 1 : 0;
}
