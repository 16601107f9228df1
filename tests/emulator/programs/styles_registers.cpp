// Codelets that read and write the registers of a tile.
#include <ipu_vector_math>
#include <ipudef.h>
#include <poplar/Vertex.hpp>
#include <print.h>

using namespace poplar;

class Timed : public Vertex {
public:
  Output<Vector<unsigned>> t;
  Input<Vector<float>> work;
  Output<float> sum;
  bool compute() {
    unsigned a = __builtin_ipu_get_scount_l();
    float s = 0;
    for (float w : work)
      s += ipu::exp(w);
    *sum = s;
    t[0] = __builtin_ipu_get_scount_l() - a;
    t[1] = __builtin_ipu_get_tile_id();
    printf("tile %u\n", t[1]);
    return true;
  }
};

class Registers : public MultiVertex {
public:
  Output<Vector<unsigned>> t;
  bool compute(unsigned worker) {
    t[worker] = __builtin_ipu_get(CSR_W_WSR__INDEX) & CSR_W_WSR__CTXTID_M1__MASK;
    if (worker)
      return true;
    unsigned drawn[2];
    for (unsigned &d : drawn) {
      __builtin_ipu_put(5, CSR_W_PRNG_0_0__INDEX);
      __builtin_ipu_put(7, CSR_W_PRNG_0_1__INDEX);
      d = __builtin_ipu_urand32();
    }
    __builtin_ipu_put(9, CSR_W_PRNG_1_1__INDEX);
    __builtin_ipu_uput(2.5f, CSR_W_TAS__INDEX);
    t[6] = drawn[0] == drawn[1] && drawn[0] != __builtin_ipu_urand32();
    t[7] = __builtin_ipu_get(CSR_W_PRNG_1_1__INDEX);
    t[8] = static_cast<unsigned>(2 * __builtin_ipu_uget(CSR_W_TAS__INDEX));
    return true;
  }
};
