/* One build of all loops: a file sets the processor, defines BUILD as the name of its table and VECTOR_BYTES as the
 * width of its registers, and includes this. The functions of vectors are those of backend/kernels. */
#include "machine.h"

#include <math.h>
#include <string.h>
#ifdef HAS_BUILDS_FOR_X86
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 4")

/* A vector to aligned memory, past the caches. */
#ifdef HAS_BUILDS_FOR_X86
#if VECTOR_BYTES == 64
#define STREAM(to, vector) _mm512_stream_ps((float *)(to), (__m512)(vector))
#elif VECTOR_BYTES == 32
#define STREAM(to, vector) _mm256_stream_ps((float *)(to), (__m256)(vector))
#else
#define STREAM(to, vector) _mm_stream_ps((float *)(to), (__m128)(vector))
#endif
#define END_OF_STREAMS() _mm_sfence()
#else
#define STREAM(to, vector) (*(V *)(to) = (vector))
#define END_OF_STREAMS() (void)0
#endif

#define REAL float
#define OTHER_REAL double
#define BITS int32_t
#define UNSIGNED_BITS uint32_t
#define IS_FLOAT 1
#define NAMED(name) name##_of_floats
#define LIBM(name) name##f
#include "../../backend/kernels/vectors.h"
#include "../../backend/kernels/primitives.h"
#include "machine_loops.h"
#undef REAL
#undef OTHER_REAL
#undef BITS
#undef UNSIGNED_BITS
#undef IS_FLOAT
#undef NAMED
#undef LIBM
#undef V
#undef IV
#undef UV
#undef LANES
#undef FRACTION_BITS
#undef EXPONENT_BIAS
#undef ROUNDER

#define REAL double
#define OTHER_REAL float
#define BITS int64_t
#define UNSIGNED_BITS uint64_t
#define IS_FLOAT 0
#define NAMED(name) name##_of_doubles
#define LIBM(name) name
#include "../../backend/kernels/vectors.h"
#include "../../backend/kernels/primitives.h"
#include "machine_loops.h"

const MachineLoops BUILD = {
    .name = BUILD_NAME,
    .part = {run_part_of_floats, run_part_of_doubles},
    .end_sums = {end_sums_of_floats, end_sums_of_doubles},
    .small_product = {small_product_of_floats, small_product_of_doubles},
    .rows = {rows_of_floats, rows_of_doubles},
};
