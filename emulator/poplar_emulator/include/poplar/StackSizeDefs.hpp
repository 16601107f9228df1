// Stack declarations of codelets. Stacks are not measured here: see docs/explanation/emulator.md.
// [M] but for the names that public codelets use: the tile's headers are closed.
#ifndef poplar_StackSizeDefs_hpp
#define poplar_StackSizeDefs_hpp

#define DEF_STACK_USAGE(STACK_USAGE, FUNCTION)
#define DEF_STACK_SIZE_OWN(STACK_SIZE, FUNCTION)
#define DEF_FUNC_CALLS(FUNCTION, CALLED)
#define DEF_FUNC_CALL_PTRS(FUNCTION, CALLED)
#define DEF_FUNC_CALL_PTRS_CONCAT(FUNCTION, CALLED)

#endif
