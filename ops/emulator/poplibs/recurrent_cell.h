#ifndef IPULSE_POPLIBS_RECURRENT_CELL_H
#define IPULSE_POPLIBS_RECURRENT_CELL_H

#include <functional>
#include <string>
#include <vector>

#include <poplin/MatMul.hpp>
#include <popnn/NonLinearityDef.hpp>
#include <popnn/Rnn.hpp>

namespace popnn {

/// What LSTM and GRU layers have in common: products with all units at once, a loop over time, and
/// sequences [time, ...] of which a step is read or written.
class RecurrentCell {
public:
  /// Raises poplibs_error when time steps vary or a gradient needs an activation's input.
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
  /// A copy to be changed in a loop.
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

/// Where each unit of a cell is in the weights. Raises poplibs_error unless each is there once.
template <typename Unit>
std::vector<std::size_t> placesOf(const std::vector<Unit> &order, const char *layer) {
  std::vector<std::size_t> places(static_cast<std::size_t>(Unit::NUM_UNITS), order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    places.at(static_cast<std::size_t>(order[i])) = i;
  for (const std::size_t place : places)
    if (order.size() != places.size() || place == order.size())
      throw poputil::poplibs_error(std::string(layer) + ": the cell order needs every unit once");
  return places;
}

} // namespace popnn

#endif
