#include <algorithm>
#include <numeric>

#include <poputil/VarStructure.hpp>
#include <poputil/exceptions.hpp>

namespace poputil {

using poplar::Graph;
using poplar::Tensor;
using Sizes = std::vector<std::size_t>;

namespace {

/// Returns the number of contiguous elements of `row`, [n], as a divisor of n.
unsigned pieceOf(const Graph &graph, const Tensor &row) {
  const auto regions = graph.getSortedContiguousRegions(row, {{0, row.numElements()}});
  std::size_t piece = row.numElements();
  for (const auto &pieces : regions)
    for (const poplar::Interval &i : pieces)
      piece = std::gcd(piece, std::gcd(i.begin(), i.end()));
  return static_cast<unsigned>(piece);
}

/// The parts of t from dimension d on.
void eachPart(const Tensor &t, const Sizes &parts, Sizes &place,
              const std::function<void(const Sizes &, const Tensor &)> &f) {
  const std::size_t d = place.size();
  if (d == t.rank())
    return f(place, t);
  const std::size_t size = t.dim(static_cast<unsigned>(d));
  const std::size_t each = (size + parts[d] - 1) / parts[d];
  for (std::size_t i = 0; i < parts[d]; ++i) {
    const std::size_t begin = std::min(i * each, size), end = std::min(begin + each, size);
    place.push_back(i);
    eachPart(t.slice(begin, end, static_cast<unsigned>(d)), parts, place, f);
    place.pop_back();
  }
}

void check(std::size_t rank, const Sizes &parts) {
  if (parts.size() != rank || std::count(parts.begin(), parts.end(), 0u))
    throw poplibs_error("a tensor in parts needs their number for each dimension");
}

} // namespace

std::vector<GroupingInfo> detectDimGroupings(const Graph &graph, const Tensor &t) {
  if (t.rank() == 0)
    throw poplibs_error("detectDimGroupings of a tensor of rank 0");
  std::vector<GroupingInfo> found;
  // The dimension of t of each dimension of `rest`, in which what was found has become the last.
  Tensor rest = t;
  std::vector<unsigned> of(t.rank());
  std::iota(of.begin(), of.end(), 0u);
  for (std::size_t inner = 1;;) {
    // Which dimension has the longest contiguous piece when it is moved last?
    unsigned best = 0, size = 1;
    for (unsigned d = 0; d < of.size(); ++d) {
      const Tensor tried = rest.dimRoll(d, static_cast<unsigned>(of.size()) - 1)
                               .flatten(static_cast<unsigned>(of.size()) - 1, rest.rank());
      const unsigned n = tried.numElements() == 0 ? 0 : detectInnermostGrouping(graph, tried);
      if (n % inner == 0 && n / inner > size) {
        best = d;
        size = static_cast<unsigned>(n / inner);
      }
    }
    if (size == 1)
      return found;
    found.emplace_back(of[best], size);
    // [.., n, .., inner] -> [.., n / size, .., size * inner]
    const std::size_t n = rest.dim(best);
    const unsigned last = static_cast<unsigned>(of.size());
    rest = rest.reshapePartial(best, best + 1, {n / size, size}).dimRoll(best + 1, last);
    inner *= size;
    rest = rest.flatten(last, rest.rank());
  }
}

unsigned detectInnermostGrouping(const Graph &graph, const Tensor &t) {
  if (t.rank() == 0 || t.numElements() == 0)
    throw poplibs_error("a grouping of a tensor of shape " + t.shapeToString());
  const unsigned last = t.rank() - 1;
  return pieceOf(graph, t.flatten().slice(0, t.dim(last)));
}

void iterateTensorPartitions(const Tensor &t, const Sizes &nPartitions,
                             const std::function<void(const Sizes &, const Tensor &)> &f) {
  check(t.rank(), nPartitions);
  Sizes place;
  eachPart(t, nPartitions, place, f);
}

Tensor createPartitionableTensor(Graph &graph, const poplar::Type &type, const Sizes &shape,
                                 const Sizes &nPartitions,
                                 const poplar::DebugContext &debugContext) {
  check(shape.size(), nPartitions);
  const std::function<Tensor(Sizes, std::size_t)> make = [&](Sizes part, std::size_t d) {
    if (d == shape.size())
      return graph.addVariable(type, part, debugContext);
    const std::size_t each = (shape[d] + nPartitions[d] - 1) / nPartitions[d];
    std::vector<Tensor> parts;
    for (std::size_t begin = 0; begin < shape[d]; begin += each) {
      part[d] = std::min(each, shape[d] - begin);
      parts.push_back(make(part, d + 1));
    }
    return parts.empty() ? graph.addVariable(type, shape, debugContext)
                         : poplar::concat(parts, static_cast<unsigned>(d));
  };
  return make(shape, 0);
}

} // namespace poputil
