// The surrogates of ../surrogate.py in float32.
#ifndef IPULSE_OPS_SPARSE_SURROGATE_H
#define IPULSE_OPS_SPARSE_SURROGATE_H

#include "rows.h"

#include <algorithm>
#include <cmath>
#include <vector>

#define SURROGATE_ATTRIBUTES                                                                       \
  Attr("surrogate: {'superspike', 'arctan', 'boxcar', 'exponential', 'table'}")                    \
      .Attr("slope: float")                                                                        \
      .Attr("width: float")                                                                        \
      .Attr("values: list(float)")

namespace ipulse {

class Surrogate {
public:
  explicit Surrogate(OpKernelConstruction *c) {
    OP_REQUIRES_OK(c, c->GetAttr("surrogate", &kind_));
    OP_REQUIRES_OK(c, c->GetAttr("slope", &slope_));
    OP_REQUIRES_OK(c, c->GetAttr("width", &width_));
    OP_REQUIRES_OK(c, c->GetAttr("values", &values_));
    OP_REQUIRES(c, kind_ != "table" || values_.size() >= 2,
                errors::InvalidArgument("a table needs at least 2 values; got ", values_.size()));
  }

  float operator()(float x) const {
    switch (kind_[0]) {
    case 's': {
      float denominator = slope_ * std::fabs(x) + 1;
      return 1 / (denominator * denominator);
    }
    case 'a':
      return 1 / ((slope_ * x) * (slope_ * x) + 1);
    case 'b':
      return std::fabs(x) < width_ ? 1.0F : 0.0F;
    case 'e':
      return std::exp(-slope_ * std::fabs(x));
    default:
      return at(x);
    }
  }

private:
  float at(float x) const {
    if (!(std::fabs(x) <= width_))
      return 0;
    auto intervals = static_cast<int64_t>(values_.size()) - 1;
    float p = (x + width_) * (static_cast<float>(intervals) / (2 * width_));
    int64_t k = std::min(static_cast<int64_t>(p), intervals - 1);
    return values_[k] + (p - static_cast<float>(k)) * (values_[k + 1] - values_[k]);
  }

  std::string kind_;
  float slope_, width_;
  std::vector<float> values_;
};

} // namespace ipulse

#endif
