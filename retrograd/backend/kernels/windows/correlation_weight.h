/* The gradient of convolution for the weight, for one type: sums over places, directly from the padded source.
 *
 * As in correlation.h, the lanes of a vector are outputs, or places of one output where outputs are few.
 */

/* ---- lanes are outputs ---------------------------------------------------------------------------------------- */

/* factors[block][place][lane] of the samples of a part. */
static void
NAMED(pack_factors)(const NAMED(Part) *part, ptrdiff_t group, ptrdiff_t samples, REAL *to)
{
    const Axis *axes = part->work.axes;
    const ptrdiff_t all = NAMED(vectors_for)(part->work.outputs), blocks = NAMED(blocks)(all, MOST_VECTORS);
    const ptrdiff_t plane = axes[0].result * axes[1].result * axes[2].result, width = axes[2].count;
    ptrdiff_t first = 0;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t lanes = NAMED(block_size)(all, blocks, block) * LANES;
        const ptrdiff_t used = SMALLER(lanes, part->work.outputs - first);
        for (ptrdiff_t sample = 0; sample < samples; sample++) {
            for (ptrdiff_t z = 0; z < axes[0].count; z++) {
                for (ptrdiff_t y = 0; y < axes[1].count; y++, to += width * lanes) {
                    const REAL *from = NAMED(result_row)(part, sample, group, first, z, y);
                    NAMED(transpose)(to, lanes, from, plane, used, width);
                    for (ptrdiff_t x = 0; used < lanes && x < width; x++) {
                        memset(to + x * lanes + used, 0, (lanes - used) * sizeof(REAL));
                    }
                }
            }
        }
        first += lanes;
    }
}

/* totals[block][channel, tap][lane] += ... */
static void
NAMED(add_by_lanes)(const NAMED(Part) *part, ptrdiff_t samples, const REAL *factors, REAL *totals)
{
    const ptrdiff_t all = NAMED(vectors_for)(part->work.outputs), blocks = NAMED(blocks)(all, MOST_VECTORS);
    const ptrdiff_t places = part->places * samples;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t vectors = NAMED(block_size)(all, blocks, block), lanes = vectors * LANES;
        for (ptrdiff_t place = 0; place < places; place += LONG_SUM) {
            for (ptrdiff_t tap = 0; tap < part->length; tap += MOST_ROWS) {
                NAMED(lanes)((int)SMALLER(MOST_ROWS, part->length - tap), (int)vectors, part->source,
                             part->tap_places + tap, part->out_places + place, SMALLER(LONG_SUM, places - place),
                             factors + place * lanes, totals + tap * lanes, 1);
            }
        }
        factors += places * lanes;
        totals += part->length * lanes;
    }
}

static void
NAMED(write_weight_lanes)(const NAMED(Part) *part, ptrdiff_t group, const double *totals)
{
    const Correlation *work = &part->work;
    REAL *weight = (REAL *)work->weight + group * work->weight_group;
    const ptrdiff_t all = NAMED(vectors_for)(work->outputs), blocks = NAMED(blocks)(all, MOST_VECTORS);
    ptrdiff_t first = 0;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t lanes = NAMED(block_size)(all, blocks, block) * LANES;
        for (ptrdiff_t lane = 0; lane < SMALLER(lanes, work->outputs - first); lane++) {
            REAL *to = weight + (first + lane) * work->weight_output;
            for (ptrdiff_t k = 0; k < part->length; k++) {
                to[k / part->taps * work->weight_channel + part->tap_weights[k % part->taps]] = (REAL)totals[k * lanes + lane];
            }
        }
        totals += part->length * lanes;
        first += lanes;
    }
}

/* ---- lanes are places ------------------------------------------------------------------------------------------- */

#define FEW_OUTPUTS 4

