/* Attention, for one type; see ../vectors.h and `products` in rows_recurrent.h.
 *
 * The scores of a few queries with all keys lie in scratch that fits a cache; there is no matrix of all of them. Keys that
 * the mask hides from all of these queries, at the end of the row, are not looked at: with a causal mask half of them.
 */
#define ROWS_TOGETHER 32
#define PANEL (2 * LANES) /* columns of a tile, but where there are no more than LANES in all */
#define PANEL_OF(columns) ((columns) <= LANES ? LANES : PANEL)
#define PADDED(columns, panel) (((columns) + (panel) - 1) / (panel) * (panel))

/* Lay out a matrix (inner, columns) as tiles read it; zeros beyond its columns. Distances are in elements. */
static void
NAMED(lay_out)(const REAL *from, ptrdiff_t of_inner, ptrdiff_t of_column, ptrdiff_t inner, ptrdiff_t columns,
               REAL *restrict panel)
{
    const ptrdiff_t wide = PANEL_OF(columns);
    for (ptrdiff_t start = 0; start < columns; start += wide) {
        const ptrdiff_t count = columns - start < wide ? columns - start : wide;
        for (ptrdiff_t k = 0; k < inner; k++, panel += wide) {
            const REAL *source = from + k * of_inner + start * of_column;
            if (of_column == 1) {
                for (ptrdiff_t lane = 0; lane < wide; lane += LANES) {
                    NAMED(store)(panel + lane, lane < count ? NAMED(take)(source, lane, count - lane) : (V){0});
                }
                continue;
            }
            for (ptrdiff_t lane = 0; lane < count; lane++) {
                panel[lane] = source[lane * of_column];
            }
            for (ptrdiff_t lane = count; lane < wide; lane++) {
                panel[lane] = 0;
            }
        }
    }
}

/* A matrix of numbers, by its distances; what tiles write, and how. */
typedef struct {
    const REAL *numbers;
    ptrdiff_t of_row, of_inner, rows, inner;
    const REAL *panels;
    ptrdiff_t panel, length; /* their columns; their other side: more than `inner` where some are left out */
    REAL *result;      /* dense rows of `distance` */
    ptrdiff_t columns, distance;
    const REAL *factors; /* one for each row, or NULL */
    int adds;
} NAMED(Product);

INLINE void
NAMED(tile)(const NAMED(Product) *work, ptrdiff_t row, ptrdiff_t start, const int rows, const int vectors)
{
    V sums[4 * 2];
    NAMED(products)(sums, work->numbers + row * work->of_row, work->of_row, work->of_inner, work->inner,
                    work->panels + start * work->length, rows, vectors);
    for (int each = 0; each < vectors * rows; each++) {
        const ptrdiff_t column = start + each % vectors * LANES, count = work->columns - column;
        const ptrdiff_t at = (row + each / vectors) * work->distance + column;
        if (count <= 0) {
            continue;
        }
        V value = work->factors == NULL ? sums[each] : sums[each] * work->factors[row + each / vectors];
        if (work->adds) {
            value += NAMED(take)(work->result, at, count);
        }
        NAMED(put)(work->result, at, count, value);
    }
}

/* Eight vectors of sums at a time: of one column of vectors where there is only one, else of two. */
static void
NAMED(multiply)(NAMED(Product) work)
{
    ptrdiff_t row = 0;
    if (work.panel == LANES) {
        for (; row + 8 <= work.rows; row += 8) {
            NAMED(tile)(&work, row, 0, 8, 1);
        }
        for (; row < work.rows; row++) {
            NAMED(tile)(&work, row, 0, 1, 1);
        }
        return;
    }
    for (ptrdiff_t start = 0; start < work.columns; start += PANEL) {
        for (row = 0; row + 4 <= work.rows; row += 4) {
            NAMED(tile)(&work, row, start, 4, 2);
        }
        for (; row < work.rows; row++) {
            NAMED(tile)(&work, row, start, 1, 2);
        }
    }
}

/* ---- one block of queries ----------------------------------------------------------------------------------- */

/* How many keys some of these queries see. */
static ptrdiff_t
NAMED(seen_keys)(const REAL *mask, ptrdiff_t of_row, ptrdiff_t of_column, ptrdiff_t rows, ptrdiff_t keys)
{
    ptrdiff_t seen = 1;
    for (ptrdiff_t row = 0; row < rows; row++, mask += of_row) {
        ptrdiff_t last = keys;
        while (last > seen && mask[(last - 1) * of_column] == (REAL)-INFINITY) {
            last--;
        }
        seen = last;
        if (seen == keys) {
            break;
        }
    }
    return seen;
}

