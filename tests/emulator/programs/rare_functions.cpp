// QR factorisation, ROIAlign with its gradient, and the beam search of a CTC: prints every tensor.
#include <poplin/experimental/QRFactorization.hpp>
#include <popnn/CTCInference.hpp>
#include <popnn/experimental/ROIAlign.hpp>
#include <popops/Cast.hpp>
#include <poputil/TileMapping.hpp>

#include "network_fixture.h"

namespace {

/// A factorisation of a matrix with loops of `most` columns.
void factors(Network &n, const std::string &name, std::size_t rows, std::size_t columns,
             const std::string &most) {
  auto [a, q] = poplin::experimental::createQRFactorizationMatrices(n.graph, FLOAT, rows, columns,
                                                                    {"factors"});
  n.prog.add(Copy(n.filled(name + "_matrix", {rows, columns}, 3), a));
  std::vector<float> identity(rows * rows);
  for (std::size_t i = 0; i < rows; ++i)
    identity[i * (rows + 1)] = 1;
  n.graph.setInitialValue(q, ArrayRef<float>(identity));
  poplin::experimental::QRFactorization(n.graph, a, q, n.prog, "factors",
                                        {{"rowsPerIteration", most}});
  n.show(name + "_q", q);
  n.show(name + "_r", a);
}

void regions(Network &n, const std::string &name, bool aligned) {
  Tensor images = n.filled(name + "_images", {2, 3, 5, 6}, 1);
  const std::vector<float> boxes{1, 2, 9, 7, 0, 0, 3, 4, -2, 5, 14, 30, 4, 4, 4, 4, 1, 2, 9, 7};
  Tensor rois = n.graph.addVariable(FLOAT, {5, 4}, VariableMappingMethod::LINEAR, "rois");
  n.graph.setInitialValue(rois, ArrayRef<float>(boxes));
  Tensor of = n.graph.addVariable(INT, {5}, VariableMappingMethod::LINEAR, "of");
  n.graph.setInitialValue(of, ArrayRef<int>({1, 0, 1, 0, -1}));
  const popnn::experimental::roiAlignParams params(2, 3, 2, aligned, 0.5f);
  n.show(name + "_rois", rois);
  n.show(name + "_pooled",
         popnn::experimental::roiAlignFwd(n.graph, n.prog, images, rois, of, params));
  Tensor gradient = n.filled(name + "_gradient", {5, 3, 3, 2}, 2);
  n.show(name + "_image_gradient", popnn::experimental::roiAlignInputGradient(
                                       n.graph, n.prog, images, rois, of, gradient, params));
}

/// Of 4 steps and 3 classes: 100 beams are more than all labels.
void search(Network &n, const std::string &name, unsigned beams, unsigned paths) {
  const auto plan = popnn::ctc_infer::plan(n.graph, FLOAT, 2, 4, 3, beams);
  const Tensor logits = popnn::ctc_infer::createDataInput(n.graph, FLOAT, 2, 4, 3, plan);
  n.prog.add(Copy(n.filled(name + "_logits", {4, 2, 3}, 5), logits));
  const Tensor lengths = n.graph.addVariable(UNSIGNED_INT, {2}, VariableMappingMethod::LINEAR);
  n.graph.setInitialValue(lengths, ArrayRef<unsigned>({4, 3}));
  const auto [probabilities, sizes, labels] = popnn::ctc_infer::beamSearchDecoderLogits(
      n.graph, logits, lengths, n.prog, 1, beams, paths, plan);
  n.show(name + "_probabilities", probabilities);
  n.show(name + "_sizes", popops::cast(n.graph, sizes, FLOAT, n.prog));
  n.show(name + "_labels", popops::cast(n.graph, labels, FLOAT, n.prog));
}

} // namespace

int main() {
  Network n;
  factors(n, "tall", 7, 4, "3");
  factors(n, "square", 5, 5, "32");
  regions(n, "regions", false);
  regions(n, "aligned", true);
  search(n, "exhaustive", 100, 5);
  search(n, "narrow", 2, 2);
  try {
    factors(n, "refused", 2, 2, "3x");
  } catch (const poplar_error &e) {
    std::cerr << e.what() << '\n';
  }
  n.run();
}
