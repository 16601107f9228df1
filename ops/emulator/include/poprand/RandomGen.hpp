#ifndef poprand_RandomGen_hpp
#define poprand_RandomGen_hpp

#include <cstdint>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poprand {

/// Random numbers laid out as `reference` is. They depend on the seed (UNSIGNED_INT [2]; without
/// one a fixed seed), on seedModifier and on the tiles of `reference`; a program that runs again
/// gets the same numbers from the same seed. They are not the numbers of the device.
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

} // namespace poprand

#endif
