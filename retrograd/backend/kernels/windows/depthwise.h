/* Convolution where each group has one channel, and its gradients, for one type: planes with their own few weights.
 *
 * The lanes of a vector are places beside each other, as in correlation.h; there are too few products for each number that
 * is read, so a block goes down several rows, and a vector of the source is used for all rows of the window that meet it.
 */

#define MOST_TALL 8 /* rows of a block */

/* Whether a group is one plane, its window too, and few results share what is read. */
static int
NAMED(is_depthwise)(const Correlation *work)
{
    return work->groups > 1 && work->channels == 1 && work->outputs <= 2 && work->axes[0].taps == 1
           && work->axes[0].count == 1 && work->axes[1].count > 1;
}

/* How many rows the window has if they follow each other in the source and there is a block for it, else 0. */
static int
NAMED(window_rows)(const NAMED(Part) *part)
{
    const Axis *axis = &part->work.axes[1];
    const int known = axis->taps == 3 || axis->taps == 5 || axis->taps == 7;
    return known && axis->slots == 1 && axis->tap_shift[axis->taps - 1] == axis->taps - 1 ? (int)axis->taps : 0;
}

/* ---- convolution ------------------------------------------------------------------------------------------------ */

/* The sums of `tall` rows at one vector of places, by windows of any form: one vector for each product. */
INLINE void
NAMED(add_any_window)(const int tall, const NAMED(Part) *part, const REAL *source, const REAL *weights, V *sums)
{
    for (ptrdiff_t tap = 0; tap < part->taps; tap++) {
        const REAL *from = source + part->tap_places[tap];
#pragma GCC unroll 8
        for (int row = 0; row < tall; row++) {
            sums[row] += NAMED(load)(from + row * part->row) * weights[tap];
        }
    }
}

/* The same by windows of `rows` rows that follow each other: one vector for `rows` products. */
INLINE void
NAMED(add_window)(const int tall, const int rows, const NAMED(Part) *part, const REAL *source, const REAL *weights, V *sums)
{
    const ptrdiff_t width = part->work.axes[2].taps;
    for (ptrdiff_t column = 0; column < width; column++) {
        const REAL *from = source + part->tap_places[column];
#pragma GCC unroll 16
        for (int next = 0; next < tall + rows - 1; next++) {
            const V items = NAMED(load)(from + next * part->row);
#pragma GCC unroll 8
            for (int row = 0; row < rows; row++) {
                if (next - row >= 0 && next - row < tall) {
                    sums[next - row] += items * weights[row * width + column];
                }
            }
        }
    }
}

/* `tall` rows of one output from (y, x) on. */
INLINE void
NAMED(block_of_rows)(const int tall, const int rows, const NAMED(Part) *part, const REAL *source, const REAL *weights,
                     REAL start, REAL *to, ptrdiff_t to_row, ptrdiff_t step, ptrdiff_t used)
{
    V sums[MOST_TALL];
#pragma GCC unroll 8
    for (int row = 0; row < tall; row++) {
        sums[row] = NAMED(all)(start);
    }
    if (rows == 0) {
        NAMED(add_any_window)(tall, part, source, weights, sums);
    }
    else {
        NAMED(add_window)(tall, rows, part, source, weights, sums);
    }
#pragma GCC unroll 8
    for (int row = 0; row < tall; row++, to += to_row) {
        if (step != 1) {
            REAL lanes[LANES];
            NAMED(store)(lanes, sums[row]);
            for (ptrdiff_t lane = 0; lane < used; lane++) {
                to[lane * step] = lanes[lane];
            }
        }
        else if (used == LANES) {
            NAMED(store)(to, sums[row]);
        }
        else {
            NAMED(store_some)(to, sums[row], used);
        }
    }
}

/* One plane of the result. The last blocks begin early enough to be whole: what two blocks share is written twice. */
INLINE void
NAMED(plane_by_rows)(const int tall, const int rows, const NAMED(Part) *part, const REAL *source, const REAL *weights,
                     REAL start, REAL *to)
{
    const Axis *h = &part->work.axes[1], *w = &part->work.axes[2];
    const ptrdiff_t to_row = h->result_step * w->result;
    for (ptrdiff_t top = 0; top < h->count; top += tall) {
        const ptrdiff_t y = SMALLER(top, h->count - tall);
        for (ptrdiff_t left = 0; left < w->count; left += LANES) {
            const ptrdiff_t x = LARGER(0, SMALLER(left, w->count - LANES));
            NAMED(block_of_rows)(tall, rows, part, source + y * part->row + x, weights, start,
                                 to + y * to_row + x * w->result_step, to_row, w->result_step,
                                 SMALLER(LANES, w->count));
        }
    }
}

