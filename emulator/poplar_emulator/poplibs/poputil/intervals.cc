#include <algorithm>
#include <cmath>

#include <poplar/HalfFloat.hpp>
#include <poputil/Util.hpp>

namespace poputil {

using poplar::Interval;

void mergeAdjacentRegions(std::vector<Interval> &regions) {
  std::sort(regions.begin(), regions.end());
  std::vector<Interval> merged;
  for (const Interval &region : regions) {
    if (region.size() == 0)
      continue;
    if (!merged.empty() && merged.back().end() == region.begin())
      merged.back() = Interval(merged.back().begin(), region.end());
    else
      merged.push_back(region);
  }
  regions = std::move(merged);
}

void mergeAdjacentRegions(std::vector<std::vector<Interval>> &mapping) {
  for (std::vector<Interval> &regions : mapping)
    mergeAdjacentRegions(regions);
}

std::vector<Interval> calculateUnshufflingIntervals(const std::vector<Interval> &intervals) {
  std::vector<std::pair<std::size_t, Interval>> places; // of each interval, in the shuffled tensor
  std::size_t at = 0;
  for (const Interval &interval : intervals) {
    places.emplace_back(interval.begin(), Interval(at, at + interval.size()));
    at += interval.size();
  }
  std::sort(places.begin(), places.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<Interval> found;
  for (const auto &place : places)
    found.push_back(place.second);
  return found;
}

double castToDeviceHalfValue(const poplar::Target &, double input) {
  return poplar::half::toFloat(poplar::half::fromFloat(static_cast<float>(input)));
}

bool checkAccuracyWhenCast(const poplar::Target &target, double input, poplar::Type inputType,
                           poplar::Type outputType, double tolerance) {
  if (inputType == poplar::HALF && outputType == poplar::FLOAT)
    return true;
  if (inputType != poplar::FLOAT || outputType != poplar::HALF)
    throw poplibs_error("the accuracy of a cast from " + inputType.toString() + " to " +
                        outputType.toString() + ": only between half and float");
  const double exact = static_cast<float>(input);
  return std::abs(castToDeviceHalfValue(target, exact) - exact) < tolerance * std::abs(exact);
}

} // namespace poputil
