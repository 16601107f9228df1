#ifndef IPULSE_POPLIBS_RECURRENT_CELL_H
#define IPULSE_POPLIBS_RECURRENT_CELL_H

#include <cstdint>
#include <functional>
#include <vector>

#include <poplin/MatMul.hpp>
#include <popnn/NonLinearityDef.hpp>
#include <popnn/Rnn.hpp>
#include <popops/Expr.hpp>
#include <poputil/exceptions.hpp>

namespace popnn {

/// The common part of LSTM and GRU layers: products with all units at once, a loop over time, and
/// access to one step of a sequence [time, ...].
class RecurrentCell {
public:
  /// Raises poplibs_error if a gradient needs an activation's input.
  RecurrentCell(poplar::Graph &graph, const rnn::RnnParams &params, std::size_t units,
                const std::vector<NonLinearityType> &activations,
                const poplar::DebugContext &debugContext, const poplar::OptionFlags &options,
                poplin::PlanningCache *cache);

  std::size_t in, out, batch, steps, units;

  poplar::Tensor input() const;
  /// [batch, out]
  poplar::Tensor state(const char *name) const;
  /// [units, rows, out], laid out for products with [.., rows].
  poplar::Tensor weights(std::size_t rows, const char *name) const;
  poplar::Tensor biases(const std::vector<std::size_t> &shape) const;
  /// [time, count, batch, out]
  poplar::Tensor sequence(std::size_t count, const char *name) const;

  /// x [.., rows] times w [units, rows, out]: [units, .., out]
  poplar::Tensor product(const poplar::Tensor &x, const poplar::Tensor &w,
                         poplar::program::Sequence &prog) const;
  /// The gradient of x: that of its product, [units, .., out], times the weights transposed.
  poplar::Tensor inputGradient(const poplar::Tensor &dz, const poplar::Tensor &w,
                               poplar::program::Sequence &prog) const;
  /// The gradient of w.
  poplar::Tensor weightGradient(const poplar::Tensor &x, const poplar::Tensor &dz,
                                poplar::program::Sequence &prog) const;
  /// The sum of [units, .., out] over all but units and out.
  poplar::Tensor biasGradient(const poplar::Tensor &dz, poplar::program::Sequence &prog) const;

  /// Runs `body` for each step, from the last one on when reversed.
  void loop(bool reverse, poplar::program::Sequence &prog,
            const std::function<void(const poplar::Tensor &step, poplar::program::Sequence &)>
                &body) const;
  /// Step of [time, ...]: [...]
  poplar::Tensor read(const poplar::Tensor &sequence, const poplar::Tensor &step,
                      poplar::program::Sequence &prog) const;
  void write(const poplar::Tensor &sequence, const poplar::Tensor &value,
             const poplar::Tensor &step, poplar::program::Sequence &prog) const;
  /// Which samples have this step: BOOL [batch, 1]. No tensor when all have every step.
  poplar::Tensor active(const poplar::Tensor &step, poplar::program::Sequence &prog) const;
  /// The expression over ts, stored in ts[0] [.., batch, out], for the active samples.
  void update(const popops::expr::Expr &expr, std::vector<poplar::Tensor> ts,
              const poplar::Tensor &active, poplar::program::Sequence &prog) const;
  /// t [.., batch, out], with 0 for the samples that are not active.
  poplar::Tensor masked(const poplar::Tensor &t, const poplar::Tensor &active,
                        poplar::program::Sequence &prog) const;
  /// Copies a tensor that the loop changes.
  poplar::Tensor kept(const poplar::Tensor &initial, poplar::program::Sequence &prog) const;

private:
  poplar::Tensor matMul(const poplar::Tensor &a, const poplar::Tensor &b,
                        poplar::program::Sequence &prog) const;

  poplar::Graph &graph;
  const rnn::RnnParams &params;
  poplar::DebugContext debugContext;
  const poplar::OptionFlags &options;
  poplin::PlanningCache *cache;
};

/// Multiplications and additions of a layer's products, and of its elements: forwards, for the
/// gradient of what comes before it, and for that of the weights.
std::uint64_t forwardFlops(const rnn::RnnParams &params, std::size_t units);
std::uint64_t backwardFlops(const rnn::RnnParams &params, std::size_t units, bool ofInputs);
std::uint64_t weightFlops(const rnn::RnnParams &params, std::size_t units);

// Functions of a layer's parameters, LstmParams or GruParams:

template <typename Params> constexpr std::size_t unitsOf() {
  return static_cast<std::size_t>(decltype(Params::cellOrder)::value_type::NUM_UNITS);
}
template <typename Params>
RecurrentCell cellOf(poplar::Graph &graph, const Params &params, const poplar::DebugContext &dc,
                     const poplar::OptionFlags &options, poplin::PlanningCache *cache) {
  return {
      graph,   params.rnn, unitsOf<Params>(), {params.activation, params.recurrentActivation}, dc,
      options, cache};
}

/// t [units, ...] with the units at these places.
poplar::Tensor atPlaces(const poplar::Tensor &t, const std::vector<std::size_t> &places);

/// Units of the weights, [units, ...], in the order of their enumeration. Raises poplibs_error
/// unless the cell order has each once.
template <typename Params> poplar::Tensor inOrder(const poplar::Tensor &t, const Params &params) {
  const std::size_t missing = params.cellOrder.size();
  std::vector<std::size_t> places(unitsOf<Params>(), missing);
  for (std::size_t i = 0; i < missing; ++i)
    places.at(static_cast<std::size_t>(params.cellOrder[i])) = i;
  for (const std::size_t place : places)
    if (missing != places.size() || place == missing)
      throw poputil::poplibs_error("a recurrent layer: the cell order needs every unit once");
  return atPlaces(t, places);
}
/// The inverse.
template <typename Params>
poplar::Tensor inCellOrder(const poplar::Tensor &t, const Params &params) {
  std::vector<std::size_t> places;
  for (const auto unit : params.cellOrder)
    places.push_back(static_cast<std::size_t>(unit));
  return atPlaces(t, places);
}

} // namespace popnn

#endif