/* The same for numbers of rows that are no constants. */
static void
NAMED(plane)(ptrdiff_t height, int rows, const NAMED(Part) *part, const REAL *source, const REAL *weights, REAL start,
             REAL *to)
{
#define CASE_OF(tall, r) \
    case r: NAMED(plane_by_rows)(tall, r, part, source, weights, start, to); break;
#define TALL(tall) \
    switch (rows) { CASE_OF(tall, 0) CASE_OF(tall, 3) CASE_OF(tall, 5) CASE_OF(tall, 7) }
    if (height >= MOST_TALL) {
        TALL(MOST_TALL)
    }
    else if (height >= MOST_TALL / 2) {
        TALL(MOST_TALL / 2)
    }
    else {
        TALL(1)
    }
#undef TALL
#undef CASE_OF
}

/* weights[output][tap] */
static void
NAMED(pack_rows)(const NAMED(Part) *part, REAL *to)
{
    for (ptrdiff_t output = 0; output < part->work.outputs; output++) {
        for (ptrdiff_t tap = 0; tap < part->taps; tap++) {
            *to++ = ((const REAL *)part->work.weight)[output * part->work.weight_output + part->tap_weights[tap]];
        }
    }
}

static void
NAMED(correlate_rows)(const NAMED(Part) *part, ptrdiff_t samples, const REAL *weights)
{
    const int rows = NAMED(window_rows)(part);
    for (ptrdiff_t sample = 0; sample < samples; sample++) {
        for (ptrdiff_t output = 0; output < part->work.outputs; output++) {
            NAMED(plane)(part->work.axes[1].count, rows, part, part->source + sample * part->sample,
                         weights + output * part->taps,
                         part->work.bias == NULL ? 0 : ((const REAL *)part->work.bias)[output],
                         NAMED(result_row)(part, sample, output, 0, 0));
        }
    }
}

/* ---- the gradient for the weight ---------------------------------------------------------------------------------- */

#define MOST_BESIDE 3 /* columns of the window that are done at once */

/* totals[row * taps + column][lane] += the sums over one vector of columns of a plane. A vector of the source meets `rows`
 * rows of the factors: the last ones are kept. Those above and below the plane are left out, not zeros: zero times inf
 * would be nan. */
