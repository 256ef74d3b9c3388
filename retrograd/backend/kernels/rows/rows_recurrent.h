/* All steps of an LSTM or GRU layer, for one type; see ../vectors.h.
 *
 * Sequences of a batch have nothing to do with each other, so a thread runs all steps of its own. A product of the hidden
 * state and the weight is a tile of sums in registers: some rows, and for each the vectors of a few neighbouring units. The
 * gates are computed from there, so that nothing but their values is written. Panels have the weight in the order in
 * which the tiles read it, which pays after a few rows; every step reads them again.
 */
#undef TILE
#if VECTOR_BYTES == 64
#define TILE 4
#else
#define TILE 2
#endif
#define BACKWARD 2 /* vectors of a tile of the backward pass */
#define UNROLLED _Pragma("GCC unroll 8")

/* ---- panels ------------------------------------------------------------------------------------------------- */

/* What is added to the gates: both biases, but for the candidate of a GRU the hidden state's is a fourth. */
static void
NAMED(add_biases)(const void *bias, const void *other, int gates, ptrdiff_t width, void *sums)
{
    const REAL *first = bias, *second = other;
    REAL *added = sums;
    for (ptrdiff_t at = 0; at < 4 * width; at++) {
        const int apart = gates == 3 && at >= 2 * width;
        added[at] = first == NULL                ? 0
                    : !apart                     ? first[at] + second[at]
                    : at < 3 * width             ? first[at]
                                                 : second[at - width];
    }
}

/* Lay out the weight (gates * width, width): for some neighbouring units after the other, for each number of the other
 * factor, the vectors of a tile. Forward these are one for each gate, of the same units; `turned`, for the backward pass,
 * BACKWARD that lie beside each other. Units beyond the width have zeros. What is added to the gates
 * comes last. Returns the bytes that it takes. */
static size_t
NAMED(pack)(const void *weight, const void *bias, const void *other, int gates, int turned, ptrdiff_t width,
            void *panels)
{
    const ptrdiff_t inner = turned ? gates * width : width, vectors = turned ? BACKWARD : gates;
    const ptrdiff_t units = turned ? BACKWARD * LANES : LANES, groups = (width + units - 1) / units;
    const ptrdiff_t size = groups * inner * vectors * LANES;
    if (panels == NULL) {
        return (size_t)(size + 4 * width) * sizeof(REAL);
    }
    const REAL *from = weight;
    REAL *restrict panel = panels, *restrict added = panel + size;
    for (ptrdiff_t group = 0; group < groups; group++) {
        for (ptrdiff_t start = 0; start < inner; start += LANES) { /* a few lines of cache at a time */
            const ptrdiff_t stop = start + LANES < inner ? start + LANES : inner;
            for (ptrdiff_t column = 0; column < vectors * LANES; column++) {
                const ptrdiff_t vector = column / LANES, unit = group * units + (turned ? column : column % LANES);
                const REAL *source = turned ? from + unit : from + (vector * width + unit) * width;
                const ptrdiff_t step = turned ? width : 1;
                for (ptrdiff_t k = start; k < stop; k++) {
                    panel[(group * inner + k) * vectors * LANES + column] = unit < width ? source[k * step] : 0;
                }
            }
        }
    }
    NAMED(add_biases)(bias, other, gates, width, added);
    return 0;
}

/* ---- tiles -------------------------------------------------------------------------------------------------- */

/* sums[row][vector] = sum over k of numbers[row, k] * panel[k][vector] */
INLINE void
NAMED(products)(V *sums, const REAL *numbers, ptrdiff_t distance, ptrdiff_t step, ptrdiff_t inner, const REAL *panel,
                const int rows, const int vectors)
{
    V total[8][4];
    UNROLLED for (int row = 0; row < rows; row++) {
        UNROLLED for (int vector = 0; vector < vectors; vector++) {
            total[row][vector] = (V){0};
        }
    }
    for (ptrdiff_t k = 0; k < inner; k++, panel += vectors * LANES) {
        UNROLLED for (int row = 0; row < rows; row++) {
            const REAL number = numbers[row * distance + k * step];
            UNROLLED for (int vector = 0; vector < vectors; vector++) {
                total[row][vector] += NAMED(load)(panel + vector * LANES) * number;
            }
        }
    }
    UNROLLED for (int row = 0; row < rows; row++) {
        UNROLLED for (int vector = 0; vector < vectors; vector++) {
            sums[row * vectors + vector] = total[row][vector];
        }
    }
}

