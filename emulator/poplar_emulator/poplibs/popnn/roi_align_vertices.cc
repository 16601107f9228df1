// The vertices of ROIAlign: bilinear samples of a region, and their gradient.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <poplar/VertexIntrospector.hpp>

#include "codelets/conversion.h"
#include "poplibs/popops/elementwise/array_vertices.h"

namespace poplar::emulator {
namespace {

struct Sizes {
  std::uint32_t height, width, outHeight, outWidth, samples, aligned;
};

/// The two elements next to a place on an axis, and the share of the second one.
struct Neighbours {
  std::uint32_t low, high;
  double share;
};
Neighbours neighbours(double place, std::uint32_t count) {
  const double inside = std::clamp(place, 0.0, static_cast<double>(count - 1));
  const auto low = static_cast<std::uint32_t>(inside);
  return {low, std::min(low + 1, count - 1), inside - low};
}

/// Calls `visit` with the element of the result, an element of the image and its share, for each of
/// the four elements around each sample. Samples beyond the image's lower and right edge count as
/// 0.
void visitSamples(const Sizes &s, const double region[4], double scale,
                  const std::function<void(std::size_t, std::size_t, double)> &visit) {
  const double shift = s.aligned ? 0.5 : 0.0, least = s.aligned ? 0.0 : 1.0;
  const double left = region[0] * scale - shift, top = region[1] * scale - shift;
  const double binWidth = std::max(region[2] * scale - shift - left, least) / s.outWidth;
  const double binHeight = std::max(region[3] * scale - shift - top, least) / s.outHeight;
  const double mean = 1.0 / (static_cast<double>(s.samples) * s.samples);
  for (std::uint32_t row = 0; row < s.outHeight * s.samples; ++row) {
    const double y = top + (row + 0.5) * binHeight / s.samples;
    for (std::uint32_t column = 0; column < s.outWidth * s.samples; ++column) {
      const double x = left + (column + 0.5) * binWidth / s.samples;
      if (!(y <= s.height && x <= s.width))
        continue;
      const Neighbours down = neighbours(y, s.height), along = neighbours(x, s.width);
      const std::size_t out = std::size_t{row / s.samples} * s.outWidth + column / s.samples;
      const auto corner = [&](std::uint32_t i, std::uint32_t j, double share) {
        visit(out, std::size_t{i} * s.width + j, share * mean);
      };
      corner(down.low, along.low, (1 - down.share) * (1 - along.share));
      corner(down.low, along.high, (1 - down.share) * along.share);
      corner(down.high, along.low, down.share * (1 - along.share));
      corner(down.high, along.high, down.share * along.share);
    }
  }
}

const Sizes &sizesOf(const ArrayVertex &v) { return *static_cast<const Sizes *>(v.indices.first); }

/// rows: the images, and the region. scalar: the region's image. indices: Sizes. a: the scale.
bool roiAlignCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const Type type = typeOf(v.type);
  const field::Span &box = row(v.rows, v.rows.count - 1);
  const std::uint32_t image = *static_cast<const std::uint32_t *>(v.scalar.first);
  const bool fits = image < v.rows.count - 1;
  std::vector<double> sums(v.out.count, fits ? 0.0 : std::nan(""));
  double region[4];
  for (std::size_t i = 0; i < 4; ++i)
    region[i] = numberAt(type, box.first, i);
  if (fits)
    visitSamples(sizesOf(v), region, v.a, [&](std::size_t out, std::size_t in, double share) {
      sums[out] += share * numberAt(type, row(v.rows, image).first, in);
    });
  for (std::size_t i = 0; i < sums.size(); ++i)
    storeNumber(type, v.out.first, i, sums[i]);
  return true;
}

/// rows: the regions, the gradients of a channel, and the image of each region. out: the images.
bool roiAlignGradientCompute(void *state, unsigned) {
  const ArrayVertex &v = asArray(state);
  const Type type = typeOf(v.type);
  const Sizes &sizes = sizesOf(v);
  const auto *imageOf = static_cast<const std::uint32_t *>(row(v.rows, 2).first);
  std::vector<std::vector<double>> sums(v.out.count, std::vector<double>(row(v.out, 0).count, 0.0));
  const std::size_t regions = row(v.rows, 2).count;
  const std::size_t elements = row(v.rows, 1).count / std::max<std::size_t>(regions, 1);
  for (std::size_t r = 0; r < regions; ++r) {
    if (imageOf[r] >= v.out.count)
      continue;
    double region[4];
    for (std::size_t i = 0; i < 4; ++i)
      region[i] = numberAt(type, row(v.rows, 0).first, 4 * r + i);
    visitSamples(sizes, region, v.a, [&](std::size_t out, std::size_t in, double share) {
      sums[imageOf[r]][in] += share * numberAt(type, row(v.rows, 1).first, r * elements + out);
    });
  }
  for (std::size_t image = 0; image < v.out.count; ++image)
    for (std::size_t i = 0; i < sums[image].size(); ++i)
      storeNumber(type, row(v.out, image).first, i, sums[image][i]);
  return true;
}

/// The workers share the samples; 40 bundles for the place and the four products of one: inferred.
VertexPerfEstimate samplesCycles(std::uint64_t elements, const Target &target) {
  const std::uint64_t workers = target.getNumWorkerContexts();
  return 11 + workers * (30 + ceilDivide(elements, workers) * 40);
}
VertexPerfEstimate roiAlignCycles(const VertexIntrospector &v, const Target &target) {
  return samplesCycles(v.getFieldInfo("out").size() * 4, target);
}
VertexPerfEstimate roiAlignGradientCycles(const VertexIntrospector &v, const Target &target) {
  const std::uint64_t zeros =
      v.getFieldInfo("out").size() * v.getFieldInfo("out").getSizeAtIndex(0);
  return samplesCycles(v.getFieldInfo("rows").getSizeAtIndex(1) * 4 + zeros / 40, target);
}

} // namespace

std::vector<BuiltinVertex> roiAlignVertices() {
  return {arrayVertex("popnn", kRoiAlign, kRows | kScalar | kIndices | kOut, &roiAlignCompute,
                      &roiAlignCycles),
          arrayVertex("popnn", kRoiAlignGradient, kRows | kIndices | kOutRows,
                      &roiAlignGradientCompute, &roiAlignGradientCycles)};
}

} // namespace poplar::emulator
