#ifndef poputil_TensorUseTracker_hpp
#define poputil_TensorUseTracker_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <memory>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Tensor.hpp>

namespace poputil {

struct TensorUseTrackerState;

/// Which tile uses which elements, so that each element can lie where it is used.
class TensorUseTracker {
public:
  enum class MappingMethod { None, ConstrainMappingToUsedTiles, OptimizeHaloRegions };

  explicit TensorUseTracker(unsigned numTiles);
  TensorUseTracker(const TensorUseTracker &other);
  TensorUseTracker(TensorUseTracker &&other) noexcept;
  TensorUseTracker &operator=(const TensorUseTracker &other);
  TensorUseTracker &operator=(TensorUseTracker &&other) noexcept;
  ~TensorUseTracker();

  /// Raises poplibs_error for a tile that is none of the tracker's.
  void add(const poplar::Graph &graph, unsigned tile, const poplar::Tensor &t);
  void add(TensorUseTracker other);
  bool empty() const;

  /// Maps elements that one tile uses to it, and shares those that several use among them, in
  /// grains. Elements that nobody uses are not mapped: extendPartialUsage is refused with a
  /// poplibs_error, and the other methods than None map as None does.
  void mapTensorsByUse(poplar::Graph &graph, unsigned grainSize, unsigned minElementsPerTile,
                       bool extendPartialUsage = false,
                       MappingMethod mappingMethod = MappingMethod::None);

private:
  std::unique_ptr<TensorUseTrackerState> state;
};

} // namespace poputil

#endif