/* A vector of neighbouring units of which `count` exist. */
INLINE V
NAMED(take)(const void *array, ptrdiff_t at, ptrdiff_t count)
{
    const REAL *from = (const REAL *)array + at;
    return count >= LANES ? NAMED(load)(from) : NAMED(load_some)(from, count, 0);
}

INLINE void
NAMED(put)(void *array, ptrdiff_t at, ptrdiff_t count, V values)
{
    REAL *to = (REAL *)array + at;
    if (count >= LANES) {
        NAMED(store)(to, values);
    }
    else {
        NAMED(store_some)(to, values, count);
    }
}

/* ---- LSTM --------------------------------------------------------------------------------------------------- */

/* One vector of units of one sequence: input, forget, candidate and output gate, the cell and the hidden state. */
INLINE void
NAMED(lstm_unit)(const RecurrentWork *work, ptrdiff_t step, ptrdiff_t row, ptrdiff_t unit, const REAL *added, const V *sums)
{
    const ptrdiff_t width = work->width, count = width - unit, place = step * work->batch + row;
    const ptrdiff_t at = place * 4 * width + unit, state = place * width + unit;
    V gate[4];
    UNROLLED for (int each = 0; each < 4; each++) {
        gate[each] = NAMED(take)(work->gates, at + each * width, count) + sums[each]
                     + NAMED(take)(added, unit + each * width, count);
    }
    UNROLLED for (int each = 0; each < 4; each++) {
        gate[each] = each == 2 ? NAMED(tangent)(gate[each]) : NAMED(logistic)(gate[each]);
        NAMED(put)(work->gates, at + each * width, count, gate[each]);
    }
    const V cell = gate[1] * NAMED(take)(work->cell, state, count) + gate[0] * gate[2];
    NAMED(put)(work->next_cell, state, count, cell);
    NAMED(put)(work->next_hidden, state, count, gate[3] * NAMED(tangent)(cell));
}

/* The gradients of what the gates were made of; `back` is that of the hidden state from the step after. */
INLINE void
NAMED(lstm_slopes)(const RecurrentWork *work, ptrdiff_t step, ptrdiff_t row, ptrdiff_t unit, V back)
{
    const ptrdiff_t width = work->width, count = width - unit, place = step * work->batch + row;
    const ptrdiff_t at = place * 4 * width + unit, state = place * width + unit;
    const V enter = NAMED(take)(work->gates, at, count), forget = NAMED(take)(work->gates, at + width, count);
    const V candidate = NAMED(take)(work->gates, at + 2 * width, count);
    const V leave = NAMED(take)(work->gates, at + 3 * width, count);
    const V bent = NAMED(tangent)(NAMED(take)(work->next_cell, state, count));
    const V of_hidden = back + NAMED(take)(work->of_hidden, step * work->of_step + row * work->of_row + unit, count);
    const V carried = NAMED(take)(work->carried, row * width + unit, count);
    const V slope = carried + of_hidden * leave * (1 - bent * bent);
    NAMED(put)(work->of_gates, at, count, slope * candidate * enter * (1 - enter));
    NAMED(put)(work->of_gates, at + width, count, slope * NAMED(take)(work->cell, state, count) * forget * (1 - forget));
    NAMED(put)(work->of_gates, at + 2 * width, count, slope * enter * (1 - candidate * candidate));
    NAMED(put)(work->of_gates, at + 3 * width, count, of_hidden * bent * leave * (1 - leave));
    NAMED(put)(work->carried, row * width + unit, count, slope * forget);
}

