/* The gradient of convolution for the weight, for one type: sums over places, directly from the padded source.
 *
 * As in correlation.h, the lanes of a vector are outputs, or places of one output where outputs are few. Threads share the
 * channels; where these are few, fixed shares of the samples, whose sums are added up at the end. So the number of threads
 * changes no bit.
 */

/* ---- lanes are outputs ---------------------------------------------------------------------------------------- */

/* factors[block][place][lane] of the samples of a part. */
static void
NAMED(pack_factors)(const NAMED(Part) *part, ptrdiff_t samples, REAL *to)
{
    const Axis *axes = part->work.axes;
    const ptrdiff_t all = NAMED(vectors_for)(part->work.outputs), blocks = NAMED(blocks)(all, MOST_VECTORS);
    const ptrdiff_t plane = axes[0].result * axes[1].result * axes[2].result;
    const ptrdiff_t width = axes[1].count * axes[2].count; /* rows of a slice follow each other */
    ptrdiff_t first = 0;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t lanes = NAMED(block_size)(all, blocks, block) * LANES;
        const ptrdiff_t used = SMALLER(lanes, part->work.outputs - first);
        for (ptrdiff_t slice = 0; slice < samples * axes[0].count; slice++, to += width * lanes) {
            const REAL *from = NAMED(result_row)(part, slice / axes[0].count, first, slice % axes[0].count, 0);
            NAMED(transpose)(to, lanes, from, plane, used, width);
            for (ptrdiff_t x = 0; used < lanes && x < width; x++) {
                memset(to + x * lanes + used, 0, (lanes - used) * sizeof(REAL));
            }
        }
        first += lanes;
    }
}

#define TAPS_TOGETHER 192 /* whose sums stay in the cache until all places are done */

/* totals[block][channel, tap][lane] += ... */
static void
NAMED(add_by_lanes)(const NAMED(Part) *part, ptrdiff_t samples, const REAL *factors, REAL *totals)
{
    static const int32_t in_order[MOST_LANE_ROWS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const ptrdiff_t all = NAMED(vectors_for)(part->work.outputs), blocks = NAMED(blocks)(all, MOST_VECTORS);
    const ptrdiff_t places = part->places * samples;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t vectors = NAMED(block_size)(all, blocks, block), lanes = vectors * LANES;
        const ptrdiff_t most = LANE_ROWS(vectors);
        for (ptrdiff_t taps = 0; taps < part->length; taps += TAPS_TOGETHER) {
            const ptrdiff_t stop = SMALLER(taps + TAPS_TOGETHER, part->length);
            for (ptrdiff_t place = 0; place < places; place += LONG_SUM) {
                for (ptrdiff_t tap = taps; tap < stop; tap += most) {
                    NAMED(lanes)((int)SMALLER(most, stop - tap), (int)vectors, part->source, in_order,
                                 part->tap_places + tap, part->out_places + place, SMALLER(LONG_SUM, places - place),
                                 factors + place * lanes, totals + tap * lanes, 1);
                }
            }
        }
        factors += places * lanes;
        totals += part->length * lanes;
    }
}

