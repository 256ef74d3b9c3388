/* The largest or smallest elements of rows and of columns, for one type; see rows.h and rows_loops.h. A nan is both.
 *
 * EXTREMES(name, beyond, quick) writes both loops: `beyond` is > or <, `quick` the processor's instruction, which gives
 * its second operand where one is nan.
 */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#if IS_FLOAT
#define QUICK(name, x, y) ((V)_mm512_mask_mov_ps(_mm512_##name##_ps(x, y), _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), x))
#else
#define QUICK(name, x, y) ((V)_mm512_mask_mov_pd(_mm512_##name##_pd(x, y), _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q), x))
#endif
#define CHOSEN(x, y, beyond, quick) QUICK(quick, x, y)
#else
#define CHOSEN(x, y, beyond, quick) NAMED(choose)(((x) beyond (y)) | ((x) != (x)), x, y)
#endif

typedef REAL NAMED(Part) __attribute__((vector_size(16)));
typedef BITS NAMED(PartBits) __attribute__((vector_size(16)));

#define EXTREMES(name, beyond, quick)                                                                               \
    INLINE V NAMED(name##_of_two)(V x, V y)                                                                         \
    {                                                                                                               \
        return CHOSEN(x, y, beyond, quick);                                                                         \
    }                                                                                                               \
                                                                                                                    \
    /* Without branches: nobody could foresee them. */                                                              \
    INLINE REAL NAMED(name##_of_lanes)(V values)                                                                    \
    {                                                                                                               \
        NAMED(Part) parts[VECTOR_BYTES / 16];                                                                       \
        memcpy(parts, &values, sizeof parts);                                                                       \
        for (ptrdiff_t half = VECTOR_BYTES / 32; half > 0; half /= 2) {                                             \
            for (ptrdiff_t part = 0; part < half; part++) {                                                         \
                const NAMED(Part) one = parts[part], other = parts[part + half];                                    \
                const NAMED(PartBits) chosen = (one beyond other) | (one != one);                                   \
                parts[part] = (NAMED(Part))((chosen & (NAMED(PartBits))one) | (~chosen & (NAMED(PartBits))other));  \
            }                                                                                                       \
        }                                                                                                           \
        REAL best = parts[0][0];                                                                                    \
        for (ptrdiff_t lane = 1; lane < 16 / (ptrdiff_t)sizeof(REAL); lane++) {                                     \
            best = (best beyond parts[0][lane]) | (best != best) ? best : parts[0][lane];                           \
        }                                                                                                           \
        return best;                                                                                                \
    }                                                                                                               \
                                                                                                                    \
    static void NAMED(name##_rows)(const void *input, void *result, ptrdiff_t rows, ptrdiff_t length)               \
    {                                                                                                               \
        const REAL *x = input;                                                                                      \
        REAL *out = result;                                                                                         \
        for (ptrdiff_t row = 0; row < rows; row++, x += length) {                                                   \
            V best[4];                                                                                              \
            best[0] = best[1] = best[2] = best[3] = NAMED(all)(x[0]);                                               \
            ptrdiff_t start = 0;                                                                                    \
            for (; start + 4 * LANES <= length; start += 4 * LANES) {                                               \
                for (ptrdiff_t part = 0; part < 4; part++) {                                                        \
                    best[part] = NAMED(name##_of_two)(NAMED(load)(x + start + part * LANES), best[part]);           \
                }                                                                                                   \
            }                                                                                                       \
            FOR_VECTORS(start, length, best[0] = NAMED(name##_of_two)(NAMED(load)(x + at), best[0]),                \
                        best[1] = NAMED(name##_of_two)(NAMED(load_some)(x + at, rest, x[0]), best[1]));             \
            out[row] = NAMED(name##_of_lanes)(NAMED(name##_of_two)(NAMED(name##_of_two)(best[0], best[1]),          \
                                                                   NAMED(name##_of_two)(best[2], best[3])));        \
        }                                                                                                           \
    }                                                                                                               \
                                                                                                                    \
    /* Two rows at a time: what is best so far is read and written half as often. */                                \
    static void NAMED(name##_columns)(const void *input, void *result, ptrdiff_t rows, ptrdiff_t columns,           \
                                      ptrdiff_t step)                                                               \
    {                                                                                                               \
        const REAL *x = input;                                                                                      \
        REAL best[COLUMNS_TOGETHER];                                                                                \
        memcpy(best, x, (size_t)columns * sizeof *best);                                                            \
        ptrdiff_t row = rows % 2; /* the first of an odd number is there already */                                 \
        for (x += row * step; row < rows; row += 2, x += 2 * step) {                                                \
            FOR_VECTORS(0, columns,                                                                                 \
                        NAMED(store)(best + at, NAMED(name##_of_two)(                                               \
                            NAMED(name##_of_two)(NAMED(load)(x + at), NAMED(load)(x + at + step)),                  \
                            NAMED(load)(best + at))),                                                               \
                        NAMED(store_some)(best + at, NAMED(name##_of_two)(                                          \
                            NAMED(name##_of_two)(NAMED(load_some)(x + at, rest, 0),                                 \
                                                 NAMED(load_some)(x + at + step, rest, 0)),                         \
                            NAMED(load_some)(best + at, rest, 0)), rest));                                          \
        }                                                                                                           \
        memcpy(result, best, (size_t)columns * sizeof *best);                                                       \
    }

EXTREMES(largest, >, max)
EXTREMES(smallest, <, min)

#undef EXTREMES
#undef CHOSEN
#undef QUICK
