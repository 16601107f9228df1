#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include <poplar/VertexIntrospector.hpp>

#include "../src/builtin_vertices.h"
#include "../src/conversion.h"
#include "element_operations.h"
#include "expression_code.h"

namespace poplar::emulator {
namespace {

using field::Direction;
using field::Shape;
using field::Span;

constexpr std::size_t kBlock = 256; // elements that stay in the cache through the whole expression

/// out[i] = code(in[0][i], in[1][i], ...). A row of one element is a scalar for every i.
struct MapVertex {
  Span in, out, code, constants, types;
};

Type typeAt(const Span &types, std::size_t i) {
  return Type(static_cast<Type::Id>(static_cast<const unsigned *>(types.first)[i]));
}

bool compute(void *state, unsigned) {
  const MapVertex &v = *static_cast<MapVertex *>(state);
  const auto *rows = static_cast<const Span *>(v.in.first);
  const auto *code = static_cast<const popops::Instruction *>(v.code.first);
  const std::size_t length = v.code.count / popops::kWordsPerInstruction;
  const auto *constants = static_cast<const float *>(v.constants.first);
  const Type outType = typeAt(v.types, v.in.count);
  std::vector<std::vector<double>> stack(length, std::vector<double>(kBlock));
  for (std::size_t first = 0; first < v.out.count; first += kBlock) {
    const std::size_t n = std::min(kBlock, v.out.count - first);
    std::size_t top = 0;
    for (std::size_t c = 0; c < length; ++c) {
      const popops::Instruction &i = code[c];
      const Type type(static_cast<Type::Id>(i.type));
      switch (static_cast<popops::Code>(i.code)) {
      case popops::Code::Argument: {
        const Span &row = rows[i.operand];
        for (std::size_t k = 0; k < n; ++k)
          stack[top][k] = numberAt(type, row.first, row.count == 1 ? 0 : first + k);
        ++top;
        break;
      }
      case popops::Code::Constant:
        std::fill_n(stack[top].begin(), n,
                    popops::rounded(type, static_cast<double>(constants[2 * i.operand]) +
                                              static_cast<double>(constants[2 * i.operand + 1])));
        ++top;
        break;
      case popops::Code::Cast:
        for (std::size_t k = 0; k < n; ++k)
          stack[top - 1][k] = popops::rounded(type, stack[top - 1][k]);
        break;
      case popops::Code::Unary:
        for (std::size_t k = 0; k < n; ++k)
          stack[top - 1][k] =
              popops::rounded(type, popops::apply(static_cast<popops::expr::UnaryOpType>(i.operand),
                                                  stack[top - 1][k], type));
        break;
      case popops::Code::Binary:
        --top;
        for (std::size_t k = 0; k < n; ++k)
          stack[top - 1][k] = popops::rounded(
              type, popops::apply(static_cast<popops::expr::BinaryOpType>(i.operand),
                                  stack[top - 1][k], stack[top][k], type));
        break;
      case popops::Code::Select:
        top -= 2;
        for (std::size_t k = 0; k < n; ++k)
          if (stack[top + 1][k] == 0)
            stack[top - 1][k] = stack[top][k];
        break;
      case popops::Code::Clamp:
        top -= 2;
        for (std::size_t k = 0; k < n; ++k)
          stack[top - 1][k] =
              std::min(std::max(stack[top - 1][k], stack[top][k]), stack[top + 1][k]);
        break;
      }
    }
    for (std::size_t k = 0; k < n; ++k)
      storeNumber(outType, v.out.first, first + k, stack[0][k]);
  }
  return true;
}

/// The operation of a vertex that has but one, as most have; nullptr for an expression.
const popops::Instruction *onlyOperation(const std::vector<popops::Instruction> &code) {
  const popops::Instruction *found = nullptr;
  for (const popops::Instruction &i : code) {
    const auto kind = static_cast<popops::Code>(i.code);
    if (kind == popops::Code::Argument || kind == popops::Code::Constant)
      continue;
    if (found)
      return nullptr;
    found = &i;
  }
  return found;
}

/// Whether one value is used for every element: a constant, or a row of one element.
bool hasScalar(const VertexIntrospector &vertex, const std::vector<popops::Instruction> &code) {
  const FieldIntrospector in = vertex.getFieldInfo("in");
  const bool many = vertex.getFieldInfo("out").size() > 1;
  return std::any_of(code.begin(), code.end(), [&](const popops::Instruction &i) {
    const auto kind = static_cast<popops::Code>(i.code);
    return kind == popops::Code::Constant ||
           (kind == popops::Code::Argument && many && in.getSizeAtIndex(i.operand) == 1);
  });
}

popops::LoopCost loopCostOf(const popops::Instruction &i, const Target &target) {
  const Type type(static_cast<Type::Id>(i.type));
  switch (static_cast<popops::Code>(i.code)) {
  case popops::Code::Unary:
    return popops::costOf(static_cast<popops::expr::UnaryOpType>(i.operand), type);
  case popops::Code::Binary:
    return popops::costOf(static_cast<popops::expr::BinaryOpType>(i.operand), type);
  default:
    return {1, target.getVectorWidth(type)};
  }
}

/// PopLibs 3.3 popopsCycleEstimators, in one dimension: workers x (58 + inner loop) + 11; with a
/// scalar operand workers x (20 + inner loop) + 11, where division is 6 cycles a vector; a cast
/// workers x (18 + inner loop) + 12. The inner loop is cycles per vector x vectors of a worker.
/// That an expression adds its operations' inner loops is inferred.
VertexPerfEstimate cycles(const VertexIntrospector &vertex, const Target &target) {
  const std::size_t n = vertex.getFieldInfo("out").size();
  const std::vector<unsigned> words =
      vertex.getFieldInfo("code").getInitialValues<unsigned>(target);
  std::vector<popops::Instruction> code(words.size() / popops::kWordsPerInstruction);
  std::memcpy(code.data(), words.data(), code.size() * sizeof code[0]);
  const unsigned workers = target.getNumWorkerContexts();
  const std::size_t perWorker = (n + workers - 1) / workers;
  const popops::Instruction *only = onlyOperation(code);
  const bool isCast = only && static_cast<popops::Code>(only->code) == popops::Code::Cast;
  const bool scalar = only && static_cast<popops::Code>(only->code) == popops::Code::Binary &&
                      hasScalar(vertex, code);
  double inner = 0;
  std::uint64_t flops = 0;
  for (const popops::Instruction &i : code) {
    const auto kind = static_cast<popops::Code>(i.code);
    if (kind == popops::Code::Argument || kind == popops::Code::Constant)
      continue;
    popops::LoopCost cost = loopCostOf(i, target);
    const Type type(static_cast<Type::Id>(i.type));
    if (scalar && type != INT && type != UNSIGNED_INT &&
        static_cast<popops::expr::BinaryOpType>(i.operand) == popops::expr::BinaryOpType::DIVIDE)
      cost.cycles = 6;
    inner += cost.cycles * std::ceil(static_cast<double>(perWorker) / cost.width);
    flops += n;
  }
  const std::uint64_t overhead = isCast ? 18 : scalar ? 20 : 58;
  return {workers * (overhead + static_cast<std::uint64_t>(inner)) + (isCast ? 12 : 11), flops};
}

BuiltinVertex vertex(const char *name, Direction outDirection) {
  auto fields = std::make_shared<std::vector<field::FieldTable>>(std::vector<field::FieldTable>{
      anyField("in", offsetof(MapVertex, in), Direction::Input, Shape::VectorOfVectors),
      anyField("out", offsetof(MapVertex, out), outDirection, Shape::Vector),
      valueField("code", offsetof(MapVertex, code), Shape::Vector, Type::Id::UnsignedInt),
      valueField("constants", offsetof(MapVertex, constants), Shape::Vector, Type::Id::Float),
      valueField("types", offsetof(MapVertex, types), Shape::Vector, Type::Id::UnsignedInt)});
  // All workers share it; it is one call here, priced as a whole, like a vertex of the supervisor.
  return {"popops",
          {name, sizeof(MapVertex), alignof(MapVertex), field::Kind::SupervisorVertex,
           fields->data(), static_cast<unsigned>(fields->size()), &compute, 400},
          &cycles,
          fields};
}

} // namespace

std::vector<BuiltinVertex> mapVertices() {
  return {vertex("popops::MapExpression", Direction::Output),
          vertex("popops::MapExpressionInPlace", Direction::InOut)};
}

} // namespace poplar::emulator
