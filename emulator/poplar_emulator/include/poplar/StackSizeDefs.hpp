// Stack declarations of codelets. Stacks are not measured here: see docs/explanation/emulator.md.
// [M] but for the names that public codelets use: the tile's headers are closed.
#ifndef poplar_StackSizeDefs_hpp
#define poplar_StackSizeDefs_hpp

#define DEF_STACK_USAGE(STACK_USAGE, FUNCTION) POPC_STACK_USAGE(FUNCTION)
#define DEF_STACK_SIZE_OWN(STACK_SIZE, FUNCTION) POPC_STACK_USAGE(FUNCTION)
/// A comment in the assembly, which popc reads.
#define POPC_STACK_USAGE(FUNCTION) POPC_STACK_USAGE_OF(FUNCTION)
#define POPC_STACK_USAGE_OF(FUNCTION) __asm__("# popc_stack_usage " #FUNCTION);
#define DEF_FUNC_CALLS(FUNCTION, CALLED)
#define DEF_FUNC_CALL_PTRS(FUNCTION, CALLED)
#define DEF_FUNC_CALL_PTRS_CONCAT(FUNCTION, CALLED)

#endif
