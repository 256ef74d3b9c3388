/* The build for processors with AVX-512. */
#include "arithmetic.h"

#ifdef HAS_BUILDS_FOR_X86
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC target("avx512f")
#endif

#define BUILD arithmetic_avx512
#define BUILD_NAME "avx512"
#include "arithmetic_build.h"

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
