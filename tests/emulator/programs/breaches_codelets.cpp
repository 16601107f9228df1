// Vertices that break a rule of a tile: breaches.cpp runs each. `n` is 0, `one` 1, `far` -1, so
// that no compiler knows them.
#include <climits>
#include <cstdint>
#include <ipudef.h>
#include <poplar/StackSizeDefs.hpp>
#include <poplar/Vertex.hpp>
#include <vector>

using namespace poplar;

#define FLOATS(NAME, ...)                                                                          \
  struct NAME : public Vertex {                                                                    \
    Input<Vector<float>> in;                                                                       \
    Output<Vector<float>> out;                                                                     \
    int n, one, least;                                                                             \
    bool compute() {                                                                               \
      const float *const from = &in[0];                                                            \
      float *const to = &out[0];                                                                   \
      static_cast<void>(from), static_cast<void>(to);                                              \
      __VA_ARGS__;                                                                                 \
      return true;                                                                                 \
    }                                                                                              \
  };
#define WORKERS(NAME, TYPE, ...)                                                                   \
  struct NAME : public MultiVertex {                                                               \
    Output<Vector<TYPE>> out;                                                                      \
    unsigned n;                                                                                    \
    bool compute(unsigned worker) {                                                                \
      __VA_ARGS__;                                                                                 \
      return true;                                                                                 \
    }                                                                                              \
  };
#define MANY(NAME, TYPE)                                                                           \
  struct NAME : public Vertex {                                                                    \
    Output<Vector<TYPE>> out;                                                                      \
    bool compute() {                                                                               \
      for (unsigned i = 0; i < out.size(); ++i)                                                    \
        out[i] = 1;                                                                                \
      return true;                                                                                 \
    }                                                                                              \
  };

// Places.
FLOATS(Nothing, to[0] = from[5])
FLOATS(ReadBehind, to[0] = from[6])
FLOATS(ReadFar, to[0] = from[1000])
FLOATS(ReadBefore, to[0] = from[n - one])
FLOATS(WriteBehind, to[6] = 1)
FLOATS(WriteFar, to[5000] = 1)
FLOATS(WriteBefore, to[n - one] = 1)
FLOATS(WriteInput, const_cast<float *>(from)[0] = 1)
FLOATS(WriteZero, *reinterpret_cast<int *>(std::intptr_t(n)) = 1)
FLOATS(ReadZero, to[0] = *reinterpret_cast<float *>(std::intptr_t(n)))
FLOATS(WriteNull, *static_cast<volatile int *>(nullptr) = 1)
FLOATS(WriteWild, *reinterpret_cast<int *>(std::intptr_t(one) << 40) = 1)
FLOATS(StepsTooFar, for (unsigned i = 0; i <= out.size(); ++i) to[i] = 1)

// Signals.
FLOATS(Divide, to[0] = static_cast<float>(5 / n))
FLOATS(Remainder, to[0] = static_cast<float>(5 % n))
FLOATS(DivideLeast, to[0] = static_cast<float>(least / (n - one)))
FLOATS(Trap, __builtin_trap())
static int endless(int depth) {
  volatile char room[1024];
  room[0] = static_cast<char>(depth);
  return endless(depth + 1) + room[0];
}
DEF_STACK_USAGE(1024, endless)
FLOATS(DeepRecursion, to[0] = static_cast<float>(endless(one)))

// Alignment.
// Both elements are used, or the compiler loads only one.
FLOATS(LoadPair, const float2 pair = *reinterpret_cast<const float2 *>(from);
       to[0] = (pair * pair + pair)[one])
FLOATS(LoadOddPair, const float2 pair = *reinterpret_cast<const float2 *>(from + one);
       to[0] = (pair * pair + pair)[one])
