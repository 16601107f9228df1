// Between slots and dense rows: `op_name` is SparseToDense or DenseToSparse, each with its
// gradient. docs/reference/poplar_op.md lists their inputs, outputs and attributes.
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>

#include "api_level.h"
#include "exported_op.h"
#include "layout/rows.h"
#include "layout/slot_rows.h"
#include "words.h"

using lif::SlotRows;
using poplar::FLOAT;
using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;

namespace {

unsigned neuronsOf(const std::string &attributes) {
  return lif::Words(attributes, "ipulse-sparse-to-dense/1", {"neurons"}).whole("neurons");
}

} // namespace

extern "C" {

IPULSE_METADATA(SparseToDense)
IPULSE_METADATA(SparseToDense_grad)
IPULSE_METADATA(DenseToSparse)
IPULSE_METADATA(DenseToSparse_grad)

IPULSE_BUILD(SparseToDense) {
  const unsigned neurons = neuronsOf(attributes);
  lif::checkNumber("SparseToDense", inputs, 2, "ids, counts");
  const SlotRows slots(inputs[0], inputs[1]);
  const lif::Rows rows(graph, slots.rows());
  const Tensor dense = rows.variable(graph, neurons, "dense");
  outputs.push_back(dense.reshape({inputs[0].dim(0), inputs[0].dim(1), neurons}));
  return rows.execute(graph, poputil::templateVertex("ScatterOnes", inputs[0].elementType()),
                      {{"ids", slots.ids}, {"counts", slots.counts}, {"dense", dense}},
                      [&](lif::NewVertex &vertex) {
                        vertex.set("slots", slots.slots)
                            .set("countWidth", slots.countWidth)
                            .set("neurons", neurons);
                      });
}

IPULSE_GRADIENT(SparseToDense) {
  static_cast<void>(results);
  const unsigned neurons = neuronsOf(attributes);
  lif::needFloat("SparseToDense", inputs[0]);
  const SlotRows slots(inputs[0], inputs[1]);
  const lif::Rows rows(graph, slots.rows());
  const Tensor values = rows.variable(graph, slots.slots, "values");
  outputs.push_back(values.reshape(inputs[0].shape()));
  return rows.execute(graph, "GatherSlots",
                      {{"dense", gradients[0].flatten(0, 2)},
                       {"ids", slots.ids},
                       {"counts", slots.counts},
                       {"values", values}},
                      [&](lif::NewVertex &vertex) {
                        vertex.set("slots", slots.slots)
                            .set("countWidth", slots.countWidth)
                            .set("neurons", neurons);
                      });
}

IPULSE_BUILD(DenseToSparse) {
  const unsigned slots =
      lif::Words(attributes, "ipulse-dense-to-sparse/1", {"slots"}).whole("slots");
  lif::checkNumber("DenseToSparse", inputs, 1, "dense");
  if (inputs[0].rank() != 3 || inputs[0].elementType() != FLOAT)
    throw poputil::poplibs_error("DenseToSparse: dense must be float [time, batch, neurons]; got " +
                                 inputs[0].elementType().toString() + " " +
                                 inputs[0].shapeToString());
  const Tensor dense = inputs[0].flatten(0, 2);
  const lif::Rows rows(graph, dense.dim(0));
  const Tensor ids = rows.variable(graph, slots, "ids");
  const Tensor counts = rows.variable(graph, 1, "counts");
  const Tensor dropped = rows.variable(graph, 1, "dropped");
  const std::size_t steps = inputs[0].dim(0), batch = inputs[0].dim(1);
  outputs = {ids.reshape({steps, batch, slots}), counts.reshape({steps, batch}),
             dropped.reshape({steps, batch})};
  return rows.execute(
      graph, "ListOnes", {{"dense", dense}, {"ids", ids}, {"counts", counts}, {"dropped", dropped}},
      [&](lif::NewVertex &vertex) {
        vertex.set("slots", slots).set("neurons", static_cast<unsigned>(dense.dim(1)));
      });
}

IPULSE_GRADIENT(DenseToSparse) {
  static_cast<void>(attributes);
  const SlotRows slots(results[0], results[1]);
  Tensor dense;
  const auto neurons = static_cast<unsigned>(inputs[0].dim(2));
  Program program = lif::scatter(graph, slots, gradients[0].flatten(0, 2), nullptr, neurons, dense);
  outputs.push_back(dense.reshape(inputs[0].shape()));
  return program;
}

} // extern "C"
