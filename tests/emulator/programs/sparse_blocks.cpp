// Block-sparse products and softmax, and sparse embeddings: prints every tensor.
#include <popsparse/Embedding.hpp>
#include <popsparse/SparsePartitioner.hpp>
#include <popsparse/codelets.hpp>
#include <popsparse/experimental/BlockSparseMatMul.hpp>
#include <poputil/exceptions.hpp>

#include "network_fixture.h"

namespace {

using namespace popsparse::experimental;
using Mask = std::vector<unsigned char>;

// Two groups of 2 x 3 blocks.
const Mask kMask{1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0};
// Two groups of 2 x 3 blocks of {4, 2}, none of them above the diagonal. In the first group, rows 0
// and 1 have only elements above it.
const Mask kLower{0, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1};

/// [2 * 4, 4] by two groups of [4, 12] of which 3 blocks each are there, or their transpositions.
void denseBySparse(Network &n, const std::string &name, bool transposed) {
  const BSMatMulParams params({4, transposed ? 12 : 4, transposed ? 4 : 12},
                              {4, transposed ? 4 : 2, transposed ? 2 : 4}, kMask, transposed, FLOAT,
                              FLOAT, FLOAT, 2);
  const Tensor left = createBSMatMulInputLHS(n.graph, params, "left");
  const Tensor right = createBSMatMulInputRHS(n.graph, params, "right");
  n.filled(name + "_left", left, 1);
  n.filled(name + "_right", right, 2);
  n.show(name + "_product", bsMatMul(n.graph, params, n.prog, left, right));
}

void denseByDense(Network &n, const std::string &name, const BSMatMulParams &params) {
  const Tensor left = createBSMatMulInputLHS(n.graph, params, "left");
  const Tensor right = createBSMatMulInputRHS(n.graph, params, "right");
  n.filled(name + "_left", left, 3);
  n.filled(name + "_right", right, 4);
  n.show(name + "_product", bsMatMul(n.graph, params, n.prog, left, right));
}

void softmax(Network &n) {
  const Tensor in = n.filled("softmax_in", {7, 8}, 5);
  const Tensor out =
      bsSoftmax(n.graph, in, {8, 6}, {4, 2}, kLower, SubBlockMask::ZeroUpperTriangle, 2, n.prog);
  n.show("softmax_out", out);
  n.show("softmax_gradient", bsSoftmaxGrad(n.graph, out, n.filled("softmax_up", {7, 8}, 6), {16, 6},
                                           {4, 2}, kLower, n.prog));
  try {
    bsSoftmax(n.graph, in, {8, 6}, {4, 2}, kLower, SubBlockMask::ZeroLowerTriangle, 2, n.prog);
  } catch (const poputil::poplibs_error &e) {
    std::cerr << e.what() << '\n';
  }
}

/// A table of 6 rows and 8 columns with 3 blocks of 2 x 2.
void embedding(Network &n) {
  using namespace popsparse::dynamic;
  popsparse::addCodelets(n.graph);
  const SparsityParams sparsity(SparsityType::Block, SparsityStructure::Unstructured, {2, 2});
  const auto params = FullyConnectedParams::createWithNumNonZeroValues(sparsity, 12, 4, 1, 8, 6);
  const SparseTensor table = createFullyConnectedWeights(n.graph, FLOAT, params);
  const Partitioner<float> partitioner(params, FLOAT, n.graph.getTarget(), {});
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const auto data = partitioner.createSparsityDataImpl(
      popsparse::COOMatrix<float>(6, 8, values, {0, 4, 2}, {0, 2, 4}, {2, 2}));
  const std::vector<unsigned short> meta(data.metaInfo.begin(), data.metaInfo.end());
  n.graph.setInitialValue(table.getMetaInfoTensor(), ArrayRef<unsigned short>(meta));
  n.graph.setInitialValue(table.getNzValuesTensor(), ArrayRef<float>(data.nzValues));
  const Tensor rows = createIndicesTensor(n.graph, params, 4);
  n.graph.setInitialValue(rows, ArrayRef<unsigned>({3, 0, 4, 3}));
  n.show("embedding_slices", embeddingSlice(n.graph, table, rows, n.prog, params));
  const Tensor updates = createSliceTensor(n.graph, FLOAT, params, 4);
  n.filled("embedding_updates", updates, 7);
  const Tensor scale = n.graph.addConstant(FLOAT, {}, 0.5f);
  n.graph.setTileMapping(scale, 0);
  embeddingUpdateAdd(n.graph, table, updates, rows, scale, n.prog, params);
  const Tensor all = createIndicesTensor(n.graph, params, 6);
  n.graph.setInitialValue(all, ArrayRef<unsigned>({0, 1, 2, 3, 4, 5}));
  n.show("embedding_table", embeddingSlice(n.graph, table, all, n.prog, params));
}

} // namespace

int main() {
  Network n;
  denseBySparse(n, "right", false);
  denseBySparse(n, "transposed", true);
  denseByDense(n, "all",
               {{4, 5, 12}, {2, 5, 4}, kMask, FLOAT, FLOAT, FLOAT, SubBlockMask::None, 2});
  denseByDense(
      n, "lower",
      {{8, 5, 6}, {4, 5, 2}, kLower, FLOAT, FLOAT, FLOAT, SubBlockMask::ZeroUpperTriangle, 2});
  softmax(n);
  embedding(n);
  n.run();
}