/* ---- GRU ---------------------------------------------------------------------------------------------------- */

/* Reset and update gate and candidate; the reset gate acts on the hidden state's share of the candidate. */
INLINE void
NAMED(gru_unit)(const RecurrentWork *work, ptrdiff_t step, ptrdiff_t row, ptrdiff_t unit, const REAL *added, const V *sums)
{
    const ptrdiff_t width = work->width, count = width - unit, place = step * work->batch + row;
    const ptrdiff_t at = place * 3 * width + unit, state = place * width + unit;
    V gate[3];
    UNROLLED for (int each = 0; each < 3; each++) {
        gate[each] = NAMED(take)(work->gates, at + each * width, count)
                     + NAMED(take)(added, unit + each * width, count);
    }
    const V own = sums[2] + NAMED(take)(added, unit + 3 * width, count);
    const V reset = NAMED(logistic)(gate[0] + sums[0]), update = NAMED(logistic)(gate[1] + sums[1]);
    const V candidate = NAMED(tangent)(gate[2] + reset * own);
    NAMED(put)(work->gates, at, count, reset);
    NAMED(put)(work->gates, at + width, count, update);
    NAMED(put)(work->gates, at + 2 * width, count, candidate);
    NAMED(put)(work->own, state, count, own);
    NAMED(put)(work->next_hidden, state, count,
               candidate + update * (NAMED(take)(work->hidden, state, count) - candidate));
}

INLINE void
NAMED(gru_slopes)(const RecurrentWork *work, ptrdiff_t step, ptrdiff_t row, ptrdiff_t unit, V back)
{
    const ptrdiff_t width = work->width, count = width - unit, place = step * work->batch + row;
    const ptrdiff_t at = place * 3 * width + unit, state = place * width + unit;
    const V reset = NAMED(take)(work->gates, at, count), update = NAMED(take)(work->gates, at + width, count);
    const V candidate = NAMED(take)(work->gates, at + 2 * width, count);
    const V of_hidden = back + NAMED(take)(work->carried, row * width + unit, count)
                        + NAMED(take)(work->of_hidden, step * work->of_step + row * work->of_row + unit, count);
    const V of_update = of_hidden * (NAMED(take)(work->hidden, state, count) - candidate) * update * (1 - update);
    const V of_candidate = of_hidden * (1 - update) * (1 - candidate * candidate);
    const V of_reset = of_candidate * NAMED(take)(work->own, state, count) * reset * (1 - reset);
    NAMED(put)(work->of_gates, at, count, of_reset);
    NAMED(put)(work->of_gates, at + width, count, of_update);
    NAMED(put)(work->of_gates, at + 2 * width, count, of_candidate);
    NAMED(put)(work->of_own, at, count, of_reset);
    NAMED(put)(work->of_own, at + width, count, of_update);
    NAMED(put)(work->of_own, at + 2 * width, count, of_candidate * reset);
    NAMED(put)(work->carried, row * width + unit, count, of_hidden * update);
}

/* ---- over the steps ----------------------------------------------------------------------------------------- */

/* Tiles of rows from `start` to `stop`, then single rows. */
#define FOR_TILES(do_tile)                              \
    do {                                                \
        ptrdiff_t row = start;                          \
        for (; row + TILE <= stop; row += TILE) {       \
            do_tile(TILE);                              \
        }                                               \
        for (; row < stop; row++) {                     \
            do_tile(1);                                 \
        }                                               \
    } while (0)