/* totals[row][tap] += the sum of factors[row] * source[taps[tap] + place] over the rows of one slice. */
INLINE void
NAMED(add_slice)(const int rows, const NAMED(Part) *part, const REAL *source, const int32_t *taps, const REAL *factors,
                 ptrdiff_t plane, ptrdiff_t height, REAL *totals, ptrdiff_t totals_row, ptrdiff_t used)
{
    const ptrdiff_t width = part->work.axes[2].count;
    V sums[FEW_OUTPUTS][MOST_ROWS];
#pragma GCC unroll 8
    for (int row = 0; row < rows; row++) {
#pragma GCC unroll 8
        for (int tap = 0; tap < MOST_ROWS; tap++) {
            sums[row][tap] = (V){0};
        }
    }
    for (ptrdiff_t y = 0; y < height; y++, source += part->row, factors += width) {
#define ADD(read_factor, read_source)                                             \
    do {                                                                          \
        V factor[FEW_OUTPUTS];                                                    \
        _Pragma("GCC unroll 8") for (int row = 0; row < rows; row++)              \
        {                                                                         \
            const REAL *from = factors + row * plane + x;                         \
            factor[row] = read_factor;                                            \
        }                                                                         \
        _Pragma("GCC unroll 8") for (int tap = 0; tap < MOST_ROWS; tap++)         \
        {                                                                         \
            const REAL *from = source + taps[tap] + x;                            \
            const V item = read_source;                                           \
            _Pragma("GCC unroll 8") for (int row = 0; row < rows; row++)          \
            {                                                                     \
                sums[row][tap] += factor[row] * item;                             \
            }                                                                     \
        }                                                                         \
    } while (0)
        ptrdiff_t x = 0;
        for (; x + LANES <= width; x += LANES) {
            ADD(NAMED(load)(from), NAMED(load)(from));
        }
        if (x < width) {
            const ptrdiff_t rest = width - x;
            ADD(NAMED(load_some)(from, rest), NAMED(load_some)(from, rest));
        }
#undef ADD
    }
#pragma GCC unroll 8
    for (int row = 0; row < rows; row++) {
        for (ptrdiff_t tap = 0; tap < used; tap++) {
            REAL lanes[LANES], sum = 0;
            NAMED(store)(lanes, sums[row][tap]);
            for (ptrdiff_t lane = 0; lane < LANES; lane++) {
                sum += lanes[lane];
            }
            totals[row * totals_row + tap] += sum;
        }
    }
}

/* The same for a number of rows that is no constant. */
static void
NAMED(add_rows)(ptrdiff_t rows, const NAMED(Part) *part, const REAL *source, const int32_t *taps, const REAL *factors,
                ptrdiff_t plane, ptrdiff_t height, REAL *totals, ptrdiff_t totals_row, ptrdiff_t used)
{
#define CASE_OF(r) \
    case r: NAMED(add_slice)(r, part, source, taps, factors, plane, height, totals, totals_row, used); break;
    switch (rows) {
        CASE_OF(1)
        CASE_OF(2)
        CASE_OF(3)
        CASE_OF(4)
    }
#undef CASE_OF
}

/* totals[output][channel, tap] += ... */
static void
NAMED(add_by_places)(const NAMED(Part) *part, ptrdiff_t group, ptrdiff_t samples, REAL *totals)
{
    const Axis *axes = part->work.axes;
    const ptrdiff_t plane = axes[0].result * axes[1].result * axes[2].result;
    const ptrdiff_t blocks = NAMED(blocks)(part->work.outputs, FEW_OUTPUTS);
    const ptrdiff_t height = LARGER(1, LONG_SUM / NAMED(vectors_for)(axes[2].count));
    for (ptrdiff_t slice = 0; slice < samples * axes[0].count; slice++) {
        const ptrdiff_t sample = slice / axes[0].count, z = slice % axes[0].count;
        for (ptrdiff_t y = 0; y < axes[1].count; y += height) {
            const REAL *source = part->source + sample * part->sample + z * part->slice + y * part->row;
            ptrdiff_t first = 0;
            for (ptrdiff_t block = 0; block < blocks; block++) {
                const ptrdiff_t rows = NAMED(block_size)(part->work.outputs, blocks, block);
                const REAL *factors = NAMED(result_row)(part, sample, group, first, z, y);
                for (ptrdiff_t tap = 0; tap < part->length; tap += MOST_ROWS) {
                    int32_t taps[MOST_ROWS];
                    const ptrdiff_t used = SMALLER(MOST_ROWS, part->length - tap);
                    for (ptrdiff_t k = 0; k < MOST_ROWS; k++) {
                        taps[k] = part->tap_places[tap + SMALLER(k, used - 1)];
                    }
                    NAMED(add_rows)(rows, part, source, taps, factors, plane, SMALLER(height, axes[1].count - y),
                                    totals + first * part->length + tap, part->length, used);
                }
                first += rows;
            }
        }
    }
}