FLOATS(StorePair, (*reinterpret_cast<float2 *>(to) = float2{1, 2}))
struct AlignedPair : public Vertex {
  Input<Vector<float, VectorLayout::SPAN, 8>> in;
  Output<Vector<float>> out;
  bool compute() {
    out[0] = (*reinterpret_cast<const float2 *>(&in[0]))[1];
    return true;
  }
};
struct LoadWordOfBytes : public Vertex {
  Input<Vector<char>> in;
  Output<Vector<float>> out;
  bool compute() {
    out[0] = static_cast<float>(*reinterpret_cast<const int *>(&in[0]));
    return true;
  }
};
struct LoadPairOfHalves : public Vertex {
  Input<Vector<half>> in;
  Output<Vector<float>> out;
  bool compute() {
    out[0] = static_cast<float>(*reinterpret_cast<const unsigned *>(&in[0]));
    return true;
  }
};

// What a tile cannot link.
static int factorial(int k) { return k < 2 ? 1 : k * factorial(k - 1) % 7919 + factorial(k - 2); }
FLOATS(Recursion, to[0] = static_cast<float>(factorial(one)))
static float twice(float x) { return 2 * x; }
static float (*volatile chosen)(float) = twice;
FLOATS(CallsPointer, to[0] = chosen(from[0]))
struct Shape {
  virtual float area() const { return 1; }
};
struct Square : Shape {
  float area() const override { return 4; }
};
static Shape *volatile shape;
FLOATS(CallsVirtual, to[0] = shape->area())
FLOATS(UsesNew, int *p = new int(one); to[0] = static_cast<float>(*p); delete p)
FLOATS(UsesUnusedHeap, delete new int(one))
FLOATS(UsesVector, std::vector<float> v(8); v[one] = 2; to[0] = v[1])

// Memory.
FLOATS(LargeLocal, volatile char room[800000]; room[one] = 1; to[0] = room[one])
static char staticRoom[1 << 20];
FLOATS(LargeStatic, staticRoom[one] = 1; to[0] = staticRoom[n])
static const float table[1 << 18] = {1, 2, 3};
FLOATS(LargeTable, to[0] = table[one])
__attribute__((noinline)) static float declared(float x) {
  volatile float y = x;
  return y;
}
DEF_STACK_USAGE(200 * 1024, declared)
FLOATS(DeclaredStack, to[0] = declared(from[0]))
__attribute__((noinline)) static float ofItself(float x) {
  volatile float y = x;
  return y;
}
DEF_STACK_SIZE_OWN(150000, ofItself)
FLOATS(OwnStack, to[0] = ofItself(from[0]))

// Workers.
WORKERS(OwnWords, float, out[worker] = 1)
WORKERS(SameWord, float, out[0] = static_cast<float>(worker))
WORKERS(ReadsNeighbour, float, out[worker] = 1; out[worker] += out[(worker + 5) % 6])
WORKERS(ReadsBeforeWrite, float, const float x = out[(worker + 1) % 6]; out[worker] = x)
WORKERS(OwnBytes, char, out[worker] = 1)
WORKERS(OwnHalves, half, out[worker] = 1)
WORKERS(OwnShorts, unsigned short, out[worker] = 1)
WORKERS(OwnBooleans, bool, out[worker] = true)
WORKERS(CountsInState, float, ++n; out[worker] = 1)
static unsigned calls;
WORKERS(CountsInStatic, float, ++calls; out[worker] = 1)
struct CountsInTensor : public MultiVertex {
  InOut<Vector<float>> out;
  unsigned n;
  bool compute(unsigned) {
    out[0] += 1;
    return true;
  }
};

// Words that vertices have in common.
MANY(Chars, char)
MANY(Halves, half)
MANY(Bools, bool)
MANY(Shorts, unsigned short)
MANY(Words, unsigned)

// Fields with values.
struct Valued : public Vertex {
  Output<Vector<float>> out;
  unsigned char small;
  unsigned positive;
  int whole;
  Vector<short> list;
  bool compute() {
    out[0] = static_cast<float>(small + positive + static_cast<unsigned>(whole));
    return true;
  }
};
