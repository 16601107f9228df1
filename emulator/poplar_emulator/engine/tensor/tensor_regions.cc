#include <poplar/Tensor.hpp>

#include <algorithm>
#include <tuple>

#include "graph/graph_state.h"
#include "view.h"

namespace poplar {

using emulator::Piece;
using emulator::Run;
using emulator::View;

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

} // namespace poplar