/* The largest number of a vector, and the sum of all. */
INLINE REAL
NAMED(peak_of)(V values)
{
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
    return sizeof(REAL) == 4 ? (REAL)_mm512_reduce_max_ps((__m512)values) : (REAL)_mm512_reduce_max_pd((__m512d)values);
#else
    REAL lanes[LANES], found;
    NAMED(store)(lanes, values);
    found = lanes[0];
    for (ptrdiff_t lane = 1; lane < LANES; lane++) {
        found = lanes[lane] > found ? lanes[lane] : found;
    }
    return found;
#endif
}

INLINE double
NAMED(total_of)(V values)
{
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
    return sizeof(REAL) == 4 ? (double)_mm512_reduce_add_ps((__m512)values) : _mm512_reduce_add_pd((__m512d)values);
#else
    return NAMED(sum_lanes)(values);
#endif
}

/* A vector of a row of the mask; zeros beyond its end, and where there is none. */
INLINE V
NAMED(hidden)(const REAL *mask, ptrdiff_t of_column, ptrdiff_t at, ptrdiff_t rest)
{
    if (mask == NULL) {
        return (V){0};
    }
    if (of_column == 1) {
        return NAMED(take)(mask, at, rest);
    }
    REAL lanes[LANES];
    for (ptrdiff_t lane = 0; lane < LANES; lane++) {
        lanes[lane] = lane < rest ? mask[(at + lane) * of_column] : 0;
    }
    return NAMED(load)(lanes);
}

/* exp(scale * scores + mask - the largest), row by row in place; one over each sum. Of `columns`, which are a multiple of
 * LANES, those from `keys` on become 0. */
static void
NAMED(weigh)(REAL *scores, ptrdiff_t distance, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t keys, REAL scale,
             const REAL *mask, ptrdiff_t of_row, ptrdiff_t of_column, REAL *shares)
{
    const REAL lowest = (REAL)-INFINITY, least = IS_FLOAT ? (REAL)-3.402823466e38 : (REAL)-1.7976931348623157e308;
    for (ptrdiff_t row = 0; row < rows; row++, scores += distance) {
        V peaks = NAMED(all)(lowest);
        for (ptrdiff_t at = 0; at < keys; at += LANES) {
            const ptrdiff_t rest = keys - at;
            V item = NAMED(load)(scores + at) * scale;
            if (mask != NULL) {
                item += NAMED(hidden)(mask + row * of_row, of_column, at, rest);
            }
            NAMED(store)(scores + at, item);
            if (rest < LANES) {
                item = NAMED(load_some)(scores + at, rest, lowest);
            }
            peaks = NAMED(larger)(item, peaks);
        }
        const REAL found = NAMED(peak_of)(peaks), peak = found < least ? least : found;
        double sum = 0;
        for (ptrdiff_t start = 0; start < keys; start += BLOCK) {
            V part = {0};
            for (ptrdiff_t at = start; at < keys && at < start + BLOCK; at += LANES) {
                V item = NAMED(exponential)(NAMED(load)(scores + at) - peak);
                if (keys - at < LANES) {
                    NAMED(store)(scores + at, item);
                    item = NAMED(load_some)(scores + at, keys - at, 0);
                }
                NAMED(store)(scores + at, item);
                part += item;
            }
            sum += NAMED(total_of)(part);
        }
        for (ptrdiff_t at = (keys + LANES - 1) / LANES * LANES; at < columns; at += LANES) {
            NAMED(store)(scores + at, (V){0});
        }
        shares[row] = (REAL)(1 / (sum < 1 ? 1 : sum)); /* the largest is 1: only a row that sees nothing has less */
    }
}

#define OPERAND(operand, batch, head) ((const REAL *)(operand).data + (batch) * (operand).of[0] + (head) * (operand).of[1])