static void
NAMED(write_weight_places)(const NAMED(Part) *part, ptrdiff_t group, const double *totals)
{
    const Correlation *work = &part->work;
    REAL *weight = (REAL *)work->weight + group * work->weight_group;
    for (ptrdiff_t output = 0; output < work->outputs; output++) {
        for (ptrdiff_t k = 0; k < part->length; k++) {
            weight[output * work->weight_output + k / part->taps * work->weight_channel
                   + part->tap_weights[k % part->taps]] = (REAL)*totals++;
        }
    }
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

#define MANY_PLACES 4096 /* after so many the sums go on in double: errors do not grow with the number of samples */

static void
NAMED(add_up)(double *restrict wide, REAL *restrict totals, ptrdiff_t size)
{
    for (ptrdiff_t at = 0; at < size; at++) {
        wide[at] += (double)totals[at];
        totals[at] = 0;
    }
}

/* The gradient of one group's weight. */
static void
NAMED(correlate_weight_of)(NAMED(Part) *part, const Correlation *work, NAMED(Cut) cut, ptrdiff_t group, int by_lanes,
                           REAL *factors, REAL *totals, double *wide, ptrdiff_t size)
{
    const Axis *axis = &work->axes[cut.axis];
    ptrdiff_t places = 0;
    memset(totals, 0, size * sizeof(REAL));
    memset(wide, 0, size * sizeof(double));
    for (ptrdiff_t first = 0; first < axis->count; first += cut.outputs) {
        part->work.axes[cut.axis] = NAMED(outputs_from)(axis, first, SMALLER(cut.outputs, axis->count - first));
        NAMED(measure)(part);
        NAMED(fill_tables)(part, cut.samples);
        for (part->first = 0; part->first < work->samples; part->first += cut.samples) {
            const ptrdiff_t samples = SMALLER(cut.samples, work->samples - part->first);
            NAMED(copy_source)(part, group, samples);
            if (by_lanes) {
                NAMED(pack_factors)(part, group, samples, factors);
                NAMED(add_by_lanes)(part, samples, factors, totals);
            }
            else {
                NAMED(add_by_places)(part, group, samples, totals);
            }
            places += part->places * samples;
            if (places >= MANY_PLACES) {
                NAMED(add_up)(wide, totals, size);
                places = 0;
            }
        }
    }
    NAMED(add_up)(wide, totals, size);
    (by_lanes ? NAMED(write_weight_lanes) : NAMED(write_weight_places))(part, group, wide);
}

static int
NAMED(correlate_weight)(const Correlation *work)
{
    const NAMED(Cut) cut = NAMED(cut_into_parts)(work);
    NAMED(Part) part = {0};
    REAL *totals = NULL, *factors = NULL;
    double *wide = NULL;
    int done = -1;
    if (NAMED(allocate_part)(&part, work, cut)) {
        const ptrdiff_t width = work->axes[2].count, lanes = NAMED(vectors_for)(work->outputs) * LANES;
        const int by_lanes = 5 * work->outputs * NAMED(vectors_for)(width) > 4 * width * NAMED(vectors_for)(work->outputs);
        const ptrdiff_t size = part.length * (by_lanes ? lanes : work->outputs);
        totals = NAMED(allocate)(size);
        wide = malloc(size * sizeof(double));
        factors = NAMED(allocate)(by_lanes ? part.places * cut.samples * lanes : 1);
        for (ptrdiff_t group = 0; totals != NULL && wide != NULL && factors != NULL && group < work->groups; group++) {
            NAMED(correlate_weight_of)(&part, work, cut, group, by_lanes, factors, totals, wide, size);
            done = 0;
        }
    }
    free(totals);
    free(wide);
    free(factors);
    NAMED(free_part)(&part);
    return done;
}
