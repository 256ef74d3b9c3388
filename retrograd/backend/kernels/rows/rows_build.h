/* One build of all loops: a file sets the processor, defines BUILD as the name of its table and VECTOR_BYTES as the
 * width of its registers, and includes this. */
#include "rows.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAS_BUILDS_FOR_X86
#include <immintrin.h>
#endif

/* How many elements are added up in the arrays' type before their sum joins a total in double: so rounding errors do
 * not grow with the size. */
#define BLOCK 2048

#define INLINE static inline __attribute__((always_inline))

#define REAL float
#define BITS int32_t
#define UNSIGNED_BITS uint32_t
#define IS_FLOAT 1
#define NAMED(name) name##_of_floats
#include "../vectors.h"
#include "rows_loops.h"
#include "rows_norm.h"
#include "rows_sums.h"
#include "rows_extremes.h"
#include "rows_slices.h"
#include "../primitives.h"
#include "rows_elements.h"
#include "rows_recurrent.h"
#include "rows_channels.h"
#include "rows_attention.h"
#if VECTOR_BYTES >= 32 /* narrower vectors are no gain over the BLAS */
#include "rows_products.h"
#endif
#undef REAL
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
#define BITS int64_t
#define UNSIGNED_BITS uint64_t
#define IS_FLOAT 0
#define NAMED(name) name##_of_doubles
#include "../vectors.h"
#include "rows_loops.h"
#include "rows_norm.h"
#include "rows_sums.h"
#include "rows_extremes.h"
#include "rows_slices.h"
#include "../primitives.h"
#include "rows_elements.h"
#include "rows_recurrent.h"
#include "rows_channels.h"
#include "rows_attention.h"
#if VECTOR_BYTES >= 32 /* narrower vectors are no gain over the BLAS */
#include "rows_products.h"
#endif

static int
are_within(const int64_t *places, ptrdiff_t count, int64_t size)
{
    uint64_t signs = 0;
    for (ptrdiff_t at = 0; at < count; at++) {
        signs |= (uint64_t)places[at] | ((uint64_t)size - 1 - (uint64_t)places[at]);
    }
    return !(signs >> 63);
}

#define PAIR(name) {name##_of_floats, name##_of_doubles}
#define FLOATS_ONLY(name) {name##_of_floats, NULL}

const RowLoops BUILD = {
    .name = BUILD_NAME,
    .softmax = PAIR(softmax),
    .log_softmax = PAIR(log_softmax),
    .logsumexp = PAIR(logsumexp),
    .logsumexp_gradient = PAIR(logsumexp_gradient),
    .softmax_gradient = PAIR(softmax_gradient),
    .log_softmax_gradient = PAIR(log_softmax_gradient),
    .sigmoid = PAIR(sigmoid),
    .silu = PAIR(silu),
    .gelu = FLOATS_ONLY(gelu),
    .gelu_tanh = PAIR(gelu_tanh),
    .gelu_gradient = FLOATS_ONLY(gelu_gradient),
    .gelu_tanh_gradient = PAIR(gelu_tanh_gradient),
    .silu_gradient = PAIR(silu_gradient),
    .softplus_gradient = PAIR(softplus_gradient),
    .layer_norm = PAIR(layer_norm),
    .layer_norm_gradients = PAIR(layer_norm_gradients),
    .channel_statistics = PAIR(channel_statistics),
    .channel_apply = PAIR(channel_apply),
    .channel_sums = PAIR(channel_sums),
    .channel_slopes = PAIR(channel_slopes),
    .channel_totals = PAIR(channel_totals),
    .sum_rows = PAIR(sum_rows),
    .sum_columns = PAIR(sum_columns),
    .largest_rows = PAIR(largest_rows),
    .smallest_rows = PAIR(smallest_rows),
    .largest_columns = PAIR(largest_columns),
    .smallest_columns = PAIR(smallest_columns),
    .add_slices = PAIR(add_slices),
    .are_within = are_within,
#define ENTRY(name, kinds) [ELEMENTS_##name] = PAIR(name),
    .elements = {ELEMENTWISE_LOOPS(ENTRY)},
#undef ENTRY
    .attention = PAIR(attention),
#if VECTOR_BYTES >= 32
    .product = PAIR(product),
    .panel_columns = PAIR(panel_columns),
#endif
    .vector_bytes = VECTOR_BYTES,
    .pack = PAIR(pack),
    .add_biases = PAIR(add_biases),
    .lstm = PAIR(lstm),
    .lstm_gradients = PAIR(lstm_gradients),
    .gru = PAIR(gru),
    .gru_gradients = PAIR(gru_gradients),
};
