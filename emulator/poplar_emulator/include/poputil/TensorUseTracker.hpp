#ifndef poputil_TensorUseTracker_hpp
#define poputil_TensorUseTracker_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <memory>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Tensor.hpp>

namespace poputil {

struct TensorUseTrackerState;

/// Records which tiles use which elements, so that each element can be mapped to a tile that uses
/// it.
class TensorUseTracker {
public:
  enum class MappingMethod { None, ConstrainMappingToUsedTiles, OptimizeHaloRegions };

  explicit TensorUseTracker(unsigned numTiles);
  TensorUseTracker(const TensorUseTracker &other);
  TensorUseTracker(TensorUseTracker &&other) noexcept;
  TensorUseTracker &operator=(const TensorUseTracker &other);
  TensorUseTracker &operator=(TensorUseTracker &&other) noexcept;
  ~TensorUseTracker();

  /// Raises poplibs_error for an unknown tile.
  void add(const poplar::Graph &graph, unsigned tile, const poplar::Tensor &t);
  void add(TensorUseTracker other);
  bool empty() const;

  /// Maps elements that one tile uses to it, and divides those that several use among them, in
  /// grains. Unused elements are not mapped: extendPartialUsage raises poplibs_error, and the other
  /// methods except None behave like None.
  void mapTensorsByUse(poplar::Graph &graph, unsigned grainSize, unsigned minElementsPerTile,
                       bool extendPartialUsage = false,
                       MappingMethod mappingMethod = MappingMethod::None);

private:
  std::unique_ptr<TensorUseTrackerState> state;
};

} // namespace poputil

#endif
