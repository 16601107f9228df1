#ifndef popops_ScaledAdd_hpp
#define popops_ScaledAdd_hpp

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// X_MINUS_AX_PLUS_BY: A = A - scaleA * A + scaleB * B. [M]
enum class ScaledAddSpecialisation { DEFAULT, X_MINUS_AX_PLUS_BY };

#define POPOPS_SCALED_ADD(SCALE)                                                                   \
  /** A += scaleB * B */                                                                           \
  void scaledAddTo(poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B, SCALE scaleB,         \
                   poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
                   const poplar::OptionFlags &options = {});                                       \
  /** A = scaleA * A + scaleB * B */                                                               \
  void scaledAddTo(poplar::Graph &graph, poplar::Tensor A, SCALE scaleA, poplar::Tensor B,         \
                   SCALE scaleB, poplar::program::Sequence &prog,                                  \
                   const poplar::DebugContext &debugContext = {},                                  \
                   const poplar::OptionFlags &options = {});                                       \
  /** [M] the form with a specialisation */                                                        \
  void scaledAddTo(                                                                                \
      poplar::Graph &graph, poplar::Tensor A, SCALE scaleA, poplar::Tensor B, SCALE scaleB,        \
      poplar::program::Sequence &prog, const ScaledAddSpecialisation speciality,                   \
      const poplar::DebugContext &debugContext = {}, const poplar::OptionFlags &options = {});     \
  /** A -= scaleB * B */                                                                           \
  void scaledSubtractFrom(poplar::Graph &graph, poplar::Tensor A, poplar::Tensor B, SCALE scaleB,  \
                          poplar::program::Sequence &prog,                                         \
                          const poplar::DebugContext &debugContext = {},                           \
                          const poplar::OptionFlags &options = {});                                \
  /** A = scaleA * A - scaleB * B [M] */                                                           \
  void scaledSubtractFrom(poplar::Graph &graph, poplar::Tensor A, SCALE scaleA, poplar::Tensor B,  \
                          SCALE scaleB, poplar::program::Sequence &prog,                           \
                          const poplar::DebugContext &debugContext = {},                           \
                          const poplar::OptionFlags &options = {});
POPOPS_SCALED_ADD(float)
POPOPS_SCALED_ADD(poplar::Tensor)
#undef POPOPS_SCALED_ADD

} // namespace popops

#endif
