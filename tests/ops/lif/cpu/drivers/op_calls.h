// Calls of ops on the stand-in, and tensors for them.
#ifndef TESTS_OPS_OP_CALLS_H
#define TESTS_OPS_OP_CALLS_H

#include "bindings/tensorflow_op.cc"

#include <any>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace {

using tensorflow::Node;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::Var;
using Attributes = std::map<std::string, std::any>;
using Tensors = std::vector<Tensor>;
using Floats = std::vector<float>;
using Bools = std::vector<bool>;
using Ints = std::vector<int>;
using Names = std::vector<std::string>;

std::atomic<int> calls{0};

[[noreturn]] void fail(const std::string &what) {
  std::printf("%s\n", what.c_str());
  std::exit(1);
}

Tensors run(const Node &node, Tensors inputs) {
  tensorflow::Status status;
  Tensors found = tensorflow::call(node, std::move(inputs), 1, &status);
  ++calls;
  if (!status.ok())
    fail(node.op + ": " + status.message());
  return found;
}

void refuses(const Node &node, const Tensors &inputs, const char *words) {
  tensorflow::Status status;
  tensorflow::call(node, inputs, 1, &status);
  ++calls;
  if (status.message().find(words) == std::string::npos)
    fail(node.op + " said '" + status.message() + "' and not '" + words + "'");
}

void same(const Tensors &one, const Tensors &other, const char *what) {
  for (size_t i = 0; i < one.size(); ++i)
    if (!(one[i].shape() == other[i].shape()) ||
        (one[i].NumElements() &&
         std::memcmp(one[i].data(), other[i].data(),
                     static_cast<size_t>(one[i].NumElements()) * sizeof(float))))
      fail("output " + std::to_string(i) + " differs " + what);
}

// `low` to `high` in thousandths, by a generator of its own: the same in every run.
Tensor drawn(TensorShape shape, float low, float high) {
  static unsigned state = 1;
  Floats values(static_cast<size_t>(shape.num_elements()));
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = low + (high - low) * static_cast<float>((state >> 8) % 1000) / 1000;
  }
  return Tensor::of(std::move(shape), values);
}

template <typename T> Tensor filled_with(TensorShape shape, T value) {
  std::vector<T> values(static_cast<size_t>(shape.num_elements()), value);
  return Tensor::of(std::move(shape), values);
}

Tensor copy(const Tensor &tensor) {
  const float *from = ipulse_lif::floats_of(tensor);
  return Tensor::of(tensor.shape(), Floats(from, from + tensor.NumElements()));
}

float sum(const Tensor &tensor) {
  const float *from = ipulse_lif::floats_of(tensor);
  return std::accumulate(from, from + tensor.NumElements(), 0.0f);
}

template <typename T> Tensors with(Tensors tensors, size_t index, TensorShape shape, T value) {
  tensors[index] = filled_with<T>(std::move(shape), value);
  return tensors;
}

template <typename T> Node with(Node node, const char *name, T value) {
  node.attributes[name] = value;
  return node;
}

} // namespace

#endif
