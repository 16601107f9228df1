// Stack declarations of codelets, which popc adds up along calls.
// [M] but for the names that public codelets use: the tile's headers are closed.
#ifndef poplar_StackSizeDefs_hpp
#define poplar_StackSizeDefs_hpp

/// Bytes of the stack of a function and of all that it calls.
#define DEF_STACK_USAGE(STACK_USAGE, FUNCTION) POPC_STACK(usage, STACK_USAGE, FUNCTION, __COUNTER__)
/// Bytes of the stack of a function itself.
#define DEF_STACK_SIZE_OWN(STACK_SIZE, FUNCTION) POPC_STACK(own, STACK_SIZE, FUNCTION, __COUNTER__)
/// A comment in the assembly and a constant, which popc reads.
#define POPC_STACK(KIND, BYTES, FUNCTION, N) POPC_STACK_OF(KIND, BYTES, FUNCTION, N)
#define POPC_STACK_OF(KIND, BYTES, FUNCTION, N)                                                    \
  __attribute__((used)) static const unsigned long long popc_stack_##N __asm__("popc_stack_" #N) = \
      BYTES;                                                                                       \
  __asm__("# popc_stack_" #KIND " popc_stack_" #N " " #FUNCTION);
#define DEF_FUNC_CALLS(FUNCTION, CALLED)
#define DEF_FUNC_CALL_PTRS(FUNCTION, CALLED)
#define DEF_FUNC_CALL_PTRS_CONCAT(FUNCTION, CALLED)

#endif