static void
NAMED(write_weight_lanes)(const NAMED(Part) *part, const double *totals)
{
    const Correlation *work = &part->work;
    const ptrdiff_t all = NAMED(vectors_for)(work->outputs), blocks = NAMED(blocks)(all, MOST_VECTORS);
    ptrdiff_t first = 0;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t lanes = NAMED(block_size)(all, blocks, block) * LANES;
        for (ptrdiff_t lane = 0; lane < SMALLER(lanes, work->outputs - first); lane++) {
            REAL *to = (REAL *)work->weight + (first + lane) * work->weight_output;
            for (ptrdiff_t k = 0; k < part->length; k++) {
                to[part->tap_weights[k]] = (REAL)totals[k * lanes + lane];
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
            ADD(NAMED(load_some)(from, rest, 0), NAMED(load_some)(from, rest, 0));
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
NAMED(add_by_places)(const NAMED(Part) *part, ptrdiff_t samples, REAL *totals)
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
                const REAL *factors = NAMED(result_row)(part, sample, first, z, y);
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
NAMED(write_weight_places)(const NAMED(Part) *part, const double *totals)
{
    const Correlation *work = &part->work;
    for (ptrdiff_t output = 0; output < work->outputs; output++) {
        for (ptrdiff_t k = 0; k < part->length; k++) {
            ((REAL *)work->weight)[output * work->weight_output + part->tap_weights[k]] = (REAL)*totals++;
        }
    }
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

#define MANY_PLACES 4096 /* after so many the sums go on in double: errors do not grow with the number of samples */
#define SHARES 8         /* of the samples, where channels are few */

static void
NAMED(add_up)(double *restrict wide, REAL *restrict totals, ptrdiff_t size)
{
    for (ptrdiff_t at = 0; at < size; at++) {
        wide[at] += (double)totals[at];
        totals[at] = 0;
    }
}

/* How many sums there are for one group's weight. */
static ptrdiff_t
NAMED(size_of_sums)(const Correlation *work, const Plan *plan)
{
    const ptrdiff_t taps = work->axes[0].taps * work->axes[1].taps * work->axes[2].taps;
    const ptrdiff_t sums = work->channels * taps;
    switch (plan->way) {
    case BY_LANES: return sums * NAMED(vectors_for)(work->outputs) * LANES;
    case BY_ROWS: return sums * work->outputs * LANES;
    default: return sums * work->outputs;
    }
}

/* Adds the products of some items (blocks of samples of the parts of one group) to `wide`. */
static void
NAMED(add_items)(NAMED(Part) *part, const Correlation *work, const Plan *plan, ptrdiff_t start, ptrdiff_t stop,
                 REAL *factors, REAL *totals, double *wide)
{
    const ptrdiff_t size = NAMED(size_of_sums)(work, plan);
    ptrdiff_t places = 0, now = -1;
    memset(totals, 0, size * sizeof(REAL));
    memset(wide, 0, size * sizeof(double));
    for (ptrdiff_t item = start; item < stop; item++) {
        const ptrdiff_t first = item % plan->blocks * plan->samples, samples = SMALLER(plan->samples, work->samples - first);
        if (item / plan->blocks != now) {
            now = item / plan->blocks;
            NAMED(begin_part)(part, work, plan, now);
        }
        NAMED(read_source)(part, plan, first, samples);
        switch (plan->way) {
        case BY_LANES:
            NAMED(pack_factors)(part, samples, factors);
            NAMED(add_by_lanes)(part, samples, factors, totals);
            break;
        case BY_PLACES: NAMED(add_by_places)(part, samples, totals); break;
        case BY_ROWS: NAMED(add_by_rows)(part, samples, totals); break;
        }
        places += part->places * samples;
        if (places >= MANY_PLACES || item + 1 == stop) {
            NAMED(add_up)(wide, totals, size);
            places = 0;
        }
    }
}

static void
NAMED(write_weight)(const NAMED(Part) *part, const Plan *plan, const double *wide)
{
    switch (plan->way) {
    case BY_LANES: NAMED(write_weight_lanes)(part, wide); break;
    case BY_PLACES: NAMED(write_weight_places)(part, wide); break;
    case BY_ROWS: NAMED(write_weight_rows)(part, wide); break;
    }
}

static int
NAMED(plan_weight)(const Correlation *work, Plan *plan)
{
    const ptrdiff_t width = work->axes[2].count;
    const int by_lanes = 5 * work->outputs * NAMED(vectors_for)(width) > 4 * width * NAMED(vectors_for)(work->outputs);
    plan->way = NAMED(is_depthwise)(work) ? BY_ROWS : by_lanes ? BY_LANES : BY_PLACES;
    NAMED(cut_into_parts)(work, plan, plan->way == BY_LANES ? NAMED(vectors_for)(work->outputs) * LANES : 0);
    plan->skips = 0;
    plan->items = work->groups * work->channels;
    plan->scratch = NULL;
    if (plan->items < FEW_CHANNELS) {
        plan->items = SMALLER(SHARES, plan->parts * plan->blocks);
        plan->scratch_group = NAMED(size_of_sums)(work, plan);
        plan->scratch = malloc(plan->items * work->groups * plan->scratch_group * sizeof(double));
        return plan->scratch == NULL ? -1 : 0;
    }
    return 0;
}

/* The gradient for the channels of all groups from `start` to `stop`; or the sums of the shares of the samples. */
static int
NAMED(correlate_weight)(const Correlation *work, const Plan *plan, ptrdiff_t start, ptrdiff_t stop)
{
    const ptrdiff_t lanes = NAMED(vectors_for)(work->outputs) * LANES, size = NAMED(size_of_sums)(work, plan);
    const ptrdiff_t all = plan->parts * plan->blocks;
    NAMED(Part) part = {0};
    REAL *totals = NULL, *factors = NULL;
    double *wide = NULL;
    int done = -1;
    if (NAMED(allocate_part)(&part, work, plan)) {
        totals = NAMED(allocate)(size);
        wide = malloc(size * sizeof(double));
        factors = NAMED(allocate)(plan->way == BY_LANES ? part.places * plan->samples * lanes : 1);
        done = totals != NULL && wide != NULL && factors != NULL ? 0 : -1;
    }
    for (ptrdiff_t item = start; done == 0 && plan->scratch == NULL && item < stop;) {
        const ptrdiff_t group = item / work->channels, first = item % work->channels;
        const ptrdiff_t channels = SMALLER(work->channels - first, stop - item);
        const Correlation own = NAMED(of_group)(work, group, first, channels);
        NAMED(add_items)(&part, &own, plan, 0, all, factors, totals, wide);
        NAMED(write_weight)(&part, plan, wide);
        item += channels;
    }
    for (ptrdiff_t item = start * work->groups; done == 0 && plan->scratch != NULL && item < stop * work->groups; item++) {
        const Correlation own = NAMED(of_group)(work, item % work->groups, 0, work->channels);
        const ptrdiff_t share = item / work->groups;
        NAMED(add_items)(&part, &own, plan, share * all / plan->items, (share + 1) * all / plan->items, factors, totals,
                         (double *)plan->scratch + item * plan->scratch_group);
    }
    free(totals);
    free(wide);
    free(factors);
    NAMED(free_part)(&part);
    return done;
}

/* Adds up the sums of the shares, in their order, and writes the weight. */
static int
NAMED(end_weight)(const Correlation *work, const Plan *plan)
{
    double *sums = plan->scratch;
    const ptrdiff_t size = work->groups * plan->scratch_group;
    NAMED(Part) part = {0};
    if (sums == NULL) {
        return 0;
    }
    for (ptrdiff_t share = 1; share < plan->items; share++) {
        for (ptrdiff_t at = 0; at < size; at++) {
            sums[at] += sums[share * size + at];
        }
    }
    const int done = NAMED(allocate_part)(&part, work, plan) ? 0 : -1;
    for (ptrdiff_t group = 0; done == 0 && group < work->groups; group++) {
        const Correlation own = NAMED(of_group)(work, group, 0, work->channels);
        NAMED(begin_part)(&part, &own, plan, 0);
        NAMED(write_weight)(&part, plan, sums + group * plan->scratch_group);
    }
    NAMED(free_part)(&part);
    return done;
}