INLINE void
NAMED(run_steps)(const RecurrentWork *work, ptrdiff_t start, ptrdiff_t stop, const int gates)
{
    const ptrdiff_t width = work->width, groups = (width + LANES - 1) / LANES;
    const REAL *panels = work->panels;
    const REAL *added = panels == NULL ? work->added : panels + groups * LANES * width * gates;
#define DO_TILE(rows)                                                                                              \
    do {                                                                                                           \
        V sums[TILE * 4];                                                                                          \
        if (panels == NULL) {                                                                                      \
            for (int each = 0; each < rows * gates; each++) {                                                      \
                sums[each] = NAMED(take)(work->share, (row * gates + each) * width + unit, width - unit);          \
            }                                                                                                      \
        }                                                                                                          \
        else {                                                                                                     \
            NAMED(products)(sums, (const REAL *)work->hidden + (step * work->batch + row) * width, width, 1,       \
                            width, panels + unit * width * gates, rows, gates);                                    \
        }                                                                                                          \
        for (int each = 0; each < rows; each++) {                                                                  \
            if (gates == 4) {                                                                                      \
                NAMED(lstm_unit)(work, step, row + each, unit, added, sums + each * gates);                        \
            }                                                                                                      \
            else {                                                                                                 \
                NAMED(gru_unit)(work, step, row + each, unit, added, sums + each * gates);                         \
            }                                                                                                      \
        }                                                                                                          \
    } while (0)
    for (ptrdiff_t step = 0; step < work->steps; step++) {
        for (ptrdiff_t unit = 0; unit < width; unit += LANES) {
            FOR_TILES(DO_TILE);
        }
    }
#undef DO_TILE
}

/* What is known of a unit's hidden state goes on to the gates of the step before, or is the gradient of the first. */
INLINE void
NAMED(pass_back)(const RecurrentWork *work, ptrdiff_t step, ptrdiff_t row, ptrdiff_t unit, const int gates, V back)
{
    const ptrdiff_t width = work->width, count = width - unit;
    if (step >= 0 && gates == 4) {
        NAMED(lstm_slopes)(work, step, row, unit, back);
    }
    else if (step >= 0) {
        NAMED(gru_slopes)(work, step, row, unit, back);
    }
    else {
        const V past = gates == 4 ? (V){0} : NAMED(take)(work->carried, row * width + unit, count);
        NAMED(put)(work->of_first, row * width + unit, count, back + past);
    }
}

INLINE void
NAMED(run_steps_back)(const RecurrentWork *work, ptrdiff_t start, ptrdiff_t stop, const int gates)
{
    const ptrdiff_t width = work->width, inner = gates * width;
    const REAL *panels = work->panels, *slopes = gates == 4 ? work->of_gates : work->of_own;
#define DO_TILE(rows)                                                                                              \
    do {                                                                                                           \
        V sums[TILE * BACKWARD];                                                                                   \
        const int last = step + 1 == work->steps;                                                                  \
        NAMED(products)(sums, last ? slopes : slopes + ((step + 1) * work->batch + row) * inner, inner, 1,         \
                        last ? 0 : inner, last ? panels : panels + unit * inner, rows, BACKWARD);                  \
        for (int each = 0; each < rows * BACKWARD; each++) {                                                       \
            const ptrdiff_t own = unit + each % BACKWARD * LANES;                                                  \
            if (own < width) {                                                                                     \
                NAMED(pass_back)(work, step, row + each / BACKWARD, own, gates, sums[each]);                       \
            }                                                                                                      \
        }                                                                                                          \
    } while (0)
    for (ptrdiff_t step = work->steps - 1; step >= (panels == NULL ? 0 : -1); step--) {
        for (ptrdiff_t unit = 0; unit < width; unit += BACKWARD * LANES) {
            FOR_TILES(DO_TILE);
        }
    }
#undef DO_TILE
}

static void
NAMED(lstm)(const RecurrentWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    NAMED(run_steps)(work, start, stop, 4);
}

static void
NAMED(lstm_gradients)(const RecurrentWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    NAMED(run_steps_back)(work, start, stop, 4);
}

static void
NAMED(gru)(const RecurrentWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    NAMED(run_steps)(work, start, stop, 3);
}

static void
NAMED(gru_gradients)(const RecurrentWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    NAMED(run_steps_back)(work, start, stop, 3);
}

#undef BACKWARD
#undef UNROLLED
#undef FOR_TILES
