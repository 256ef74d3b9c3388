/* What the loops of rows_elementwise.h are written in, for one type; the primitives are those of ../primitives.h. */
typedef signed char NAMED(byte_vector) __attribute__((vector_size(VECTOR_BYTES / sizeof(REAL))));

/* The elements so many bytes further on are asked for, too: where operands and result begin at different places of a
 * line of the cache, the processor does not see ahead by itself, and large arrays take a fifth longer. */
#define BYTES_AHEAD 1024

INLINE V
NAMED(read)(const REAL *from, ptrdiff_t count)
{
    __builtin_prefetch((const void *)((uintptr_t)from + BYTES_AHEAD));
    return count == LANES ? NAMED(load)(from) : NAMED(load_some)(from, count, 0);
}

INLINE V
NAMED(read_truth)(const signed char *from, ptrdiff_t count)
{
    NAMED(byte_vector) bytes = {0};
    memcpy(&bytes, from, (size_t)count);
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
    __m128i wide = {0};
    memcpy(&wide, &bytes, sizeof bytes);
    const IV found = (IV)(IS_FLOAT ? _mm512_cvtepi8_epi32(wide) : _mm512_cvtepi8_epi64(wide));
#elif VECTOR_BYTES == 32 && defined(__AVX2__)
    __m128i wide = {0};
    memcpy(&wide, &bytes, sizeof bytes);
    const IV found = (IV)(IS_FLOAT ? _mm256_cvtepi8_epi32(wide) : _mm256_cvtepi8_epi64(wide));
#else
    const IV found = __builtin_convertvector(bytes, IV);
#endif
    return NAMED(truth)(found != 0);
}

INLINE void
NAMED(keep)(REAL *to, V values, ptrdiff_t count)
{
    if (count == LANES) {
        NAMED(store)(to, values);
    }
    else {
        NAMED(store_some)(to, values, count);
    }
}

#define READ(number) NAMED(read)((const REAL *)work->inputs[number] + at, count)
#define READ_TRUTH(number) NAMED(read_truth)((const signed char *)work->inputs[number] + at, count)
#define KEEP(values) NAMED(keep)((REAL *)work->result + at, values, count)

/* How many elements there are before the first that a vector may begin with, without lying in two lines of the cache. */
INLINE ptrdiff_t
NAMED(before_line)(const REAL *to, ptrdiff_t most)
{
    const ptrdiff_t found = (ptrdiff_t)((-(uintptr_t)to & (VECTOR_BYTES - 1)) / sizeof(REAL));
    return found < most ? found : most;
}

/* The steps for whole vectors, and once more for what comes before and after them. */
#define FOR_ELEMENTS(...)                                                                        \
    ptrdiff_t at = start, edge = NAMED(before_line)((REAL *)work->result + start, stop - start); \
    do {                                                                                         \
        if (edge > 0) {                                                                          \
            const ptrdiff_t count = edge;                                                        \
            __VA_ARGS__                                                                          \
            at += edge;                                                                          \
        }                                                                                        \
        for (; at + LANES <= stop; at += LANES) {                                                \
            const ptrdiff_t count = LANES;                                                       \
            __VA_ARGS__                                                                          \
        }                                                                                        \
        edge = stop - at;                                                                        \
    } while (edge > 0)

#include "rows_elementwise.h"

#undef BYTES_AHEAD
#undef READ
#undef READ_TRUTH
#undef KEEP
#undef FOR_ELEMENTS
