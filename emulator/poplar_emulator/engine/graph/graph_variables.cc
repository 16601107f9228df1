#include <algorithm>
#include <cstring>
#include <tuple>

#include <poplar/Graph.hpp>

#include "codelets/conversion.h"
#include "graph_state.h"

namespace poplar {

using emulator::convert;
using emulator::Piece;
using emulator::product;
using emulator::Variable;
using emulator::View;

Tensor Graph::addVariable(const Type &type, ArrayRef<std::size_t> shape,
                          const DebugContext &debugContext) {
  return state->addVariable(type, shape.cloneAsVector(), debugContext.getPathName());
}

Tensor Graph::addVariable(const Type &type, ArrayRef<std::size_t> shape,
                          VariableMappingMethod mappingMethod, const DebugContext &debugContext) {
  const Tensor t = addVariable(type, shape, debugContext);
  if (mappingMethod == VariableMappingMethod::LINEAR) {
    const std::size_t n = t.numElements(), perTile = (n + tiles.size() - 1) / tiles.size();
    for (std::size_t i = 0; i * perTile < n; ++i)
      setTileMapping(t.flatten().slice(i * perTile, std::min(n, (i + 1) * perTile)),
                     static_cast<unsigned>(i));
  }
  return t;
}

Tensor Graph::addConstant(const Type &type, ArrayRef<std::size_t> shape, const FieldData &values,
                          const DebugContext &debugContext) {
  const Tensor t = addVariable(type, shape, debugContext);
  const std::size_t elements = t.numElements();
  if (values.size() != elements && values.size() != 1)
    throw tensor_creation_error("a constant of " + std::to_string(elements) + " elements and " +
                                std::to_string(values.size()) + " values");
  Variable &variable = state->variables.back();
  variable.constant = true;
  const std::vector<char> bytes =
      convert(values.type(), values.bytes().data(), values.size(), type);
  while (variable.initial.size() < elements * emulator::sizeOf(type))
    variable.initial.insert(variable.initial.end(), bytes.begin(), bytes.end());
  return t;
}

Tensor Graph::addReplicationIndexConstant(const DebugContext &debugContext) {
  const Tensor t = addConstant(UNSIGNED_INT, {}, 0u, debugContext);
  state->variables.back().replicaIndex = state->replicas > 1;
  return t;
}

Tensor Graph::addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, std::uint16_t value,
                              const DebugContext &debugContext) {
  half number;
  number.bits = value;
  return addConstant(type, shape, FieldData(number), debugContext);
}
Tensor Graph::addConstantHalf(const Type &type, ArrayRef<std::size_t> shape,
                              const std::uint16_t *values, const DebugContext &debugContext) {
  std::vector<half> numbers(product(shape.cloneAsVector()));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i].bits = values[i];
  return addConstant(type, shape, FieldData(numbers), debugContext);
}

Tensor Graph::clone(const Type &type, const Tensor &t, const DebugContext &debugContext,
                    TensorCloneMethod method) {
  emulator::checkOwn(*state, t);
  const View &from = t.view();
  const bool fresh =
      method == TensorCloneMethod::CREATE_NEW_ORDER ||
      (method == TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES && t.containsAliases());
  // The new variable holds the elements of `order`, a view without aliases.
  std::vector<Piece> order = from.pieces();
  if (!fresh) {
    std::sort(order.begin(), order.end(), [](const Piece &a, const Piece &b) {
      return std::tie(a.variable, a.begin) < std::tie(b.variable, b.begin);
    });
    std::vector<Piece> merged;
    for (const Piece &p : order) {
      if (!merged.empty() && merged.back().variable == p.variable && p.begin <= merged.back().end)
        merged.back().end = std::max(merged.back().end, p.end);
      else
        merged.push_back(p);
    }
    order = std::move(merged);
  }
  std::size_t total = 0;
  std::vector<std::size_t> begins;
  for (const Piece &p : order) {
    begins.push_back(total);
    total += p.end - p.begin;
  }
  const Tensor whole = addVariable(type, {total}, debugContext);
  const unsigned id = whole.view().runs().empty() ? 0 : whole.view().runs()[0].variable;
  for (std::size_t i = 0; i < order.size(); ++i)
    state->variables[order[i].variable].tiles.forEach(
        order[i].begin, order[i].end, [&](std::size_t b, std::size_t e, unsigned tile) {
          const std::size_t shift = begins[i] - order[i].begin;
          state->variables[id].tiles.assign(b + shift, e + shift, tile);
        });
  if (fresh)
    return whole.reshape(t.shape());
  View result;
  from.forEachPiece([&](const Piece &p) {
    const auto at =
        std::upper_bound(order.begin(), order.end(), p,
                         [](const Piece &a, const Piece &b) {
                           return std::tie(a.variable, a.begin) < std::tie(b.variable, b.begin);
                         }) -
        order.begin() - 1;
    const std::size_t i = static_cast<std::size_t>(at);
    result.append({id, begins[i] + p.begin - order[i].begin, p.end - p.begin, 1});
  });
  return {&*state, type, t.shape(), std::make_shared<View>(std::move(result))};
}

Tensor Graph::clone(const Tensor &t, const DebugContext &debugContext, TensorCloneMethod method) {
  return clone(t.elementType(), t, debugContext, method);
}

Tensor Graph::cloneN(const Type &type, const Tensor &t, unsigned n,
                     const DebugContext &debugContext, TensorCloneMethod method) {
  std::vector<Tensor> clones;
  for (unsigned i = 0; i < n; ++i)
    clones.push_back(clone(type, t, debugContext, method).expand({0}));
  return concat(clones);
}
Tensor Graph::cloneN(const Tensor &t, unsigned n, const DebugContext &debugContext,
                     TensorCloneMethod method) {
  return cloneN(t.elementType(), t, n, debugContext, method);
}

void Graph::setInitialTensorValue(const Tensor &t, const FieldData &value) {
  emulator::checkOwn(*state, t);
  const std::size_t n = t.numElements();
  if (value.size() != n && !value.isScalar())
    throw graph_connection_error("setInitialValue: " + std::to_string(value.size()) +
                                 " values for tensor " + t.getDebugStr());
  const std::vector<char> bytes =
      convert(value.type(), value.bytes().data(), value.size(), t.elementType());
  const std::size_t size = emulator::sizeOf(t.elementType());
  std::size_t at = 0;
  t.view().forEachPiece([&](const Piece &p) {
    Variable &variable = state->variables[p.variable];
    variable.initial.resize(variable.bytes());
    for (std::size_t e = p.begin; e < p.end; ++e, at += value.isScalar() ? 0 : size)
      std::memcpy(variable.initial.data() + e * size, bytes.data() + at, size);
  });
}

} // namespace poplar
