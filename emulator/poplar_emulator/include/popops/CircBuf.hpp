#ifndef popops_CircBuf_hpp
#define popops_CircBuf_hpp

// [M] Signatures are from memory: no source of them was at hand.

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// A circular buffer of `size` tensors of one shape.
class CircBuf {
public:
  CircBuf(poplar::Graph &graph, const poplar::Type &dataType, unsigned size,
          const std::vector<std::size_t> &shape, const poplar::DebugContext &debugContext = {});
  /// Returns a copy of the tensor added i steps ago. Raises poplibs_error unless i < size.
  poplar::Tensor prev(unsigned i, poplar::program::Sequence &seq,
                      const poplar::DebugContext &debugContext = {});
  /// Advances by one step and writes t there. Raises poplibs_error if t has another shape.
  void add(poplar::Tensor t, poplar::program::Sequence &seq,
           const poplar::DebugContext &debugContext = {});
  /// UNSIGNED_INT [1]: the index of the last write.
  poplar::Tensor getIndex() const { return index; }
  unsigned size() const { return length; }

private:
  poplar::Graph &graph;
  unsigned length;
  std::vector<std::size_t> shape;
  poplar::Tensor index;
  poplar::Tensor hist; // [size, elements]
};

} // namespace popops

#endif
