#include "map_cost.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <poplar/Interval.hpp>
#include <poplar/VertexIntrospector.hpp>
#include <poputil/Util.hpp>

#include "device/machine.h"
#include "element_operations.h"
#include "expression_code.h"

namespace poplar::emulator {
namespace {

using Code = popops::Code;
using popops::Instruction;

Code kindOf(const Instruction &i) { return static_cast<Code>(i.code); }
bool isOperand(const Instruction &i) {
  return kindOf(i) == Code::Argument || kindOf(i) == Code::Constant;
}

popops::LoopCost loopCostOf(const Instruction &i, const Target &target) {
  const Type type(static_cast<Type::Id>(i.type));
  switch (kindOf(i)) {
  case Code::Unary:
    return popops::costOf(static_cast<popops::expr::UnaryOpType>(i.operand), type);
  case Code::Binary:
    return popops::costOf(static_cast<popops::expr::BinaryOpType>(i.operand), type);
  default:
    return {1, target.getVectorWidth(type)};
  }
}

/// The kinds of expressions with different formulas.
struct Form {
  std::vector<popops::LoopCost> loops; // of its operations
  bool isCast = false, isScalar = false;
  std::uint64_t lists = 1; // of regions: the result's, and those of operands that are no scalar
};

Form formOf(const VertexIntrospector &vertex, const Target &target, bool inPlace) {
  const auto words = vertex.getFieldInfo("code").getInitialValues<unsigned>(target);
  std::vector<Instruction> code(words.size() / popops::kWordsPerInstruction);
  std::memcpy(code.data(), words.data(), code.size() * sizeof code[0]);
  const auto types = vertex.getFieldInfo("types").getInitialValues<unsigned>(target);
  const unsigned scalars = types.back();
  const auto isScalar = [&](const Instruction &i) {
    return kindOf(i) == Code::Constant ||
           (kindOf(i) == Code::Argument && (scalars >> i.operand & 1) != 0);
  };
  std::vector<Instruction> operations;
  std::copy_if(code.begin(), code.end(), std::back_inserter(operations),
               [](const Instruction &i) { return !isOperand(i); });
  Form form;
  if (operations.size() == 1) {
    form.isCast = kindOf(operations[0]) == Code::Cast;
    form.isScalar =
        kindOf(operations[0]) == Code::Binary && std::any_of(code.begin(), code.end(), isScalar);
  }
  for (const Instruction &i : operations) {
    const Type type(static_cast<Type::Id>(i.type));
    form.loops.push_back(loopCostOf(i, target));
    if (form.isScalar && type != INT && type != UNSIGNED_INT &&
        static_cast<popops::expr::BinaryOpType>(i.operand) == popops::expr::BinaryOpType::DIVIDE)
      form.loops.back().cycles = 6;
  }
  for (std::size_t operand = inPlace ? 1 : 0; operand + 2 < types.size(); ++operand)
    form.lists += (scalars >> operand & 1) == 0;
  return form;
}

double loopCycles(const Form &form, std::size_t elements) {
  double cycles = 0;
  for (const popops::LoopCost &loop : form.loops)
    cycles += loop.cycles * std::ceil(static_cast<double>(elements) / loop.width);
  return cycles;
}

/// Returns the cycles of the worker with most work. Regions are divided as in PopLibs.
double workerCycles(const Form &form, const std::vector<Interval> &regions, std::size_t elements,
                    const Type &type, const Target &target) {
  const std::size_t workers = target.getNumWorkerContexts();
  if (regions.size() == 1)
    return loopCycles(form, (elements + workers - 1) / workers);
  const Machine &m = target.getMachine();
  double most = 0;
  for (const std::vector<Interval> &share :
       poputil::splitRegionsBetweenWorkers(target, regions, target.getVectorWidth(type))) {
    double cycles = 0;
    for (const Interval &region : share)
      cycles += loopCycles(form, region.size()) +
                static_cast<double>(m.innerLoopBundles + m.listRowBundles * form.lists);
    most = std::max(most, cycles);
  }
  return most;
}

} // namespace

// PopLibs 3.3 popopsCycleEstimators, in one dimension: workers x (58 + inner loop) + 11; with a
// scalar operand workers x (20 + inner loop) + 11, where division is 6 cycles a vector; a cast
// workers x (18 + inner loop) + 12. The inner loop is cycles per vector x vectors of a worker.
// Where a tile has several regions, a worker begins the loop for each of its own, and unpacks a row
// of every list; that it starts at the same cost is inferred, as is that an expression adds its
// operations' loops.
VertexPerfEstimate mapCycles(const VertexIntrospector &vertex, const Target &target, bool inPlace) {
  const FieldIntrospector out = vertex.getFieldInfo("out");
  std::vector<Interval> regions;
  std::size_t n = 0;
  for (std::size_t r = 0; r < out.size(); ++r) {
    regions.emplace_back(n, n + out.getSizeAtIndex(r));
    n = regions.back().end();
  }
  const auto types = vertex.getFieldInfo("types").getInitialValues<unsigned>(target);
  const Type outType(static_cast<Type::Id>(types[types.size() - 2]));
  const Form form = formOf(vertex, target, inPlace);
  const std::uint64_t overhead = form.isCast ? 18 : form.isScalar ? 20 : 58;
  const auto inner =
      static_cast<std::uint64_t>(std::ceil(workerCycles(form, regions, n, outType, target)));
  return {target.getNumWorkerContexts() * (overhead + inner) + (form.isCast ? 12 : 11),
          n * form.loops.size()};
}

} // namespace poplar::emulator
