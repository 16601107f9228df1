#include "slot_rows.h"

#include <algorithm>
#include <string>

#include <poputil/exceptions.hpp>

#include "rows.h"

namespace lif {

using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;

SlotRows::SlotRows(const Tensor &ids, const Tensor &counts) {
  if (ids.rank() != 3 || counts.rank() < 2 || counts.rank() > 3 || counts.dim(0) != ids.dim(0) ||
      counts.dim(1) != ids.dim(1) || (counts.rank() == 3 && counts.dim(2) != 2) ||
      ids.elementType() != counts.elementType())
    throw poputil::poplibs_error("ids must be [time, batch, slots] and counts [time, batch] or "
                                 "[time, batch, 2], of one type; got " +
                                 ids.shapeToString() + " and " + counts.shapeToString());
  this->ids = ids.flatten(0, 2);
  this->counts = counts.rank() == 2 ? counts.flatten().expand({1}) : counts.flatten(0, 2);
  slots = static_cast<unsigned>(ids.dim(2));
  countWidth = static_cast<unsigned>(this->counts.dim(1));
}

Program scatter(Graph &graph, const SlotRows &slots, const Tensor &values, const Tensor *factors,
                unsigned neurons, Tensor &dense) {
  const Rows rows(graph, slots.rows(), std::max<std::size_t>(slots.slots, neurons));
  dense = rows.variable(graph, neurons, "dense");
  return rows.execute(graph, "ScatterSlots",
                      {{"ids", slots.ids},
                       {"counts", slots.counts},
                       {"values", values},
                       {"factors", factors ? *factors : values},
                       {"dense", dense}},
                      [&](NewVertex &vertex) {
                        vertex.set("slots", slots.slots)
                            .set("countWidth", slots.countWidth)
                            .set("neurons", neurons)
                            .set("scaled", factors != nullptr);
                      });
}

void checkNumber(const char *op, const std::vector<Tensor> &inputs, std::size_t wanted,
                 const char *names) {
  if (inputs.size() != wanted)
    throw poputil::poplibs_error(std::string(op) + " takes " + std::to_string(wanted) +
                                 " inputs (" + names + "); got " + std::to_string(inputs.size()));
}

void needFloat(const char *op, const Tensor &t) {
  if (t.elementType() != FLOAT)
    throw poputil::poplibs_error(std::string(op) +
                                 ": a gradient has the type of its input, which "
                                 "must be float; got " +
                                 t.elementType().toString());
}

} // namespace lif
