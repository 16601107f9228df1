// Spikes as an op's inputs: ids [..., slots] and counts [...] or, spikes and filled slots,
// [..., 2], of whichever types; checked, and then read as integers.
#ifndef IPULSE_OPS_SPARSE_CHECKED_SPIKES_H
#define IPULSE_OPS_SPARSE_CHECKED_SPIKES_H

#include "rows.h"

#include <atomic>
#include <limits>
#include <vector>

namespace ipulse {

class CheckedSpikes {
public:
  // An error that names the first wrong place is left in the context.
  CheckedSpikes(OpKernelContext *c, const Tensor &ids, const Tensor &counts, int64_t neurons) {
    OP_REQUIRES(c, ids.dims() >= 2,
                errors::InvalidArgument("ids must be [..., slots] with at least one axis before "
                                        "the slots; got shape ",
                                        ids.shape().DebugString()));
    leading_ = leading_axes(ids);
    pair_ = counts.dims() == ids.dims();
    const TensorShape expected = pair_ ? with_axis(leading_, 2) : leading_;
    OP_REQUIRES(c, counts.shape() == expected,
                errors::InvalidArgument("counts must be ", leading_.DebugString(), " or ",
                                        with_axis(leading_, 2).DebugString(),
                                        " beside ids of shape ", ids.shape().DebugString(),
                                        "; got shape ", counts.shape().DebugString()));
    rows_ = leading_.num_elements();
    slots_ = last_axis(ids);
    counts_.resize(2 * rows_);
    if (counts.dtype() == tensorflow::DT_FLOAT)
      read_counts(c, counts, counts.flat<float>().data());
    else if (counts.dtype() == tensorflow::DT_INT64)
      read_counts(c, counts, counts.flat<tensorflow::int64>().data());
    else
      read_counts(c, counts, counts.flat<int32_t>().data());
    if (!c->status().ok())
      return;
    if (ids.dtype() == tensorflow::DT_FLOAT)
      read_ids(c, ids, ids.flat<float>().data(), neurons);
    else if (ids.dtype() == tensorflow::DT_UINT16)
      read_ids(c, ids, ids.flat<uint16_t>().data(), neurons);
    else if (ids.dtype() == tensorflow::DT_INT64)
      read_ids(c, ids, ids.flat<tensorflow::int64>().data(), neurons);
    else
      read_ids(c, ids, ids.flat<int32_t>().data(), neurons);
  }

  int64_t rows() const { return rows_; }
  int64_t slots() const { return slots_; }
  const TensorShape &leading() const { return leading_; }
  const int32_t *ids(int64_t row) const { return ids_.data() + row * slots_; }
  int32_t spikes(int64_t row) const { return counts_[2 * row]; }
  int32_t filled(int64_t row) const { return counts_[2 * row + 1]; }

private:
  template <typename Count>
  void read_counts(OpKernelContext *c, const Tensor &tensor, const Count *counts) {
    const int64_t each = pair_ ? 2 : 1;
    for (int64_t i = 0; i < rows_ * each; ++i) {
      auto count = counts[i];
      bool whole = count >= 0 && count <= slots_ && count == static_cast<int32_t>(count);
      OP_REQUIRES(c, whole,
                  errors::InvalidArgument("counts", place(tensor.shape(), i), " is ", count,
                                          "; it must be 0 to ", slots_, ", the slots"));
    }
    for (int64_t row = 0; row < rows_; ++row) {
      counts_[2 * row] = static_cast<int32_t>(counts[each * row]);
      counts_[2 * row + 1] = static_cast<int32_t>(counts[each * row + each - 1]);
      OP_REQUIRES(c, spikes(row) <= filled(row),
                  errors::InvalidArgument("counts", place(leading_, row),
                                          " must be (spikes, filled slots); got (", spikes(row),
                                          ", ", filled(row), ")"));
    }
  }

  template <typename Id>
  void read_ids(OpKernelContext *c, const Tensor &tensor, const Id *ids, int64_t neurons) {
    ids_.resize(rows_ * slots_);
    const int64_t none = std::numeric_limits<int64_t>::max();
    std::atomic<int64_t> first_wrong{none};
    in_parallel(c, rows_, 2 * slots_ + 10, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        for (int64_t i = row * slots_; i < row * slots_ + filled(row); ++i) {
          Id id = ids[i];
          bool right = id >= 0 && id < neurons && id == static_cast<Id>(static_cast<int32_t>(id));
          if (!right) {
            int64_t known = first_wrong.load();
            while (i < known && !first_wrong.compare_exchange_weak(known, i)) {
            }
            return;
          }
          ids_[i] = static_cast<int32_t>(id);
        }
    });
    int64_t wrong = first_wrong.load();
    OP_REQUIRES(c, wrong == none,
                errors::InvalidArgument("ids", place(tensor.shape(), wrong), " is ",
                                        ids[wrong == none ? 0 : wrong], "; it must be 0 to ",
                                        neurons - 1));
  }

  TensorShape leading_;
  bool pair_ = false;
  int64_t rows_ = 0, slots_ = 0;
  std::vector<int32_t> ids_, counts_;
};

// Shapes while tracing: `leading` is that of ids without its slots.
inline Status spikes_shape(InferenceContext *c, int ids_input, int counts_input,
                           ShapeHandle *leading) {
  ShapeHandle ids, counts;
  TF_RETURN_IF_ERROR(c->WithRankAtLeast(c->input(ids_input), 2, &ids));
  TF_RETURN_IF_ERROR(c->Subshape(ids, 0, -1, leading));
  counts = c->input(counts_input);
  if (!c->RankKnown(ids) || !c->RankKnown(counts))
    return Status();
  if (c->Rank(counts) == c->Rank(ids)) {
    DimensionHandle pair;
    TF_RETURN_IF_ERROR(c->WithValue(c->Dim(counts, -1), 2, &pair));
    TF_RETURN_IF_ERROR(c->Subshape(counts, 0, -1, &counts));
  }
  return c->Merge(*leading, counts, leading);
}

inline Status append_axis(InferenceContext *c, ShapeHandle leading, DimensionHandle size,
                          ShapeHandle *shape) {
  return c->Concatenate(leading, c->Vector(size), shape);
}

// Sets the shapes of the first two outputs: ids [..., slots], and their spikes and filled slots.
inline Status set_lists(InferenceContext *c, ShapeHandle leading, DimensionHandle slots) {
  ShapeHandle shape;
  TF_RETURN_IF_ERROR(append_axis(c, leading, slots, &shape));
  c->set_output(0, shape);
  TF_RETURN_IF_ERROR(append_axis(c, leading, c->MakeDim(2), &shape));
  c->set_output(1, shape);
  return Status();
}

} // namespace ipulse

#endif
