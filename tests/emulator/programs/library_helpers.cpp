// Helpers of PopLibs around operations: padding, shared functions, plans and indices of
// convolutions.
#include <iostream>

#include <poplin/Cholesky.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/TriangularSolve.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Pad.hpp>
#include <poputil/GraphFunction.hpp>
#include <poputil/exceptions.hpp>

#include "network_fixture.h"

using namespace popops::expr;

// A name that programs like to use for themselves.
namespace detail {
unsigned products(const std::vector<std::pair<poplin::MatMulParams, OptionFlags>> &planned) {
  return static_cast<unsigned>(planned.size());
}
} // namespace detail

namespace {

namespace graphfn = poputil::graphfn;

void padding(Network &n) {
  const Tensor t = n.filled("t", {2, 3}, 1);
  const Tensor value = n.graph.addConstant(FLOAT, {}, 7.5f);
  n.graph.setTileMapping(value, 1);
  n.show("by_tensor", popops::pad(n.graph, t, {1, 0}, {0, 2}, value));
  n.show("by_tensor_in_one", popops::pad(n.graph, t, 1, -1, 1, value));
  n.show("by_integer", popops::pad(n.graph, t, 0, 2, 0, 3));
  n.show("by_double", popops::pad(n.graph, t, {0, 1}, {0, 0}, 0.5));
  n.show("reflected", popops::pad(t, 1, 2, 1, popops::padding::Type::REFLECT));
  try {
    popops::pad(n.graph, t, 1, 0, 0, t);
  } catch (const poputil::poplibs_error &e) {
    std::cerr << e.what() << '\n';
  }
}

/// A function that learns its name, called for two tensors.
void named_functions(Network &n) {
  std::string name;
  const Tensor a = n.filled("a", {4}, 2), b = n.filled("b", {4}, 3);
  graphfn::TensorFunction twice(
      n.graph, {graphfn::input(a, "x")},
      [&](std::vector<Tensor> &args, Sequence &prog, const DebugNameAndId &dnai) {
        name = dnai.getPathName();
        return popops::add(n.graph, args[0], args[0], prog, {dnai, "twice"});
      },
      false, {"doubling"});
  std::cerr << "function " << name << '\n';
  std::vector<Tensor> first{a}, second{b};
  n.show("twice_a", twice(first, n.prog));
  n.show("twice_b", twice(second, n.prog));
  graphfn::VoidFunction negate(
      n.graph, {graphfn::inout(a, "x")},
      [&](std::vector<Tensor> &args, Sequence &prog, const DebugNameAndId &) {
        popops::mapInPlace(n.graph, popops::expr::UnaryOpType::NEGATE, args[0], prog);
      });
  std::vector<Tensor> c{n.graph.clone(a)};
  n.prog.add(Copy(a, c[0]));
  negate(c, n.prog);
  n.show("negated", c[0]);
}

void plans(Network &n) {
  const auto made = popops::embedding::planMultiple(
      {{n.graph, FLOAT, 20, 4, {3}, {}}, {n.graph, FLOAT, 1, 10, 2, {5}, {}}});
  std::cerr << "plans " << made.size() << ", products "
            << detail::products(
                   poplin::getCholeskyMatMulPrePlanParameters(FLOAT, {4, 4}, true, {})) +
                   detail::products(poplin::getTriangularSolveMatMulPrePlanParameters(
                       FLOAT, FLOAT, {4, 4}, {4, 4}, true, true, {}))
            << '\n';
}

/// Compares the indices with those that a convolution of single ones has: prints every triple.
void indices() {
  poplin::ConvParams p(FLOAT, 1, {9}, {4}, 1, 1, 1);
  p.inputTransform = {{1}, {2}, {2}, {3}, {2}, {true}};
  p.kernelTransform = {{1}, {0}, {2}, {0}, {1}, {true}};
  p.outputTransform = {{1}, {0}, {2}, {1}, {1}};
  p.validate();
  for (unsigned o = 0; o < p.getOutputSize(0); ++o) {
    for (unsigned k = 0; k < 4; ++k) {
      const unsigned i = poplin::getInputIndex(0, o, k, p);
      if (i == ~0U)
        continue;
      std::cout << "index " << o << ' ' << k << ' ' << i << '\n';
      if (poplin::getKernelIndex(0, o, i, p) != k)
        std::cout << "getKernelIndex differs\n";
    }
    const auto range = poplin::getInputRange(0, o, p);
    const auto kernel = poplin::getKernelRange(0, {o, o + 1}, {0, 9}, p);
    std::cout << "ranges " << o << ' ' << range.first << ' ' << range.second << ' ' << kernel.first
              << ' ' << kernel.second << '\n';
  }
  const auto outputs = poplin::getOutputRangeForKernelIndex(0, {0, p.getOutputSize(0)}, 3, p);
  const auto of_input = poplin::getOutputRangeForInputIndex(0, {0, p.getOutputSize(0)}, 4, p);
  std::cout << "outputs " << outputs.first << ' ' << outputs.second << ' ' << of_input.first << ' '
            << of_input.second << '\n';
}

/// Prints doubles as halves: the second is just above the middle of two of them.
void halves(const Target &target) {
  const std::vector<double> values{-1.5, 1 + 1.0 / 2048 + 1e-12, 1 + 1.0 / 2048, 65504, 1e-8};
  std::vector<char> raw(2 * values.size());
  copyDoubleToDeviceHalf(target, values.data(), raw.data(), values.size());
  std::vector<double> back(values.size());
  copyDeviceHalfToDouble(target, raw.data(), back.data(), back.size());
  std::cout.precision(17);
  std::cout << "halves";
  for (const double value : back)
    std::cout << ' ' << value;
  std::cout << '\n';
}

} // namespace

int main() {
  Network n;
  halves(n.graph.getTarget());
  padding(n);
  named_functions(n);
  plans(n);
  indices();
  n.run();
}
