// The types that shape functions need to compile. TensorFlow calls them while it traces; the
// stand-in does not.
#ifndef TESTS_STAND_IN_SHAPE_INFERENCE_H
#define TESTS_STAND_IN_SHAPE_INFERENCE_H

#include <cstdlib>
#include <vector>

#include "status.h"

namespace tensorflow {
namespace shape_inference {

struct DimensionHandle {};
struct ShapeHandle {};

struct Never {
  template <typename T> operator T() const { std::abort(); }
};

class InferenceContext {
public:
  ShapeHandle input(int) { return Never(); }
  Status input(const char *, std::vector<ShapeHandle> *) { return Never(); }
  void set_output(int, ShapeHandle) { std::abort(); }
  Status WithRank(ShapeHandle, int64_t, ShapeHandle *) { return Never(); }
  Status WithRankAtLeast(ShapeHandle, int64_t, ShapeHandle *) { return Never(); }
  Status WithRankAtMost(ShapeHandle, int64_t, ShapeHandle *) { return Never(); }
  Status WithValue(DimensionHandle, int64_t, DimensionHandle *) { return Never(); }
  Status Subshape(ShapeHandle, int64_t, int64_t, ShapeHandle *) { return Never(); }
  Status Merge(ShapeHandle, ShapeHandle, ShapeHandle *) { return Never(); }
  Status Concatenate(ShapeHandle, ShapeHandle, ShapeHandle *) { return Never(); }
  template <typename T> Status GetAttr(const char *, T *) { return Never(); }
  DimensionHandle Dim(ShapeHandle, int64_t) { return Never(); }
  DimensionHandle MakeDim(int64_t) { return Never(); }
  DimensionHandle UnknownDim() { return Never(); }
  ShapeHandle MakeShape(const std::vector<DimensionHandle> &) { return Never(); }
  ShapeHandle UnknownShapeOfRank(int64_t) { return Never(); }
  ShapeHandle Scalar() { return Never(); }
  ShapeHandle Vector(DimensionHandle) { return Never(); }
  ShapeHandle Matrix(DimensionHandle, DimensionHandle) { return Never(); }
  bool RankKnown(ShapeHandle) { return Never(); }
  int Rank(ShapeHandle) { return Never(); }
};

} // namespace shape_inference
} // namespace tensorflow

#endif
