#ifndef poprand_RandomGen_hpp
#define poprand_RandomGen_hpp

#include <cstdint>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poputil/exceptions.hpp>

namespace poprand {

/// Random numbers laid out like `reference`. They depend on the seed (UNSIGNED_INT [2]), on
/// seedModifier and on the tiles of `reference`; a program that runs again with the same seed gets
/// the same numbers. Without a seed each tile has a generator with a state that continues from run
/// to run; see setSeed. The numbers differ from the device's.
poplar::Tensor uniform(poplar::Graph &graph, const poplar::Tensor *seed, std::uint32_t seedModifier,
                       const poplar::Tensor &reference, const poplar::Type &outType, double minVal,
                       double maxVal, poplar::program::Sequence &prog,
                       const poplar::DebugContext &debugContext = {});
poplar::Tensor normal(poplar::Graph &graph, const poplar::Tensor *seed, std::uint32_t seedModifier,
                      const poplar::Tensor &reference, const poplar::Type &outType, double mean,
                      double stdDev, poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext = {});
poplar::Tensor bernoulli(poplar::Graph &graph, const poplar::Tensor *seed,
                         std::uint32_t seedModifier, const poplar::Tensor &reference,
                         const poplar::Type &outType, double prob, poplar::program::Sequence &prog,
                         const poplar::DebugContext &debugContext = {});

/// Within alpha standard deviations of the mean. Raises poplibs_error for an alpha below 1.
poplar::Tensor truncatedNormal(poplar::Graph &graph, const poplar::Tensor *seed,
                               std::uint32_t seedModifier, const poplar::Tensor &reference,
                               const poplar::Type &outType, double mean, double stdDev,
                               double alpha, poplar::program::Sequence &prog,
                               const poplar::DebugContext &debugContext = {});
/// Log-uniform, between two positive bounds.
poplar::Tensor logUniform(poplar::Graph &graph, const poplar::Tensor *seed,
                          std::uint32_t seedModifier, const poplar::Tensor &reference,
                          const poplar::Type &outType, double minVal, double maxVal,
                          poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {});
/// input times scale with probability keepProbability, else 0.
poplar::Tensor dropout(poplar::Graph &graph, const poplar::Tensor *seed, std::uint32_t seedModifier,
                       const poplar::Tensor &input, const poplar::Tensor &reference,
                       double keepProbability, double scale, poplar::program::Sequence &prog,
                       const poplar::DebugContext &debugContext = {});
/// The same for whole rows: `reference` is broadcast to the input.
poplar::Tensor shapedDropout(poplar::Graph &graph, const poplar::Tensor *seed,
                             std::uint32_t seedModifier, const poplar::Tensor &input,
                             const poplar::Tensor &reference, double keepProbability, double scale,
                             poplar::program::Sequence &prog,
                             const poplar::DebugContext &debugContext = {});
/// Sets the generators of all tiles.
void setSeed(poplar::Graph &graph, const poplar::Tensor &masterSeed, std::uint32_t seedModifier,
             poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});
/// The generators of all tiles, [tiles, 4]; the emulator uses the first two words.
poplar::Tensor getHwSeeds(poplar::Graph &graph, poplar::program::Sequence &prog,
                          const poplar::DebugContext &debugContext = {});
void setHwSeeds(poplar::Graph &graph, const poplar::Tensor &seeds, poplar::program::Sequence &prog,
                const poplar::DebugContext &debugContext = {});

} // namespace poprand

#endif
