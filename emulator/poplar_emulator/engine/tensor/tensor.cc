#include <poplar/Tensor.hpp>

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>
#include <tuple>

#include <poplar/exceptions.hpp>

#include "codelets/conversion.h"
#include "graph/graph_state.h"
#include "view.h"

namespace poplar {

using emulator::Piece;
using emulator::product;
using emulator::Run;
using emulator::View;

const View &Tensor::view() const {
  if (!elements)
    throw tensor_creation_error("the tensor was default-constructed and has no elements");
  return *elements;
}

std::size_t Tensor::dim(unsigned i) const {
  if (i >= rank())
    throw index_error("dim(" + std::to_string(i) + ") of a tensor of shape " + shapeToString());
  return dims[i];
}

std::size_t Tensor::numElements() const { return product(dims); }

bool Tensor::constantValue(double *value) const {
  if (numElements() != 1 || !containsConstant())
    return false;
  const auto [variable, element] = view().at(0);
  if (state->variables[variable].replicaIndex)
    return false; // it differs between replicas
  const std::vector<char> &bytes = state->variables[variable].initial;
  *value = emulator::numberAt(type, bytes.data(), element);
  return true;
}

std::string Tensor::shapeToString() const {
  std::ostringstream words;
  words << '{';
  for (unsigned d = 0; d < rank(); ++d)
    words << (d ? "," : "") << dims[d];
  words << '}';
  return words.str();
}

std::string Tensor::getDebugStr() const {
  std::set<std::string> names;
  for (const Run &run : view().runs())
    names.insert(state->variables[run.variable].name);
  std::string words;
  for (const std::string &name : names)
    words += (words.empty() ? "" : ", ") + name;
  return words + " " + type.toString() + shapeToString();
}

void Tensor::output(std::ostream &os) const { os << (valid() ? getDebugStr() : "<invalid>"); }
void Tensor::dump() const { output(std::cerr), std::cerr << '\n'; }
void Tensor::dumpRegions() const {
  for (const Interval &region : getContiguousRegions())
    std::cerr << region << '\n';
}

bool Tensor::operator==(const Tensor &o) const {
  if (!valid() || !o.valid())
    return valid() == o.valid();
  const std::vector<Piece> a = view().pieces(), b = o.view().pieces();
  return type == o.type && dims == o.dims &&
         std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Piece &x, const Piece &y) {
           return std::tie(x.variable, x.begin, x.end) == std::tie(y.variable, y.begin, y.end);
         });
}

std::ostream &operator<<(std::ostream &os, const Tensor &tensor) {
  tensor.output(os);
  return os;
}

} // namespace poplar
