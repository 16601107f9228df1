// Codelets with the compiler's vectors.
#include <ipudef.h>
#include <poplar/Vertex.hpp>

using namespace poplar;

// Lists without a type for vectors, which clang takes where g++ does not, and clang's functions.
template <typename V> V twice(V v) { return {v[0] * 2, v[1] * 2}; }
class TypelessLists : public Vertex {
public:
  Output<Vector<float, VectorLayout::SPAN, 8>> out;
  Output<unsigned> bits;
  unsigned word;
  inline static constexpr unsigned kShift = 24;
  const static unsigned kTurn = 31;
  bool compute() {
    typedef uint32_t pair __attribute__((vector_size(2 * sizeof(uint32_t))));
    pair words;
    words = {word, word + 1};
    auto *vectors = reinterpret_cast<float2 *>(&out[0]);
    vectors[0] = {1.5f, static_cast<float>(words[1])};
    vectors[1] = twice<float2>({3.0f, vectors[0][1]});
    *bits = (__builtin_bitreverse32(words[0]) ^ __builtin_rotateleft32(words[1], kTurn)) >> kShift;
    return true;
  }
};
