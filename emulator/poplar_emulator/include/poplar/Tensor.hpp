#ifndef poplar_Tensor_hpp
#define poplar_Tensor_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/Interval.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/Type.hpp>

namespace poplar {

namespace emulator {
class GraphState;
class View;
} // namespace emulator

enum class UpsampleMethod { REPEAT };

/// A range of one variable's elements.
struct VariableRef {
  unsigned id = 0;
};
struct VariableInterval {
  VariableRef var;
  Interval interval;
};

/// A view of elements of variables: every operation makes another view and moves no data.
class Tensor {
public:
  Tensor() = default;

  Type elementType() const { return type; }
  /// Sub-tensor i of dimension 0. Raises index_error if i is out of range.
  Tensor operator[](std::size_t i) const &;
  Tensor operator[](std::size_t i) &&;

  Tensor slice(std::size_t begin, std::size_t end, unsigned dimension = 0) const;
  Tensor slice(const Interval &region, unsigned dimension = 0) const;
  /// Slices the first dimensions; those without a range stay whole.
  Tensor slice(ArrayRef<std::size_t> begin, ArrayRef<std::size_t> end) const;
  std::vector<Tensor> slices(ArrayRef<Interval> intervals, unsigned dimension = 0) const;
  std::vector<Tensor> slices(const std::vector<std::vector<Interval>> &intervals,
                             unsigned dimension = 0) const;
  std::vector<Tensor> slices(ArrayRef<unsigned> indices, unsigned dimension = 0) const;
  /// Applies operator[] once for every index.
  Tensor index(ArrayRef<std::size_t> indices) const;

  Tensor flatten() const;
  Tensor flatten(unsigned dimBegin, unsigned dimEnd) const;
  Tensor reshape(ArrayRef<std::size_t> shape) const;
  Tensor reshapePartial(unsigned beginIndex, unsigned endIndex,
                        ArrayRef<std::size_t> newDims) const;
  Tensor expand(ArrayRef<std::size_t> indices) const;
  Tensor squeeze(ArrayRef<std::size_t> indices) const;
  Tensor dimShuffle(ArrayRef<unsigned> permutation) const;
  Tensor dimShufflePartial(ArrayRef<unsigned> source, ArrayRef<unsigned> destination) const;
  Tensor dimRoll(unsigned dimIdx, unsigned newIdx = 0) const;
  Tensor transpose() const;
  Tensor reverse(unsigned dimension) const;
  Tensor subSample(unsigned stride, unsigned dimension) const;
  Tensor upsample(unsigned scale, unsigned dimension, UpsampleMethod method) const;
  Tensor broadcast(unsigned n, unsigned dimension) const;
  Tensor reinterpret(const Type &type) const;

  std::size_t dim(unsigned i) const;
  const std::vector<std::size_t> &shape() const { return dims; }
  unsigned rank() const { return static_cast<unsigned>(dims.size()); }
  std::size_t numElements() const;
  bool isContiguous() const;
  bool containsAliases() const;
  bool containsConstant() const;
  bool isParallelWriteable() const;
  bool intersectsWith(const Tensor &other) const;
  /// The ranges of the flattened tensor that are contiguous in memory.
  const std::vector<Interval> getContiguousRegions() const;
  const std::vector<VariableInterval> getVarRegions() const;
  /// Returns whether this is a scalar constant, and writes its value to *val.
  template <typename T> bool getConstantValue(T *val) const {
    double value;
    if (!constantValue(&value))
      return false;
    *val = static_cast<T>(value);
    return true;
  }
  std::string shapeToString() const;
  std::string getDebugStr() const;
  void dump() const;
  void dumpRegions() const;
  void output(std::ostream &os) const;
  bool valid() const { return static_cast<bool>(elements); }
  bool operator==(const Tensor &o) const;
  bool operator!=(const Tensor &o) const { return !(*this == o); }

  // For internal use.
  Tensor(emulator::GraphState *graph, Type type, std::vector<std::size_t> shape,
         std::shared_ptr<const emulator::View> elements)
      : state(graph), type(type), dims(std::move(shape)), elements(std::move(elements)) {}
  emulator::GraphState *graph() const { return state; }
  /// Raises tensor_creation_error on a default-constructed tensor.
  const emulator::View &view() const;

private:
  bool constantValue(double *value) const;

  emulator::GraphState *state = nullptr;
  Type type;
  std::vector<std::size_t> dims;
  std::shared_ptr<const emulator::View> elements;
};

Tensor concat(ArrayRef<Tensor> ts, unsigned dimension = 0);
Tensor concat(const Tensor &first, const Tensor &second, unsigned dimension = 0);
/// Adds t2, which has one dimension less than t, at the end of `dimension` of t.
Tensor append(const Tensor &t, const Tensor &t2, unsigned dimension);
Tensor append(const Tensor &t, const Tensor &t2);
std::ostream &operator<<(std::ostream &os, const Tensor &tensor);

} // namespace poplar

#endif
