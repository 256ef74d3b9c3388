/* The build for processors with AVX-512. */
#include "machine.h"

#ifdef HAS_BUILDS_FOR_X86
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw")
#endif

#define BUILD machine_avx512
#define BUILD_NAME "avx512"
#define VECTOR_BYTES 64
#include "machine_build.h"

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
