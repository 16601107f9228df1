#include <algorithm>
#include <cstddef>
#include <vector>

#include "codelets/builtin_vertices.h"
#include "codelets/conversion.h"
#include "element_operations.h"
#include "expression_code.h"
#include "map_cost.h"

namespace poplar::emulator {
namespace {

using field::Direction;
using field::Shape;
using field::Span;

constexpr std::size_t kBlock = 256; // elements that stay in the cache through the whole expression

/// out[r][i] = code(in[r][0][i], in[r][1][i], ...) of each contiguous region r. A row of one
/// element is a scalar for every i. types: of the operands and the result; then a bit for each
/// operand that is a scalar.
struct MapVertex {
  Span in, out, code, constants, types;
};

/// The parameters of an evaluation, besides its operands.
struct Evaluation {
  const popops::Instruction *code;
  std::size_t length;
  const float *constants;
  Type outType;
  std::vector<std::vector<double>> stack;
};

void evaluate(Evaluation &e, const Span *rows, const Span &out) {
  std::vector<std::vector<double>> &stack = e.stack;
  for (std::size_t first = 0; first < out.count; first += kBlock) {
    const std::size_t n = std::min(kBlock, out.count - first);
    std::size_t top = 0;
    for (std::size_t c = 0; c < e.length; ++c) {
      const popops::Instruction &i = e.code[c];
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
                    popops::rounded(type, static_cast<double>(e.constants[2 * i.operand]) +
                                              static_cast<double>(e.constants[2 * i.operand + 1])));
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
      storeNumber(e.outType, out.first, first + k, stack[0][k]);
  }
}

bool compute(void *state, unsigned) {
  const MapVertex &v = *static_cast<MapVertex *>(state);
  const auto *rows = static_cast<const Span *>(v.in.first);
  const auto *outs = static_cast<const Span *>(v.out.first);
  const std::size_t operands = v.out.count ? v.in.count / v.out.count : 0;
  Evaluation e{static_cast<const popops::Instruction *>(v.code.first),
               v.code.count / popops::kWordsPerInstruction,
               static_cast<const float *>(v.constants.first),
               Type(static_cast<Type::Id>(static_cast<const unsigned *>(v.types.first)[operands])),
               {}};
  e.stack.assign(e.length, std::vector<double>(kBlock));
  for (std::size_t r = 0; r < v.out.count; ++r)
    evaluate(e, rows + r * operands, outs[r]);
  return true;
}

BuiltinVertex vertex(const char *name, Direction outDirection) {
  auto fields = std::make_shared<std::vector<field::FieldTable>>(std::vector<field::FieldTable>{
      anyField("in", offsetof(MapVertex, in), Direction::Input, Shape::VectorOfVectors),
      anyField("out", offsetof(MapVertex, out), outDirection, Shape::VectorOfVectors),
      valueField("code", offsetof(MapVertex, code), Shape::Vector, Type::Id::UnsignedInt),
      valueField("constants", offsetof(MapVertex, constants), Shape::Vector, Type::Id::Float),
      valueField("types", offsetof(MapVertex, types), Shape::Vector, Type::Id::UnsignedInt)});
  // All workers share it; it is one call here, priced as a whole, like a vertex of the supervisor.
  return {"popops",
          {name, sizeof(MapVertex), alignof(MapVertex), field::Kind::SupervisorVertex,
           fields->data(), static_cast<unsigned>(fields->size()), &compute, 400},
          [=](const VertexIntrospector &v, const Target &target) {
            return mapCycles(v, target, outDirection == Direction::InOut);
          },
          fields,
          false};
}

} // namespace

std::vector<BuiltinVertex> mapVertices() {
  return {vertex("popops::MapExpression", Direction::Output),
          vertex("popops::MapExpressionInPlace", Direction::InOut)};
}

} // namespace poplar::emulator
