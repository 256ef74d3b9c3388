/* The build for processors with AVX2. */
#include "machine.h"

#ifdef HAS_BUILDS_FOR_X86
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define BUILD machine_avx2
#define BUILD_NAME "avx2"
#define VECTOR_BYTES 32
#include "machine_build.h"

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
