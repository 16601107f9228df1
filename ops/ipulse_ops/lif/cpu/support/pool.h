// Threads that stay. They start when first needed and are never joined: they sleep until the
// process ends. A forked child has none of them and must not call in here; nobody forks a process
// that has TensorFlow in it.
#ifndef IPULSE_OPS_LIF_CPU_POOL_H
#define IPULSE_OPS_LIF_CPU_POOL_H

#include <algorithm>
#include <cstdint>
#include <functional>

namespace lif {

// Runs task(index, worker) for every index in 0 to tasks - 1 on up to `threads` threads, the
// caller being worker 0. Which thread takes which index is left to chance. A caller that finds the
// pool busy with another caller's tasks does its own alone. If a task throws, no further ones are
// begun, and when all that run have ended the first exception is thrown here.
void parallel_for(int threads, int64_t tasks, const std::function<void(int64_t, int)> &task);

// The same with runs of neighbouring indices as tasks, task(first, last, worker), where results of
// neighbours share cache lines: two threads would take the lines from each other.
template <class Task> void parallel_for_runs(int threads, int64_t indices, Task task) {
  int64_t run = std::max<int64_t>(1, std::min<int64_t>(8, indices / (4 * threads)));
  parallel_for(threads, (indices + run - 1) / run, [&](int64_t index, int worker) {
    task(index * run, std::min((index + 1) * run, indices), worker);
  });
}

// The processors that this process may run on.
int default_threads();

} // namespace lif

#endif
