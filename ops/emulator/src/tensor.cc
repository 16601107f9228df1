#include <poplar/Tensor.hpp>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

#include <poplar/exceptions.hpp>

#include "conversion.h"
#include "graph_state.h"
#include "view.h"

namespace poplar {

using emulator::Piece;
using emulator::product;
using emulator::Run;
using emulator::View;

namespace {

using Shape = std::vector<std::size_t>;

/// The flattened tensor as [outer][dimension][inner].
struct Split {
  std::size_t outer, extent, inner;
  Split(const Tensor &t, unsigned dimension) : outer(1), extent(t.dim(dimension)), inner(1) {
    for (unsigned d = 0; d < t.rank(); ++d)
      (d < dimension ? outer : inner) *= d == dimension ? 1 : t.dim(d);
  }
};

Tensor with(const Tensor &t, Shape shape, View view) {
  return {t.graph(), t.elementType(), std::move(shape), std::make_shared<View>(std::move(view))};
}

[[noreturn]] void refuseReshape(const Tensor &t, std::size_t n) {
  throw tensor_creation_error("cannot reshape a tensor of shape " + t.shapeToString() + " to " +
                              std::to_string(n) + " elements");
}

void checkDimension(const Tensor &t, unsigned dimension, const char *operation) {
  if (dimension >= t.rank())
    throw index_error(std::string(operation) + ": dimension " + std::to_string(dimension) +
                      " of a tensor of shape " + t.shapeToString());
}

} // namespace

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

Tensor Tensor::slice(std::size_t begin, std::size_t end, unsigned dimension) const {
  checkDimension(*this, dimension, "slice");
  if (begin > end || end > dims[dimension])
    throw index_error("slice [" + std::to_string(begin) + "," + std::to_string(end) +
                      ") of dimension " + std::to_string(dimension) + " of a tensor of shape " +
                      shapeToString());
  const Split s(*this, dimension);
  View result;
  if (s.inner == 1 && end - begin == 1) {
    result.appendStrided(view(), begin, s.extent, s.outer);
  } else {
    for (std::size_t o = 0; o < s.outer; ++o)
      result.append(view(), (o * s.extent + begin) * s.inner, (o * s.extent + end) * s.inner);
  }
  Shape shape = dims;
  shape[dimension] = end - begin;
  return with(*this, std::move(shape), std::move(result));
}

Tensor Tensor::slice(const Interval &region, unsigned dimension) const {
  return slice(region.begin(), region.end(), dimension);
}

Tensor Tensor::slice(ArrayRef<std::size_t> begin, ArrayRef<std::size_t> end) const {
  if (begin.size() != rank() || end.size() != rank())
    throw index_error("slice needs a begin and an end for each dimension of " + shapeToString());
  Tensor result = *this;
  for (unsigned d = 0; d < rank(); ++d)
    result = result.slice(begin[d], end[d], d);
  return result;
}

std::vector<Tensor> Tensor::slices(ArrayRef<Interval> intervals, unsigned dimension) const {
  std::vector<Tensor> result;
  for (const Interval &i : intervals)
    result.push_back(slice(i, dimension));
  return result;
}

std::vector<Tensor> Tensor::slices(const std::vector<std::vector<Interval>> &intervals,
                                   unsigned dimension) const {
  std::vector<Tensor> result;
  for (const std::vector<Interval> &group : intervals)
    result.push_back(concat(slices(ArrayRef<Interval>(group), dimension), dimension));
  return result;
}

std::vector<Tensor> Tensor::slices(ArrayRef<unsigned> indices, unsigned dimension) const {
  std::vector<Tensor> result;
  for (const unsigned i : indices)
    result.push_back(slice(i, i + 1, dimension));
  return result;
}

Tensor Tensor::operator[](std::size_t i) const & {
  if (rank() == 0)
    throw index_error("operator[] of a scalar");
  Tensor result = slice(i, i + 1);
  result.dims.erase(result.dims.begin());
  return result;
}

Tensor Tensor::operator[](std::size_t i) && { return static_cast<const Tensor &>(*this)[i]; }

Tensor Tensor::index(ArrayRef<std::size_t> indices) const {
  Tensor result = *this;
  for (const std::size_t i : indices)
    result = result[i];
  return result;
}

Tensor Tensor::flatten() const { return reshape({numElements()}); }

Tensor Tensor::flatten(unsigned dimBegin, unsigned dimEnd) const {
  if (dimBegin > dimEnd || dimEnd > rank())
    throw index_error("flatten(" + std::to_string(dimBegin) + "," + std::to_string(dimEnd) +
                      ") of a tensor of shape " + shapeToString());
  std::size_t n = 1;
  for (unsigned d = dimBegin; d < dimEnd; ++d)
    n *= dims[d];
  return reshapePartial(dimBegin, dimEnd, {n});
}

Tensor Tensor::reshape(ArrayRef<std::size_t> shape) const {
  if (product(shape.cloneAsVector()) != numElements())
    refuseReshape(*this, product(shape.cloneAsVector()));
  view();
  return {state, type, shape.cloneAsVector(), elements};
}

Tensor Tensor::reshapePartial(unsigned beginIndex, unsigned endIndex,
                              ArrayRef<std::size_t> newDims) const {
  if (beginIndex > endIndex || endIndex > rank())
    throw index_error("reshapePartial out of the range of " + shapeToString());
  Shape shape(dims.begin(), dims.begin() + beginIndex);
  shape.insert(shape.end(), newDims.begin(), newDims.end());
  shape.insert(shape.end(), dims.begin() + endIndex, dims.end());
  return reshape(shape);
}

Tensor Tensor::expand(ArrayRef<std::size_t> indices) const {
  Shape shape;
  for (std::size_t d = 0; d <= dims.size(); ++d) {
    shape.insert(shape.end(),
                 static_cast<std::size_t>(std::count(indices.begin(), indices.end(), d)), 1);
    if (d < dims.size())
      shape.push_back(dims[d]);
  }
  if (shape.size() != dims.size() + indices.size())
    throw index_error("expand out of the range of " + shapeToString());
  return reshape(shape);
}

Tensor Tensor::squeeze(ArrayRef<std::size_t> indices) const {
  Shape shape;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (std::find(indices.begin(), indices.end(), d) == indices.end())
      shape.push_back(dims[d]);
    else if (dims[d] != 1)
      throw tensor_creation_error("squeeze of dimension " + std::to_string(d) + " of " +
                                  shapeToString() + ", which is not 1");
  }
  for (const std::size_t d : indices)
    if (d >= dims.size())
      throw index_error("squeeze out of the range of " + shapeToString());
  return reshape(shape);
}

