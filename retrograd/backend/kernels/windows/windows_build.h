/* One build of all loops: a file sets the processor, defines BUILD as the name of its table and VECTOR_BYTES as the
 * width of its registers, and includes this. */
#include "windows.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAS_BUILDS_FOR_X86
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define LANES ((ptrdiff_t)(VECTOR_BYTES / sizeof(REAL)))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

#define REAL float
#define REAL_BYTES 4
#define BITS int32_t
#define NAMED(name) name##_of_floats
#include "tiles.h"
#include "correlation.h"
#include "correlation_weight.h"
#include "pooling.h"
#include "planes.h"
#undef REAL
#undef REAL_BYTES
#undef BITS
#undef NAMED

#define REAL double
#define REAL_BYTES 8
#define BITS int64_t
#define NAMED(name) name##_of_doubles
#include "tiles.h"
#include "correlation.h"
#include "correlation_weight.h"
#include "pooling.h"
#include "planes.h"

#define PAIR(name) {name##_of_floats, name##_of_doubles}

const WindowLoops BUILD = {
    .name = BUILD_NAME,
    .correlate = PAIR(correlate),
    .correlate_weight = PAIR(correlate_weight),
    .planes_norm = PAIR(planes_norm),
    .planes_norm_gradients = PAIR(planes_norm_gradients),
    .max_pool = PAIR(max_pool),
    .max_pool_gradient = PAIR(max_pool_gradient),
    .avg_pool = PAIR(avg_pool),
    .avg_pool_gradient = PAIR(avg_pool_gradient),
};
