/* The build for processors with AVX2. */
#include "arithmetic.h"

#ifdef HAS_BUILDS_FOR_X86
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#define BUILD arithmetic_avx2
#define BUILD_NAME "avx2"
#include "arithmetic_build.h"

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
