#ifndef poplar_Vertex_hpp
#define poplar_Vertex_hpp

// [M] but for what PopLibs or public programs use: Poplar's headers are closed.

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <poplar/HalfFloat.hpp>
#include <poplar/VectorLayout.hpp>
#include <poplar/VertexFields.hpp>

// Attributes of classes and functions in codelets of PopLibs. A tile's alignment of code and its
// instrumentation are not emulated.
#ifndef WORKER_ALIGN
#define WORKER_ALIGN
#endif
#ifndef NO_INSTRUMENT
#define NO_INSTRUMENT
#endif

namespace poplar {

class VertexBase {};

/// One worker runs compute().
class Vertex : public VertexBase {};

/// All workers run compute(workerId), at the same time.
class MultiVertex : public VertexBase {
public:
  static constexpr unsigned numWorkers() { return 6; }
};

/// The supervisor runs compute().
class SupervisorVertex : public VertexBase {};

template <bool B> using SupervisorVertexIf = std::conditional_t<B, SupervisorVertex, Vertex>;

} // namespace poplar

#endif
