// Sparse weights of libraries.cpp.
#pragma once

#include <popsparse/FullyConnected.hpp>
#include <popsparse/SparsePartitioner.hpp>
#include <poputil/exceptions.hpp>

#include "libraries_fixture.h"

/// Two groups of weights [4, 6] with room for five blocks of {2, 3}, of which four are there.
inline void sparse(Libraries &n, const std::string &name, const Type &type) {
  using namespace popsparse::dynamic;
  const SparsityParams blocks(SparsityType::Block, SparsityStructure::Unstructured, {2, 3});
  const auto params = FullyConnectedParams::createWithNumNonZeroValues(blocks, 30, 3, 2, 6, 4);
  const SparseTensor weights = createFullyConnectedWeights(n.graph, type, params);
  std::vector<float> values(24);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i + 1) / 4;
  const Partitioner<float> partitioner(params, type, n.graph.getTarget(), {});
  const auto rows = partitioner.sparsityDataImplToCSRMatrix(partitioner.createSparsityDataImpl(
      popsparse::COOMatrix<float>(values, {3, 0, 3, 0}, {0, 2, 4, 6}, {2, 3})));
  const auto data = partitioner.createSparsityDataImpl(rows);
  const std::vector<unsigned short> meta(data.metaInfo.begin(), data.metaInfo.end());
  n.graph.setInitialValue(weights.getMetaInfoTensor(), ArrayRef<unsigned short>(meta));
  const Tensor nz = n.graph.addVariable(FLOAT, {30}, VariableMappingMethod::LINEAR);
  n.graph.setInitialValue(nz, ArrayRef<float>(data.nzValues));
  n.prog.add(popops::cast(n.graph, nz, weights.getNzValuesTensor()));
  const Tensor x = n.filled(name + "_x", {3, 12}, 19, type),
               dy = n.filled(name + "_dy", {3, 8}, 20, type);
  n.show(name + "_y", fullyConnectedFwd(n.graph, weights, x, params, n.prog));
  n.show(name + "_dx", fullyConnectedGradA(n.graph, weights, dy, params, n.prog));
  n.show(name + "_dw",
         fullyConnectedSparseGradW(n.graph, weights.getMetaInfoTensor(), dy, x, params, n.prog));
  try {
    partitioner.createSparsityDataImpl(popsparse::COOMatrix<float>({1}, {0}, {0}));
  } catch (const poputil::poplibs_error &e) {
    std::cout << e.what() << '\n';
  }
}
