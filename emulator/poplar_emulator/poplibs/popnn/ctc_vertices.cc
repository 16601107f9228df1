// The vertex of the CTC loss: forward and backward probabilities of one sample.
#include <cmath>
#include <vector>

#include <poplar/VertexIntrospector.hpp>

#include "codelets/conversion.h"
#include "ctc_logarithms.h"
#include "poplibs/popops/elementwise/array_vertices.h"

namespace poplar::emulator {
namespace {

using field::Span;

/// A sample: its labels with blanks before, between and after them, and its probabilities.
struct Sample {
  Type type;
  const Span &probabilities; // logarithms, [time, classes]
  std::size_t steps = 0, classes = 0;
  std::vector<std::uint32_t> path; // class by place

  double at(std::size_t t, std::size_t place) const { return of(t, path[place]); }
  double of(std::size_t t, std::size_t c) const {
    return numberAt(type, probabilities.first, t * classes + c);
  }
  /// Returns whether a path may skip the blank between this position and the last label.
  bool skips(std::size_t place) const { return place >= 2 && path[place] != path[place - 2]; }
};

/// The probability of the paths that arrive at a position: from itself, the previous one, or the
/// one before that.
double arriving(const std::vector<double> &before, const Sample &sample, std::size_t place) {
  double sum = before[place];
  if (place >= 1)
    sum = logAdd(sum, before[place - 1]);
  return sample.skips(place) ? logAdd(sum, before[place - 2]) : sum;
}
/// The probability of the paths that leave a position, including their remaining steps.
double leaving(const std::vector<double> &after, const Sample &sample, std::size_t place) {
  double sum = after[place];
  if (place + 1 < after.size())
    sum = logAdd(sum, after[place + 1]);
  return place + 2 < after.size() && sample.skips(place + 2) ? logAdd(sum, after[place + 2]) : sum;
}

/// `choice`: the blank. indices: steps, labels, and the labels. out: loss and gradient.
bool ctcLossCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const auto *indices = static_cast<const std::uint32_t *>(v.indices.first);
  const std::size_t most = v.indices.count - 2, places = 2 * most + 1;
  const std::size_t allSteps = v.inout.count / places;
  Sample sample{typeOf(v.type), row(v.rows, 0), indices[0], row(v.rows, 0).count / allSteps, {}};
  const Span &loss = row(v.out, 0), &gradient = row(v.out, 1);
  const auto all = [&](double value) {
    for (std::size_t i = 0; i < gradient.count; ++i)
      storeNumber(typeOf(v.outType), gradient.first, i, value);
  };
  bool fits = sample.steps >= 1 && sample.steps <= allSteps && indices[1] <= most;
  sample.path.push_back(v.choice);
  for (std::uint32_t i = 0; fits && i < indices[1]; ++i) {
    fits = indices[2 + i] < sample.classes && indices[2 + i] != v.choice;
    sample.path.push_back(indices[2 + i]);
    sample.path.push_back(v.choice);
  }
  if (!fits) {
    storeNumber(typeOf(v.outType), loss.first, 0, std::nan(""));
    all(std::nan(""));
    return true;
  }
  const std::size_t used = sample.path.size(), last = sample.steps - 1;
  std::vector<std::vector<double>> forward(sample.steps, std::vector<double>(used, kNever));
  for (std::size_t place = 0; place < std::min<std::size_t>(used, 2); ++place)
    forward[0][place] = sample.at(0, place);
  for (std::size_t t = 1; t <= last; ++t)
    for (std::size_t place = 0; place < used; ++place)
      forward[t][place] = arriving(forward[t - 1], sample, place) + sample.at(t, place);
  const double total = logAdd(forward[last][used - 1], used > 1 ? forward[last][used - 2] : kNever);
  storeNumber(typeOf(v.outType), loss.first, 0, -total);
  all(0);
  if (total == kNever)
    return true;
  std::vector<double> after(used, kNever), here(used);
  std::vector<double> shares(sample.classes);
  for (std::size_t t = last + 1; t-- > 0;) {
    for (std::size_t place = 0; place < used; ++place)
      here[place] = t == last ? (place + 2 >= used ? 0 : kNever) : leaving(after, sample, place);
    std::fill(shares.begin(), shares.end(), 0.0);
    for (std::size_t place = 0; place < used; ++place) {
      shares[sample.path[place]] += std::exp(forward[t][place] + here[place] - total);
      after[place] = here[place] + sample.at(t, place);
    }
    for (std::size_t c = 0; c < sample.classes; ++c)
      storeNumber(typeOf(v.outType), gradient.first, t * sample.classes + c,
                  std::exp(sample.of(t, c)) - shares[c]);
  }
  return true;
}

/// Each step forwards and backwards: the workers share the places, two additions of logarithms
/// each; then the classes, an exponential each. The published cycles of exp and log for one number
/// are 6 and 12 [C]; that they bound it, and 20 bundles to start a step, is inferred.
VertexPerfEstimate ctcLossCycles(const VertexIntrospector &v, const Target &target) {
  const std::uint64_t workers = target.getNumWorkerContexts();
  const std::uint64_t places = 2 * (v.getFieldInfo("indices").size() - 2) + 1;
  const std::uint64_t steps = v.getFieldInfo("inout").size() / places;
  const std::uint64_t classes = v.getFieldInfo("rows").getSizeAtIndex(0) / steps;
  const std::uint64_t logAddBundles = 6 + 12 + 3, expBundles = 6 + 1;
  const std::uint64_t pass = 11 + workers * (20 + ceilDivide(places, workers) * 2 * logAddBundles);
  const std::uint64_t shares = 11 + workers * (20 + ceilDivide(classes, workers) * expBundles);
  return steps * (2 * pass + shares);
}

} // namespace

std::vector<BuiltinVertex> ctcVertices() {
  return {arrayVertex("popnn", kCtcLoss, kRows | kIndices | kOutRows | kInOut, &ctcLossCompute,
                      &ctcLossCycles)};
}

} // namespace poplar::emulator
