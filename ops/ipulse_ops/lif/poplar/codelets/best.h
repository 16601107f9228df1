// The best of many, in the memory that they will be listed in.
#ifndef IPULSE_LIF_POPLAR_BEST_H
#define IPULSE_LIF_POPLAR_BEST_H

/// Keeps the best `most` of the offered values in a heap; its first element is the worst of them.
/// worse(a, b) must order any two.
template <typename Worse> class Best {
public:
  Best(unsigned short *heap, unsigned most, const Worse &worse)
      : heap(heap), most(most), worse(worse) {}

  void offer(unsigned one) {
    if (size < most) {
      unsigned at = size++;
      for (; at != 0 && worse(one, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
      heap[at] = static_cast<unsigned short>(one);
    } else if (worse(heap[0], one)) {
      unsigned at = 0;
      for (unsigned child = 1; child < size; child = 2 * at + 1) {
        if (child + 1 < size && worse(heap[child + 1], heap[child]))
          ++child;
        if (!worse(heap[child], one))
          break;
        heap[at] = heap[child];
        at = child;
      }
      heap[at] = static_cast<unsigned short>(one);
    }
  }
  unsigned worst() const { return heap[0]; }

private:
  unsigned short *heap;
  const unsigned most;
  const Worse &worse;
  unsigned size = 0;
};

#endif
