// An op's surrogate, of those of ipulse_ops/surrogate.h.
#ifndef IPULSE_OPS_SPARSE_SURROGATE_H
#define IPULSE_OPS_SPARSE_SURROGATE_H

#include "../../surrogate.h"
#include "rows.h"

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
    case 's':
      return superspike_at(slope_, x);
    case 'a':
      return arctan_at(slope_, x);
    case 'b':
      return boxcar_at(width_, x);
    case 'e':
      return exponential_at(slope_, x);
    default:
      return table_at(values_.data(), static_cast<int>(values_.size()), width_, x);
    }
  }

private:
  std::string kind_;
  float slope_, width_;
  std::vector<float> values_;
};

} // namespace ipulse

#endif
