/* One build of all loops: a file sets the processor, defines BUILD as the name of its table and VECTOR_BYTES as the
 * width of its registers, and includes this. */
#include "axes.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAS_BUILDS_FOR_X86
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

#define REAL float
#define REAL_BYTES 4
#define BITS int32_t
#define UNSIGNED_BITS uint32_t
#define IS_FLOAT 1
#define NAMED(name) name##_of_floats
#include "../vectors.h"
#include "tiles.h"
#include "parts.h"
#include "depthwise.h"
#if VECTOR_BYTES == 64
#include "stepped.h"
#endif
#include "correlation.h"
#include "correlation_weight.h"
#include "pooling.h"
#include "planes.h"
#undef REAL
#undef REAL_BYTES
#undef BITS
#undef UNSIGNED_BITS
#undef IS_FLOAT
#undef NAMED
#undef V
#undef IV
#undef UV
#undef LANES
#undef FRACTION_BITS
#undef EXPONENT_BIAS
#undef ROUNDER

#define REAL double
#define REAL_BYTES 8
#define BITS int64_t
#define UNSIGNED_BITS uint64_t
#define IS_FLOAT 0
#define NAMED(name) name##_of_doubles
#include "../vectors.h"
#include "tiles.h"
#include "parts.h"
#include "depthwise.h"
#if VECTOR_BYTES == 64
#include "stepped.h"
#endif
#include "correlation.h"
#include "correlation_weight.h"
#include "pooling.h"
#include "planes.h"

#define PAIR(name) {name##_of_floats, name##_of_doubles}

const WindowLoops BUILD = {
    .name = BUILD_NAME,
    .plan_correlation = PAIR(plan_correlation),
    .plan_weight = PAIR(plan_weight),
    .correlate = PAIR(correlate),
    .correlate_weight = PAIR(correlate_weight),
    .end_weight = PAIR(end_weight),
#if VECTOR_BYTES == 64
    .stepped = PAIR(stepped),
    .stepped_back = PAIR(stepped_back),
    .stepped_weight = PAIR(stepped_weight),
#endif
    .planes_norm = PAIR(planes_norm),
    .planes_norm_gradients = PAIR(planes_norm_gradients),
    .max_pool = PAIR(max_pool),
    .max_pool_gradient = PAIR(max_pool_gradient),
    .avg_pool = PAIR(avg_pool),
    .avg_pool_gradient = PAIR(avg_pool_gradient),
};
