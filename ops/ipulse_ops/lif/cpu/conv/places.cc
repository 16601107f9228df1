#include "places.h"

#include <map>
#include <utility>

namespace lif {
namespace {

// Indices with equal shapes, by shape.
template <class ShapeOf> auto alike(int32_t count, ShapeOf shape_of) {
  std::map<decltype(shape_of(0)), std::vector<int32_t>> found;
  for (int32_t i = 0; i < count; ++i)
    found[shape_of(i)].push_back(i);
  return found;
}

} // namespace

ConvPlaceGroups::ConvPlaceGroups(const ConvLayer &layer, const ConvPlan &plan,
                                 const std::vector<float> &packed)
    : places_(int64_t(layer.height) * layer.width),
      width_((layer.channels + CONV_LANES - 1) / CONV_LANES * CONV_LANES), columns_(layer.width) {
  const ConvTables &tables = plan.tables();
  for (int32_t id = 0; id < plan.inputs(); ++id) {
    const ConvSite &site = tables.site[id];
    index_of_.push_back(static_cast<int32_t>((int64_t(site.y) * columns_ + site.x) * width_ +
                                             site.row / layer.kernel_height));
  }
  // Rows of outputs that a row reaches, and runs that a column reaches, seen from the first one.
  auto rows = alike(layer.height, [&](int32_t y) {
    std::vector<std::pair<int32_t, int32_t>> shape;
    for (int32_t r = tables.first_row[y]; r < tables.first_row[y + 1]; ++r)
      shape.emplace_back(tables.row[r].target - tables.row[tables.first_row[y]].target,
                         tables.row[r].tap);
    return shape;
  });
  auto columns = alike(layer.width, [&](int32_t x) {
    std::vector<std::vector<int32_t>> shape;
    for (int32_t r = tables.first_run[x]; r < tables.first_run[x + 1]; ++r) {
      const ConvRun &run = tables.run[r];
      shape.push_back({run.target - tables.run[tables.first_run[x]].target, run.weights, run.stride,
                       run.floats});
    }
    return shape;
  });
  for (const auto &ys : rows)
    for (const auto &xs : columns)
      add_group(plan, ys.second, xs.second);
  weights_ = plan.transposed(packed, width_);
}

void ConvPlaceGroups::add_group(const ConvPlan &plan, const std::vector<int32_t> &ys,
                                const std::vector<int32_t> &xs) {
  const ConvTables &tables = plan.tables();
  auto group = std::make_unique<Group>();
  const int32_t first_row = tables.first_row[ys[0]], first_run = tables.first_run[xs[0]];
  const int32_t rows = tables.first_row[ys[0] + 1] - first_row,
                runs = tables.first_run[xs[0] + 1] - first_run;
  const bool reaches = rows && runs;
  for (int32_t y : ys)
    for (int32_t x : xs) {
      group->place.push_back(y * columns_ + x);
      group->first.push_back(reaches ? tables.row[tables.first_row[y]].target +
                                           tables.run[tables.first_run[x]].target
                                     : 0);
    }
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t k = 0; k < runs; ++k) {
      const ConvRow &row = tables.row[first_row + r];
      const ConvRun &run = tables.run[first_run + k];
      group->segments.push_back(
          {row.target - tables.row[first_row].target + run.target - tables.run[first_run].target,
           run.floats, plan.row_of(run.weights) + int64_t(row.tap) * run.stride});
    }
  groups_.push_back({group->first.data(), group->place.data(),
                     static_cast<int32_t>(group->place.size()), group->segments.data(),
                     static_cast<int32_t>(group->segments.size())});
  stored_.push_back(std::move(group));
}

} // namespace lif
