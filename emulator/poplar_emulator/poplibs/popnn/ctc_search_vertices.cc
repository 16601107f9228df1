// The vertex of a CTC beam search: the labels of one sample.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <poplar/VertexIntrospector.hpp>

#include "codelets/conversion.h"
#include "ctc_logarithms.h"
#include "poplibs/popops/elementwise/array_vertices.h"

namespace poplar::emulator {
namespace {

using Labels = std::vector<std::uint32_t>;

constexpr double kLeast = -65504; // of a path that does not exist: the least half

/// Logarithmic probabilities of the paths that end in the blank, and of those that do not.
struct Ending {
  double blank = kNever, label = kNever;
  double all() const { return logAdd(blank, label); }
};
struct Beam {
  Labels labels;
  Ending ending;
};

/// The beams after a step, the most probable first.
std::vector<Beam> extended(const std::vector<Beam> &beams, const std::vector<double> &step,
                           std::uint32_t blank, std::size_t width) {
  std::map<Labels, Ending> next;
  for (const Beam &beam : beams) {
    Ending &same = next[beam.labels];
    same.blank = logAdd(same.blank, beam.ending.all() + step[blank]);
    if (!beam.labels.empty())
      same.label = logAdd(same.label, beam.ending.label + step[beam.labels.back()]);
    for (std::uint32_t c = 0; c < step.size(); ++c) {
      if (c == blank)
        continue;
      // A label repeats only after a blank.
      const bool repeats = !beam.labels.empty() && beam.labels.back() == c;
      Labels longer = beam.labels;
      longer.push_back(c);
      Ending &ending = next[longer];
      ending.label =
          logAdd(ending.label, (repeats ? beam.ending.blank : beam.ending.all()) + step[c]);
    }
  }
  std::vector<Beam> best;
  for (auto &[labels, ending] : next)
    best.push_back({labels, ending});
  std::stable_sort(best.begin(), best.end(),
                   [](const Beam &a, const Beam &b) { return a.ending.all() > b.ending.all(); });
  best.resize(std::min(best.size(), width));
  return best;
}

/// `choice`: beams. indices: steps, blank. out: probabilities, lengths, labels.
bool ctcSearchCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const auto *indices = static_cast<const std::uint32_t *>(v.indices.first);
  const std::size_t paths = row(v.out, 0).count, most = row(v.out, 2).count / paths;
  auto *lengths = static_cast<std::uint32_t *>(const_cast<void *>(row(v.out, 1).first));
  auto *labels = static_cast<std::uint32_t *>(const_cast<void *>(row(v.out, 2).first));
  const bool fits = indices[0] <= most;
  std::vector<Beam> beams{{{}, {0, kNever}}};
  std::vector<double> step(row(v.rows, 0).count / most);
  for (std::size_t t = 0; fits && t < indices[0]; ++t) {
    for (std::size_t c = 0; c < step.size(); ++c)
      step[c] = numberAt(typeOf(v.type), row(v.rows, 0).first, t * step.size() + c);
    beams = extended(beams, step, indices[1], v.choice);
  }
  std::fill(labels, labels + paths * most, 0U);
  for (std::size_t path = 0; path < paths; ++path) {
    const Beam beam = path < beams.size() ? beams[path] : Beam{};
    storeNumber(typeOf(v.outType), row(v.out, 0).first, path,
                fits ? std::max(beam.ending.all(), kLeast) : std::nan(""));
    lengths[path] = static_cast<std::uint32_t>(beam.labels.size());
    std::copy(beam.labels.begin(), beam.labels.end(), labels + path * most);
  }
  return true;
}

/// Each step: the workers share the candidates, two additions of logarithms each, and a comparison
/// for each beam. The published cycles of exp and log for one number are 6 and 12 [C]; that they
/// bound it, and 20 bundles to start a step, is inferred.
VertexPerfEstimate ctcSearchCycles(const VertexIntrospector &v, const Target &target) {
  const std::uint64_t workers = target.getNumWorkerContexts();
  const std::uint64_t beams = v.getFieldInfo("choice").getInitialValue<unsigned>(target);
  const auto out = v.getFieldInfo("out");
  const std::uint64_t steps = out.getSizeAtIndex(2) / out.getSizeAtIndex(0);
  const std::uint64_t classes = v.getFieldInfo("rows").getSizeAtIndex(0) / steps;
  const std::uint64_t logAddBundles = 6 + 12 + 3, share = ceilDivide(beams * classes, workers);
  return steps * (11 + workers * (20 + share * (2 * logAddBundles + 2 * beams)));
}

} // namespace

std::vector<BuiltinVertex> ctcSearchVertices() {
  return {arrayVertex("popnn", kCtcSearch, kRows | kIndices | kOutRows, &ctcSearchCompute,
                      &ctcSearchCycles)};
}

} // namespace poplar::emulator