INLINE void
NAMED(add_columns)(const int rows, const int columns, const NAMED(Part) *part, const REAL *source, const int32_t *places,
                   const REAL *factors, ptrdiff_t used, REAL *totals)
{
    const ptrdiff_t height = part->work.axes[1].count, width = part->work.axes[2].count;
    const ptrdiff_t taps = part->work.axes[2].taps;
    V sums[7][MOST_BESIDE], kept[7];
#pragma GCC unroll 8
    for (int row = 0; row < rows; row++) {
        kept[row] = (V){0};
#pragma GCC unroll 8
        for (int column = 0; column < columns; column++) {
            sums[row][column] = (V){0};
        }
    }
#define STEP(read, below, above)                                                                   \
    do {                                                                                           \
        _Pragma("GCC unroll 8") for (int row = rows - 1; row > 0; row--) { kept[row] = kept[row - 1]; } \
        if (below) {                                                                               \
            const REAL *from = factors + y * width;                                                \
            kept[0] = read;                                                                        \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (int column = 0; column < columns; column++)                   \
        {                                                                                          \
            const REAL *from = source + places[column] + y * part->row;                            \
            const V items = read;                                                                  \
            _Pragma("GCC unroll 8") for (int row = 0; row < rows; row++)                           \
            {                                                                                      \
                if (above) {                                                                       \
                    sums[row][column] += items * kept[row];                                        \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    } while (0)
    const ptrdiff_t whole = used == LANES ? LARGER(rows - 1, height) : rows - 1;
    ptrdiff_t y = 0;
    for (; y < rows - 1; y++) {
        STEP(NAMED(load_some)(from, used, 0), y < height, y - row >= 0 && y - row < height);
    }
    for (; y < whole; y++) {
        STEP(NAMED(load)(from), 1, 1);
    }
    for (; y < height; y++) {
        STEP(NAMED(load_some)(from, used, 0), 1, 1);
    }
    for (; y < height + rows - 1; y++) {
        STEP(NAMED(load_some)(from, used, 0), 0, y - row < height);
    }
#undef STEP
#pragma GCC unroll 8
    for (int row = 0; row < rows; row++) {
#pragma GCC unroll 8
        for (int column = 0; column < columns; column++) {
            REAL *to = totals + (row * taps + column) * LANES;
            NAMED(store)(to, NAMED(load)(to) + sums[row][column]);
        }
    }
}

/* totals[tap][lane] += the products at one vector of columns with `count` taps, which need not lie together. */
INLINE void
NAMED(add_taps)(const int count, const NAMED(Part) *part, const REAL *source, const int32_t *places, const REAL *factors,
                ptrdiff_t used, REAL *totals)
{
    const ptrdiff_t height = part->work.axes[1].count, width = part->work.axes[2].count;
    V sums[MOST_BESIDE];
#pragma GCC unroll 8
    for (int tap = 0; tap < count; tap++) {
        sums[tap] = NAMED(load)(totals + tap * LANES);
    }
    for (ptrdiff_t y = 0; y < height; y++) {
        const V factor = NAMED(load_some)(factors + y * width, used, 0);
#pragma GCC unroll 8
        for (int tap = 0; tap < count; tap++) {
            sums[tap] += NAMED(load_some)(source + places[tap] + y * part->row, used, 0) * factor;
        }
    }
#pragma GCC unroll 8
    for (int tap = 0; tap < count; tap++) {
        NAMED(store)(totals + tap * LANES, sums[tap]);
    }
}

/* The same with all taps. */
static void
NAMED(add_any_columns)(const NAMED(Part) *part, const REAL *source, const REAL *factors, ptrdiff_t used, REAL *totals)
{
    ptrdiff_t tap = 0;
    for (; tap + MOST_BESIDE <= part->taps; tap += MOST_BESIDE) {
        NAMED(add_taps)(MOST_BESIDE, part, source, part->tap_places + tap, factors, used, totals + tap * LANES);
    }
    for (; tap < part->taps; tap++) {
        NAMED(add_taps)(1, part, source, part->tap_places + tap, factors, used, totals + tap * LANES);
    }
}

static void
NAMED(add_window_columns)(int rows, ptrdiff_t columns, const NAMED(Part) *part, const REAL *source, const int32_t *places,
                          const REAL *factors, ptrdiff_t used, REAL *totals)
{
#define CASE_OF(r, c) \
    case 10 * r + c: NAMED(add_columns)(r, c, part, source, places, factors, used, totals); break;
#define ROWS(r) CASE_OF(r, 1) CASE_OF(r, 2) CASE_OF(r, 3)
    switch (10 * rows + (int)columns) { ROWS(3) ROWS(5) ROWS(7) }
#undef ROWS
#undef CASE_OF
}

/* totals[output][tap][lane] += ... */
static void
NAMED(add_by_rows)(const NAMED(Part) *part, ptrdiff_t samples, REAL *totals)
{
    const int rows = NAMED(window_rows)(part);
    const ptrdiff_t width = part->work.axes[2].count, taps = part->work.axes[2].taps;
    for (ptrdiff_t sample = 0; sample < samples; sample++) {
        for (ptrdiff_t output = 0; output < part->work.outputs; output++) {
            REAL *to = totals + output * part->taps * LANES;
            for (ptrdiff_t x = 0; x < width; x += LANES) {
                const REAL *source = part->source + sample * part->sample + x;
                const REAL *factors = NAMED(result_row)(part, sample, output, 0, 0) + x;
                const ptrdiff_t used = SMALLER(LANES, width - x);
                for (ptrdiff_t column = 0; rows > 0 && column < taps; column += MOST_BESIDE) {
                    NAMED(add_window_columns)(rows, SMALLER(MOST_BESIDE, taps - column), part, source,
                                              part->tap_places + column, factors, used, to + column * LANES);
                }
                if (rows == 0) {
                    NAMED(add_any_columns)(part, source, factors, used, to);
                }
            }
        }
    }
}

static void
NAMED(write_weight_rows)(const NAMED(Part) *part, const double *totals)
{
    for (ptrdiff_t output = 0; output < part->work.outputs; output++) {
        for (ptrdiff_t tap = 0; tap < part->taps; tap++, totals += LANES) {
            double sum = 0;
            for (ptrdiff_t lane = 0; lane < LANES; lane++) {
                sum += totals[lane];
            }
            ((REAL *)part->work.weight)[output * part->work.weight_output + part->tap_weights[tap]] = (REAL)sum;
        }
    }
}
