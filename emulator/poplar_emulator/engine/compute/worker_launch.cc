// Supervisors that run the workers by `runall`; popc calls popc_run_workers in its place.
#include <algorithm>
#include <cstdint>

#include <poplar/TileConstants.hpp>
#include <poplar/TileState.hpp>

extern "C" {
/// Runs the code at `entry` on each worker. hasArguments: it is compute(state, worker), else it
/// finds the state and the worker in registers of the tile. base: the state, or null for that of
/// the running vertex.
void popc_launch_workers(void *entry, void *base, long hasArguments) {
  void *const vertex = popc_tile.vertex;
  const unsigned worker = popc_tile.worker;
  if (base)
    popc_tile.vertex = base;
  const std::uint64_t before = popc_counters.bundles();
  std::uint64_t most = 0;
  for (unsigned w = 0; w < CTXT_WORKERS; ++w) {
    popc_tile.worker = w;
    const std::uint64_t start = popc_counters.bundles();
    if (hasArguments)
      reinterpret_cast<bool (*)(void *, unsigned)>(entry)(popc_tile.vertex, w);
    else
      reinterpret_cast<bool (*)()>(entry)();
    most = std::max(most, popc_counters.bundles() - start);
  }
  // They run at once, each with a bundle every six cycles; a supervisor's bundles are cycles.
  popc_counters.setBundles(before + CTXT_WORKERS * most);
  popc_tile.vertex = vertex;
  popc_tile.worker = worker;
}
}

#if defined(__x86_64__)
// popc_run_workers(entry, base, hasArguments) on the stack. It keeps all registers, because the
// compiler does not know that inline assembly calls something.
asm(R"(
	.text
	.globl popc_run_workers
	.type popc_run_workers, @function
popc_run_workers:
	pushq %rbp
	movq %rsp, %rbp
	pushq %rax
	pushq %rcx
	pushq %rdx
	pushq %rsi
	pushq %rdi
	pushq %r8
	pushq %r9
	pushq %r10
	pushq %r11
	subq $512, %rsp
	andq $-64, %rsp
	fxsave64 (%rsp)
	movq 32(%rbp), %rdi
	movq 24(%rbp), %rsi
	movq 16(%rbp), %rdx
	call popc_launch_workers@PLT
	fxrstor64 (%rsp)
	leaq -72(%rbp), %rsp
	popq %r11
	popq %r10
	popq %r9
	popq %r8
	popq %rdi
	popq %rsi
	popq %rdx
	popq %rcx
	popq %rax
	popq %rbp
	ret
	.size popc_run_workers, .-popc_run_workers
)");
#endif