Tensor Tensor::dimShuffle(ArrayRef<unsigned> permutation) const {
  std::set<unsigned> seen(permutation.begin(), permutation.end());
  if (permutation.size() != rank() || seen.size() != rank() ||
      (rank() && *seen.rbegin() != rank() - 1))
    throw index_error("dimShuffle needs each dimension of " + shapeToString() + " once");
  if (rank() == 0)
    return *this;
  Shape from(rank()), shape(rank()), step(rank());
  std::size_t stride = 1;
  for (unsigned d = rank(); d-- > 0; stride *= dims[d])
    from[d] = stride;
  for (unsigned d = 0; d < rank(); ++d) {
    shape[d] = dims[permutation[d]];
    step[d] = from[permutation[d]];
  }
  View result;
  const unsigned last = rank() - 1;
  Shape index(rank());
  const std::size_t rows = shape[last] ? numElements() / shape[last] : 0;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t first = 0;
    for (unsigned d = 0; d < last; ++d)
      first += index[d] * step[d];
    result.appendStrided(view(), first, step[last], shape[last]);
    for (unsigned d = last; d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
  return with(*this, std::move(shape), std::move(result));
}

Tensor Tensor::dimShufflePartial(ArrayRef<unsigned> source, ArrayRef<unsigned> destination) const {
  if (source.size() != destination.size())
    throw index_error("dimShufflePartial needs as many destinations as sources");
  const unsigned none = rank();
  std::vector<unsigned> permutation(rank(), none);
  std::vector<bool> taken(rank());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] >= rank() || destination[i] >= rank())
      throw index_error("dimShufflePartial out of the range of " + shapeToString());
    permutation[destination[i]] = source[i];
    taken[source[i]] = true;
  }
  unsigned next = 0;
  for (unsigned &p : permutation) {
    if (p != none)
      continue;
    while (taken[next])
      ++next;
    p = next++;
  }
  return dimShuffle(permutation);
}

Tensor Tensor::dimRoll(unsigned dimIdx, unsigned newIdx) const {
  return dimShufflePartial({dimIdx}, {newIdx});
}

Tensor Tensor::transpose() const {
  if (rank() != 2)
    throw tensor_creation_error("transpose needs a matrix, not a tensor of shape " +
                                shapeToString());
  return dimShuffle({1, 0});
}

Tensor Tensor::reverse(unsigned dimension) const {
  checkDimension(*this, dimension, "reverse");
  const Split s(*this, dimension);
  View result;
  for (std::size_t o = 0; o < s.outer; ++o)
    for (std::size_t i = s.extent; i-- > 0;)
      result.append(view(), (o * s.extent + i) * s.inner, (o * s.extent + i + 1) * s.inner);
  return with(*this, dims, std::move(result));
}

Tensor Tensor::subSample(unsigned stride, unsigned dimension) const {
  checkDimension(*this, dimension, "subSample");
  if (stride == 0)
    throw index_error("subSample with a stride of 0");
  const Split s(*this, dimension);
  View result;
  for (std::size_t o = 0; o < s.outer; ++o)
    for (std::size_t i = 0; i < s.extent; i += stride)
      result.append(view(), (o * s.extent + i) * s.inner, (o * s.extent + i + 1) * s.inner);
  Shape shape = dims;
  shape[dimension] = (dims[dimension] + stride - 1) / stride;
  return with(*this, std::move(shape), std::move(result));
}

