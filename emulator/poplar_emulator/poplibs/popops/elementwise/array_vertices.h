#ifndef IPULSE_POPLIBS_ARRAY_VERTICES_H
#define IPULSE_POPLIBS_ARRAY_VERTICES_H

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "codelets/builtin_vertices.h"

namespace poplar::emulator {

constexpr const char *kFill = "popops::Fill";
constexpr const char *kCount = "popops::Iota";
constexpr const char *kReduce = "popops::Reduce";
constexpr const char *kReduceUpdate = "popops::ReduceUpdate";
constexpr const char *kDynamicSlice = "popops::DynamicSlice";
constexpr const char *kDynamicUpdate = "popops::DynamicUpdate";
constexpr const char *kMultiSlice = "popops::MultiSlice";
constexpr const char *kMultiUpdate = "popops::MultiUpdate";
constexpr const char *kTopK = "popops::TopK";
constexpr const char *kCtcLoss = "popnn::CtcLoss";
constexpr const char *kCtcSearch = "popnn::CtcSearch";
constexpr const char *kRoiAlign = "popnn::RoiAlign";
constexpr const char *kRoiAlignGradient = "popnn::RoiAlignGradient";
constexpr const char *kMatMul = "poplin::MatMul";
constexpr const char *kSparseToDense = "popsparse::SparseToDense";
constexpr const char *kSparseGradient = "popsparse::SparseGradient";
constexpr const char *kSparseRowUpdate = "popsparse::SparseRowUpdate";
constexpr const char *kRandom = "poprand::Random";
constexpr const char *kRandomOfTile = "poprand::RandomOfTile";

enum class Distribution : unsigned {
  Uniform,
  Normal,
  Bernoulli,
  TruncatedNormal,
  LogUniform,
  Bits
};
enum class MultiUpdate : unsigned { Set, Add, Max, Mul };

/// The state of array vertices: they have the same fields and each uses some of them.
struct ArrayVertex {
  field::Span rows;    // Input
  field::Span scalar;  // Input
  field::Span indices; // Input, UNSIGNED_INT
  field::Span out;     // Output, or Output rows
  field::Span inout;   // InOut
  unsigned type;       // of the elements of rows, out and inout
  unsigned outType;
  unsigned choice; // operation, or what the vertex says
  float a, b;
};
enum Use : unsigned {
  kRows = 1,
  kScalar = 2,
  kIndices = 4,
  kOut = 8,
  kInOut = 16,
  kInOutRows = 32,
  kOutRows = 64
};

inline const ArrayVertex &asArray(void *state) { return *static_cast<const ArrayVertex *>(state); }
inline Type typeOf(unsigned id) { return Type(static_cast<Type::Id>(id)); }
inline const field::Span &row(const field::Span &rows, std::size_t i) {
  return static_cast<const field::Span *>(rows.first)[i];
}
inline std::uint64_t ceilDivide(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

BuiltinVertex arrayVertex(const char *library, const char *name, unsigned use,
                          bool (*compute)(void *, unsigned), PerfEstimateFunc cycles);

/// Returns the vertices of several files.
inline std::vector<BuiltinVertex> joined(std::initializer_list<std::vector<BuiltinVertex>> files) {
  std::vector<BuiltinVertex> all;
  for (const auto &vertices : files)
    all.insert(all.end(), vertices.begin(), vertices.end());
  return all;
}

// The vertices of each file.
std::vector<BuiltinVertex> mapVertices();
std::vector<BuiltinVertex> reduceVertices();
std::vector<BuiltinVertex> sliceVertices();
std::vector<BuiltinVertex> partVertices();
std::vector<BuiltinVertex> sortVertices();
std::vector<BuiltinVertex> matMulVertices();
std::vector<BuiltinVertex> randomVertices();
std::vector<BuiltinVertex> sparseVertices();
std::vector<BuiltinVertex> ctcVertices();
std::vector<BuiltinVertex> ctcSearchVertices();
std::vector<BuiltinVertex> roiAlignVertices();
std::vector<BuiltinVertex> classVertices();

} // namespace poplar::emulator

#endif