static int
NAMED(attention)(const AttentionWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const ptrdiff_t width = work->width, keys = work->keys, panel = PANEL_OF(keys), padded = PADDED(keys, panel);
    const ptrdiff_t narrow = PANEL_OF(width), wide = PADDED(width, narrow);
    const int back = work->gradient.data != NULL;
    /* panels of keys (and, back, values) across and of the other along; two blocks of scores; queries and gradients */
    const ptrdiff_t sizes[7] = {padded * width, back ? padded * width : 0, wide * keys, ROWS_TOGETHER * padded,
                                back ? ROWS_TOGETHER * padded : 0, wide * ROWS_TOGETHER, ROWS_TOGETHER};
    ptrdiff_t total = 0;
    for (int each = 0; each < 7; each++) {
        total += sizes[each];
    }
    REAL *memory = malloc((size_t)total * sizeof(REAL) + 64), *part[7];
    if (memory == NULL) {
        return -1;
    }
    part[0] = (REAL *)(((uintptr_t)memory + 63) / 64 * 64);
    for (int each = 1; each < 7; each++) {
        part[each] = part[each - 1] + sizes[each - 1];
    }
    REAL *across = part[0], *values_across = part[1], *along = part[2], *scores = part[3], *slopes = part[4];
    REAL *few = part[5], *shares = part[6];
    for (ptrdiff_t item = start; item < stop; item++) {
        const ptrdiff_t batch = item / work->heads, head = item % work->heads;
        const REAL *query = OPERAND(work->query, batch, head), *key = OPERAND(work->key, batch, head);
        const REAL *value = OPERAND(work->value, batch, head), *gradient = OPERAND(work->gradient, batch, head);
        const REAL *mask = work->mask.data == NULL ? NULL : OPERAND(work->mask, batch, head);
        const ptrdiff_t *of_query = work->query.of + 2, *of_key = work->key.of + 2, *of_value = work->value.of + 2;
        const ptrdiff_t *of_gradient = work->gradient.of + 2, *of_mask = work->mask.of + 2;
        REAL *outputs[3] = {NULL, NULL, NULL};
        for (int each = 0; each < 3; each++) {
            if (work->results[each] != NULL) {
                outputs[each] = (REAL *)work->results[each] + item * (each == 0 ? work->rows : keys) * width;
            }
        }
        NAMED(lay_out)(key, of_key[1], of_key[0], width, keys, across);
        if (back) {
            NAMED(lay_out)(value, of_value[1], of_value[0], width, keys, values_across);
            NAMED(lay_out)(key, of_key[0], of_key[1], keys, width, along);
            for (int each = 1; each < 3; each++) {
                if (outputs[each] != NULL) {
                    memset(outputs[each], 0, (size_t)(keys * width) * sizeof(REAL));
                }
            }
        }
        else {
            NAMED(lay_out)(value, of_value[0], of_value[1], keys, width, along);
        }
        for (ptrdiff_t first = 0; first < work->rows; first += ROWS_TOGETHER) {
            const ptrdiff_t rows = work->rows - first < ROWS_TOGETHER ? work->rows - first : ROWS_TOGETHER;
            const REAL *hides = mask == NULL ? NULL : mask + first * of_mask[0];
            const ptrdiff_t seen = mask == NULL ? keys : NAMED(seen_keys)(hides, of_mask[0], of_mask[1], rows, keys);
            const REAL *queries = query + first * of_query[0];
            const ptrdiff_t columns = PADDED(seen, panel);
            NAMED(multiply)((NAMED(Product)){queries, of_query[0], of_query[1], rows, width, across, panel, width,
                                             scores, columns, padded, NULL, 0});
            NAMED(weigh)(scores, padded, rows, columns, seen, (REAL)work->scale, hides, of_mask[0], of_mask[1], shares);
            if (!back) {
                NAMED(multiply)((NAMED(Product)){scores, padded, 1, rows, seen, along, narrow, keys,
                                                 outputs[0] + first * width, width, width, shares, 0});
                continue;
            }
            const REAL *gradients = gradient + first * of_gradient[0];
            NAMED(multiply)((NAMED(Product)){gradients, of_gradient[0], of_gradient[1], rows, width, values_across, panel,
                                             width, slopes, columns, padded, NULL, 0});
            for (ptrdiff_t row = 0; row < rows; row++) {
                REAL *restrict weights = scores + row * padded, *restrict slope = slopes + row * padded;
                V sum = {0};
                for (ptrdiff_t at = 0; at < columns; at += LANES) {
                    const V weight = NAMED(load)(weights + at) * shares[row];
                    NAMED(store)(weights + at, weight);
                    sum += weight * NAMED(load)(slope + at);
                }
                const REAL level = (REAL)NAMED(sum_lanes)(sum), scale = (REAL)work->scale;
                for (ptrdiff_t at = 0; at < seen; at++) {
                    slope[at] = weights[at] * (slope[at] - level) * scale;
                }
            }
            if (outputs[0] != NULL) {
                NAMED(multiply)((NAMED(Product)){slopes, padded, 1, rows, seen, along, narrow, keys,
                                                 outputs[0] + first * width, width, width, NULL, 0});
            }
            if (outputs[1] != NULL) {
                NAMED(lay_out)(queries, of_query[0], of_query[1], rows, width, few);
                NAMED(multiply)((NAMED(Product)){slopes, 1, padded, seen, rows, few, narrow, rows, outputs[1], width, width,
                                                 NULL, 1});
            }
            if (outputs[2] != NULL) {
                NAMED(lay_out)(gradients, of_gradient[0], of_gradient[1], rows, width, few);
                NAMED(multiply)((NAMED(Product)){scores, 1, padded, seen, rows, few, narrow, rows, outputs[2], width, width,
                                                 NULL, 1});
            }
        }
    }
    free(memory);
    return 0;
}

#undef ROWS_TOGETHER
#undef PANEL
#undef PANEL_OF
#undef PADDED
#undef OPERAND
