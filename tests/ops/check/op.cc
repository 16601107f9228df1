// The symbols of a custom op, and one thing wrong with them for each -D: no Poplar is needed.
#include <cstdint>
#include <map>
#include <vector>

#ifndef LEVEL
#define LEVEL 5
#endif
#ifndef PARAMETERS
#define PARAMETERS 7
#endif
#ifndef HASHABLE
#define HASHABLE true
#endif

using Indices = std::vector<std::int64_t>;
using Aliasing = std::map<std::int64_t, std::int64_t>;

#if PARAMETERS == 7
#define OPTIONAL Indices &identical,
#else
#define OPTIONAL
#endif
#define METADATA                                                                                   \
  Indices &allocating, OPTIONAL Aliasing &aliasing, bool &elementwise, bool &stateless,            \
      bool &hashable, std::uint32_t inputs

#ifdef UNDEFINED
void nobody_defines_this();
#endif

#ifndef MANGLED
extern "C" {
#endif

#ifndef NO_LEVEL
extern const std::int32_t custom_op_api_level;
const std::int32_t custom_op_api_level = LEVEL;
#endif

void Build() {
#ifdef UNDEFINED
  nobody_defines_this();
#endif
}
#ifndef NO_GRAD
void Build_grad() {}
#endif
#ifndef NO_ALLOCATOR
void Build_allocator() {}
#endif

void Build_metadata(METADATA) {
  allocating = {0};
  if (inputs > 1)
    allocating.push_back(inputs - 1);
#if PARAMETERS == 7
  identical.clear();
#endif
#ifndef QUIET
#ifndef UNTOUCHED
  aliasing.clear();
#endif
#ifdef ALIASES
  aliasing[0] = 1;
#endif
  elementwise = false;
#endif
  stateless = true;
#ifndef UNSET
  hashable = HASHABLE;
#endif
#ifdef CRASH
  *reinterpret_cast<volatile int *>(8) = 1;
#endif
#ifdef FOR_EVER
  for (volatile bool forever = true; forever;)
    ;
#endif
}
void Build_grad_metadata(METADATA) {
  static_cast<void>(inputs);
  allocating.clear();
#if PARAMETERS == 7
  identical.clear();
#endif
#ifndef UNTOUCHED
  aliasing.clear();
#endif
  elementwise = false;
  stateless = hashable = true;
}

#ifndef MANGLED
}
#endif