Tensor Tensor::upsample(unsigned scale, unsigned dimension, UpsampleMethod) const {
  checkDimension(*this, dimension, "upsample");
  const Split s(*this, dimension);
  View result;
  for (std::size_t i = 0; i < s.outer * s.extent; ++i)
    for (unsigned k = 0; k < scale; ++k)
      result.append(view(), i * s.inner, (i + 1) * s.inner);
  Shape shape = dims;
  shape[dimension] *= scale;
  return with(*this, std::move(shape), std::move(result));
}

Tensor Tensor::broadcast(unsigned n, unsigned dimension) const {
  checkDimension(*this, dimension, "broadcast");
  const Split s(*this, dimension);
  const std::size_t block = s.extent * s.inner;
  View result;
  for (std::size_t o = 0; o < s.outer; ++o) {
    if (block == 1)
      result.appendStrided(view(), o, 0, n);
    else
      for (unsigned k = 0; k < n; ++k)
        result.append(view(), o * block, (o + 1) * block);
  }
  Shape shape = dims;
  shape[dimension] *= n;
  return with(*this, std::move(shape), std::move(result));
}

Tensor Tensor::reinterpret(const Type &to) const {
  if (emulator::sizeOf(to) != emulator::sizeOf(type))
    throw type_error("reinterpret from " + type.toString() + " to " + to.toString() +
                     ": their elements differ in size");
  return {state, to, dims, elements};
}

bool Tensor::isContiguous() const { return view().pieces().size() <= 1; }

namespace {

std::vector<Piece> sortedPieces(const View &view) {
  std::vector<Piece> pieces = view.pieces();
  std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) {
    return std::tie(a.variable, a.begin) < std::tie(b.variable, b.begin);
  });
  return pieces;
}

} // namespace

bool Tensor::containsAliases() const {
  const std::vector<Piece> pieces = sortedPieces(view());
  for (std::size_t i = 1; i < pieces.size(); ++i)
    if (pieces[i].variable == pieces[i - 1].variable && pieces[i].begin < pieces[i - 1].end)
      return true;
  return false;
}

bool Tensor::containsConstant() const {
  return std::any_of(view().runs().begin(), view().runs().end(),
                     [&](const Run &r) { return state->variables[r.variable].constant; });
}

bool Tensor::isParallelWriteable() const { return !containsConstant() && !containsAliases(); }

bool Tensor::intersectsWith(const Tensor &other) const {
  const std::vector<Piece> a = sortedPieces(view()), b = sortedPieces(other.view());
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].variable == b[j].variable && a[i].begin < b[j].end && b[j].begin < a[i].end)
      return true;
    if (std::tie(a[i].variable, a[i].end) < std::tie(b[j].variable, b[j].end))
      ++i;
    else
      ++j;
  }
  return false;
}

const std::vector<Interval> Tensor::getContiguousRegions() const {
  std::vector<Interval> regions;
  std::size_t at = 0;
  view().forEachPiece([&](const Piece &p) {
    regions.emplace_back(at, at + (p.end - p.begin));
    at += p.end - p.begin;
  });
  return regions;
}

const std::vector<VariableInterval> Tensor::getVarRegions() const {
  std::vector<VariableInterval> regions;
  view().forEachPiece([&](const Piece &p) {
    regions.push_back({VariableRef{p.variable}, Interval(p.begin, p.end)});
  });
  return regions;
}

bool Tensor::constantValue(double *value) const {
  if (numElements() != 1 || !containsConstant())
    return false;
  const auto [variable, element] = view().at(0);
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

Tensor concat(ArrayRef<Tensor> ts, unsigned dimension) {
  if (ts.empty())
    throw tensor_creation_error("concat of no tensors");
  const Tensor &first = ts[0];
  checkDimension(first, dimension, "concat");
  Shape shape = first.shape();
  shape[dimension] = 0;
  for (const Tensor &t : ts) {
    bool fits = t.rank() == first.rank() && t.elementType() == first.elementType();
    for (unsigned d = 0; fits && d < t.rank(); ++d)
      fits = d == dimension || t.dim(d) == first.dim(d);
    if (!fits)
      throw tensor_creation_error("concat along dimension " + std::to_string(dimension) + " of " +
                                  first.elementType().toString() + first.shapeToString() + " and " +
                                  t.elementType().toString() + t.shapeToString());
    shape[dimension] += t.dim(dimension);
  }
  View result;
  const std::size_t outer = Split(first, dimension).outer;
  for (std::size_t o = 0; o < outer; ++o) {
    for (const Tensor &t : ts) {
      const std::size_t block = t.numElements() / outer;
      result.append(t.view(), o * block, (o + 1) * block);
    }
  }
  return with(first, std::move(shape), std::move(result));
}

Tensor concat(const Tensor &first, const Tensor &second, unsigned dimension) {
  return concat({first, second}, dimension);
}

Tensor append(const Tensor &t, const Tensor &t2, unsigned dimension) {
  return concat(t, t2.expand({dimension}), dimension);
}
Tensor append(const Tensor &t, const Tensor &t2) { return append(t, t2, 0); }

std::ostream &operator<<(std::ostream &os, const Tensor &tensor) {
  tensor.output(os);
  return os;
}

} // namespace poplar
