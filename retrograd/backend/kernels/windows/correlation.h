/* Convolution, and its gradient for the input, for one type: see Correlation in windows.h.
 *
 * Sums are taken directly from the source of a part, in one of two ways: the lanes of a vector are outputs, or they are
 * neighbouring places of one output. The first wastes lanes where outputs are few, the second where rows are short.
 */

/* ---- lanes are outputs ---------------------------------------------------------------------------------------- */

/* Where the panel of products has the weights of one output, as they lie in memory; below zero: this tap is not used. */
static void
NAMED(fill_panel_places)(const NAMED(Part) *part, int32_t *places)
{
    const Correlation *work = &part->work;
    for (ptrdiff_t at = 0; at < work->channels * work->kernel; at++) {
        places[at] = -1;
    }
    for (ptrdiff_t k = 0; k < part->length; k++) {
        const ptrdiff_t channel = part->tap_weights[k] / work->weight_channel;
        places[channel * work->kernel + part->tap_weights[k] % work->weight_channel] = (int32_t)k;
    }
}

/* weights[block][channel, tap][lane], zeros in lanes that have no output. */
static void
NAMED(pack_lanes)(const NAMED(Part) *part, const int32_t *places, REAL *to)
{
    const Correlation *work = &part->work;
    const ptrdiff_t all = NAMED(vectors_for)(work->outputs), blocks = NAMED(blocks)(all, MOST_VECTORS);
    const ptrdiff_t together = work->weight_channel == work->kernel ? work->channels : 1;
    ptrdiff_t first = 0;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t lanes = NAMED(block_size)(all, blocks, block) * LANES;
        const ptrdiff_t used = SMALLER(lanes, work->outputs - first);
        if (used < lanes) {
            memset(to, 0, part->length * lanes * sizeof(REAL));
        }
        for (ptrdiff_t channel = 0; channel < work->channels; channel += together) {
            const REAL *from = (const REAL *)work->weight + first * work->weight_output + channel * work->weight_channel;
            if (work->weight_output == 1) {
                memcpy(to + places[channel] * lanes, from, used * sizeof(REAL));
            }
            else {
                NAMED(transpose_to)(to, lanes, places + channel * work->kernel, from, work->weight_output, used,
                                    together * work->kernel);
            }
        }
        to += part->length * lanes;
        first += lanes;
    }
}

/* The bias is what the sums start at: one row for each place. */
static void
NAMED(start_lanes)(const NAMED(Part) *part, REAL *sums, ptrdiff_t places, ptrdiff_t lanes, ptrdiff_t first, ptrdiff_t used)
{
    memcpy(sums, (const REAL *)part->work.bias + first, used * sizeof(REAL));
    memset(sums + used, 0, (lanes - used) * sizeof(REAL));
    for (ptrdiff_t place = 1; place < places; place++) {
        memcpy(sums + place * lanes, sums, lanes * sizeof(REAL));
    }
}

/* Sums [place][lane] to rows of the result. */
static void
NAMED(write_lanes)(const NAMED(Part) *part, ptrdiff_t samples, const REAL *sums, ptrdiff_t lanes, ptrdiff_t first,
                   ptrdiff_t used)
{
    const Axis *axes = part->work.axes;
    const ptrdiff_t plane = axes[0].result * axes[1].result * axes[2].result, step = axes[2].result_step;
    const int dense = step == 1 && axes[1].result_step == 1 && axes[2].count == axes[2].result;
    const ptrdiff_t height = dense ? 1 : axes[1].count, width = dense ? axes[1].count * axes[2].count : axes[2].count;
    for (ptrdiff_t slice = 0; slice < samples * axes[0].count; slice++) {
        for (ptrdiff_t y = 0; y < height; y++, sums += width * lanes) {
            REAL *to = NAMED(result_row)(part, slice / axes[0].count, first, slice % axes[0].count, y);
            if (step == 1) {
                NAMED(transpose)(to, plane, sums, lanes, width, used);
                continue;
            }
            for (ptrdiff_t lane = 0; lane < used; lane++, to += plane) {
                for (ptrdiff_t x = 0; x < width; x++) {
                    to[x * step] = sums[x * lanes + lane];
                }
            }
        }
    }
}

/* The products of one block of channels, from number `base` on, for the outputs of one class. Taps that follow each other
 * are taken together as far as a sum may be long. */
static void
NAMED(add_class)(const NAMED(Part) *part, const NAMED(Class) *class, ptrdiff_t samples, ptrdiff_t base, ptrdiff_t beside,
                 const REAL *weights, int vectors, REAL *sums, int more)
{
    const ptrdiff_t height = part->work.axes[1].taps, width = part->work.axes[2].taps;
    const ptrdiff_t most = LANE_ROWS(vectors);
    const NAMED(Stretch) z = class->z, y = class->y, x = class->x;
    const int whole_rows = x.tap_stop - x.tap_first == width;
    const int whole_slices = whole_rows && y.tap_stop - y.tap_first == height;
    const ptrdiff_t slices = whole_slices ? z.tap_stop - z.tap_first : 1, rows = whole_rows ? y.tap_stop - y.tap_first : 1;
    const ptrdiff_t run = slices * rows * (x.tap_stop - x.tap_first) * beside, pieces = NAMED(blocks)(run, LONG_SUM);
    for (ptrdiff_t a = z.tap_first; a < z.tap_stop; a += slices) {
        for (ptrdiff_t b = y.tap_first; b < y.tap_stop; b += rows) {
            ptrdiff_t k = base + ((a * height + b) * width + x.tap_first) * beside;
            for (ptrdiff_t piece = 0; piece < pieces; piece++) {
                const ptrdiff_t length = NAMED(block_size)(run, pieces, piece), outputs = class->outputs * samples;
                for (ptrdiff_t place = 0; place < outputs; place += most) {
                    NAMED(lanes)((int)SMALLER(most, outputs - place), vectors, part->source, class->order + place,
                                 part->out_places, part->tap_places + k, length, weights + k * vectors * LANES, sums,
                                 more);
                }
                k += length;
                more = 1;
            }
        }
    }
}

static void
NAMED(correlate_lanes)(const NAMED(Part) *part, ptrdiff_t samples, const REAL *weights, REAL *sums)
{
    const ptrdiff_t all = NAMED(vectors_for)(part->work.outputs), blocks = NAMED(blocks)(all, MOST_VECTORS);
    const ptrdiff_t channels = part->work.channels, channel_blocks = NAMED(blocks)(channels, BESIDE);
    ptrdiff_t first = 0;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t vectors = NAMED(block_size)(all, blocks, block), lanes = vectors * LANES;
        const ptrdiff_t used = SMALLER(lanes, part->work.outputs - first);
        const int biased = part->work.bias != NULL;
        if (biased) {
            NAMED(start_lanes)(part, sums, part->places * samples, lanes, first, used);
        }
        ptrdiff_t base = 0;
        for (ptrdiff_t next = 0; next < channel_blocks; next++) {
            const ptrdiff_t beside = NAMED(block_size)(channels, channel_blocks, next);
            for (int class = 0; class < part->class_count; class++) {
                NAMED(add_class)(part, &part->classes[class], samples, base, beside, weights, (int)vectors, sums,
                                 biased || next > 0);
            }
            base += beside * part->taps;
        }
        NAMED(write_lanes)(part, samples, sums, lanes, first, used);
        weights += part->length * lanes;
        first += lanes;
    }
}

/* ---- lanes are places ------------------------------------------------------------------------------------------- */

/* weights[block][channel, tap][output] */
static void
NAMED(pack_places)(const NAMED(Part) *part, REAL *to)
{
    const Correlation *work = &part->work;
    const REAL *weight = work->weight;
    const ptrdiff_t blocks = NAMED(blocks)(work->outputs, MOST_ROWS);
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t rows = NAMED(block_size)(work->outputs, blocks, block);
        for (ptrdiff_t k = 0; k < part->length; k++) {
            for (ptrdiff_t row = 0; row < rows; row++) {
                *to++ = weight[row * work->weight_output + part->tap_weights[k]];
            }
        }
        weight += rows * work->weight_output;
    }
}

/* The places of one slice lie in one run of the source, with a few between rows that are no outputs. */
static ptrdiff_t
NAMED(run_of_slice)(const NAMED(Part) *part)
{
    return (part->work.axes[1].count - 1) * part->row + part->work.axes[2].count;
}

/* The places from `at` to `stop` of such a run to rows of the result. */
static void
NAMED(write_places)(const NAMED(Part) *part, ptrdiff_t sample, ptrdiff_t output, ptrdiff_t z, const REAL *sums,
                    ptrdiff_t at, ptrdiff_t stop)
{
    const ptrdiff_t width = part->work.axes[2].count, step = part->work.axes[2].result_step;
    for (ptrdiff_t y = at / part->row, x = at % part->row; at < stop; y++, x = 0) {
        const ptrdiff_t piece = SMALLER(part->row - x, stop - at), used = SMALLER(piece, width - x);
        REAL *to = NAMED(result_row)(part, sample, output, z, y) + x * step;
        if (step == 1) {
            NAMED(copy_run)(to, sums, used);
        }
        for (ptrdiff_t next = 0; step != 1 && next < used; next++) {
            to[next * step] = sums[next];
        }
        sums += piece;
        at += piece;
    }
}

/* All outputs at `vectors` vectors of places: the source that they need stays in the first-level cache. */
static void
NAMED(correlate_tile)(const NAMED(Part) *part, ptrdiff_t sample, ptrdiff_t z, ptrdiff_t at, ptrdiff_t stop, int vectors,
                      const REAL *weights)
{
    const Correlation *work = &part->work;
    const REAL *source = part->source + sample * part->sample + z * part->slice + at;
    const ptrdiff_t blocks = NAMED(blocks)(work->outputs, MOST_ROWS), width = work->axes[2].count;
    const ptrdiff_t plane = work->axes[0].result * work->axes[1].result * work->axes[2].result;
    const int dense = work->axes[2].result_step == 1 && work->axes[1].result_step == 1 && part->row == width
                      && width == work->axes[2].result && stop - at == vectors * LANES;
    REAL tile[MOST_ROWS * MOST_VECTORS * LANES] __attribute__((aligned(64)));
    ptrdiff_t first = 0;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t rows = NAMED(block_size)(work->outputs, blocks, block);
        REAL *to = dense ? NAMED(result_row)(part, sample, first, z, 0) + at : tile, start[MOST_ROWS] = {0};
        const ptrdiff_t to_row = dense ? plane : MOST_VECTORS * LANES;
        for (ptrdiff_t row = 0; work->bias != NULL && row < rows; row++) {
            start[row] = ((const REAL *)work->bias)[first + row];
        }
        for (ptrdiff_t k = 0; k < part->length; k += LONG_SUM) {
            NAMED(places)((int)rows, vectors, source, part->tap_places + k, SMALLER(LONG_SUM, part->length - k),
                          weights + k * rows, start, to, to_row, k > 0);
        }
        for (ptrdiff_t row = 0; !dense && row < rows; row++) {
            NAMED(write_places)(part, sample, first + row, z, tile + row * to_row, at, stop);
        }
        weights += part->length * rows;
        first += rows;
    }
}

static void
NAMED(correlate_places)(const NAMED(Part) *part, ptrdiff_t samples, const REAL *weights)
{
    const ptrdiff_t run = NAMED(run_of_slice)(part), slices = part->work.axes[0].count;
    for (ptrdiff_t slice = 0; slice < samples * slices; slice++) {
        for (ptrdiff_t at = 0; at < run;) {
            const int vectors = run - at > (MOST_VECTORS - 1) * LANES ? MOST_VECTORS : 1;
            NAMED(correlate_tile)(part, slice / slices, slice % slices, at, SMALLER(run, at + vectors * LANES), vectors,
                                  weights);
            at += vectors * LANES;
        }
    }
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

#define FEW_CHANNELS 16 /* sums of fewer are too short to be cut at the border */

/* Which share of all products meets the source, not its padding. */
static double
NAMED(share_inside)(const Correlation *work)
{
    double share = 1;
    for (int number = 0; number < AXES; number++) {
        const Axis *axis = &work->axes[number];
        ptrdiff_t inside = 0;
        for (ptrdiff_t tap = 0; tap < axis->taps; tap++) {
            const ptrdiff_t start = axis->source_first + axis->slot_start[axis->tap_slot[tap]];
            for (ptrdiff_t output = 0; output < axis->count; output++) {
                const ptrdiff_t place = start + (output + axis->tap_shift[tap]) * axis->step;
                inside += place >= 0 && place < axis->source;
            }
        }
        share *= (double)inside / (double)(axis->taps * axis->count);
    }
    return share;
}

/* Whether what meets padding should be left out where lanes are outputs. The outputs are then done by the taps that they
 * meet, in shorter sums: the wider the window, the more kinds of outputs there are. */
static int
NAMED(prefers_skips)(const Correlation *work, double inside)
{
    const ptrdiff_t many = FEW_CHANNELS * (work->axes[2].taps - 1);
    return inside < 1 && work->channels >= FEW_CHANNELS && (work->channels >= many || inside < 0.9);
}

/* Whether lanes should be outputs: by the number of vectors that are multiplied, and the steps to write them. Outputs as
 * lanes take a tenth less time for each: numbers are read from one line of the cache. But where one vector holds all
 * outputs a number is read for each product, which takes longer than the product. */
static int
NAMED(prefers_lanes)(const NAMED(Part) *part, double used)
{
    const double outputs = (double)part->work.outputs, length = (double)part->length;
    const double vectors = (double)NAMED(vectors_for)(part->work.outputs), each = vectors > 1 ? 0.9 : 1.3;
    const double by_lanes = (double)part->places * (vectors * length * used + outputs);
    const double by_places = (double)part->work.axes[0].count * (double)NAMED(vectors_for)(NAMED(run_of_slice)(part))
                             * outputs * (length + 2);
    return each * by_lanes < by_places;
}

/* Whether all are finite: a product with a zero of the padding is zero, then. */
static int
NAMED(are_finite)(const REAL *numbers, ptrdiff_t count)
{
    V sum = {0};
    ptrdiff_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        sum += NAMED(load)(numbers + at) * 0;
    }
    if (at < count) {
        sum += NAMED(load_some)(numbers + at, count - at, 0) * 0;
    }
    return NAMED(sum_lanes)(sum) == 0;
}

static int
NAMED(plan_correlation)(const Correlation *work, Plan *plan)
{
    NAMED(Part) part = {.work = *work};
    NAMED(measure)(&part);
    const double inside = NAMED(share_inside)(work);
    const int skips = NAMED(prefers_skips)(work, inside);
    plan->way = NAMED(is_depthwise)(work)                          ? BY_ROWS
                : NAMED(prefers_lanes)(&part, skips ? inside : 1) ? BY_LANES
                                                                   : BY_PLACES;
    NAMED(cut_into_parts)(work, plan, 0);
    plan->skips = skips && plan->way == BY_LANES && !plan->direct
                  && NAMED(are_finite)(work->weight, work->groups * work->weight_group);
    plan->items = work->groups * plan->parts * plan->blocks;
    plan->scratch_group = part.length * NAMED(vectors_for)(work->outputs) * LANES;
    plan->scratch = NAMED(allocate)(work->groups * plan->scratch_group);
    part.tap_places = malloc(LARGER(part.length, work->channels * work->kernel) * sizeof(int32_t));
    part.tap_weights = malloc(part.length * sizeof(ptrdiff_t));
    const int done = plan->scratch != NULL && part.tap_places != NULL && part.tap_weights != NULL ? 0 : -1;
    if (done == 0) {
        NAMED(fill_taps)(&part);
        NAMED(fill_panel_places)(&part, part.tap_places);
    }
    for (ptrdiff_t group = 0; done == 0 && group < work->groups; group++) {
        REAL *to = (REAL *)plan->scratch + group * plan->scratch_group;
        part.work = NAMED(of_group)(work, group, 0, work->channels);
        switch (plan->way) {
        case BY_LANES: NAMED(pack_lanes)(&part, part.tap_places, to); break;
        case BY_PLACES: NAMED(pack_places)(&part, to); break;
        case BY_ROWS: NAMED(pack_rows)(&part, to); break;
        }
    }
    NAMED(free_part)(&part);
    return done;
}

static int
NAMED(correlate)(const Correlation *work, const Plan *plan, ptrdiff_t start, ptrdiff_t stop)
{
    NAMED(Part) part = {0};
    const ptrdiff_t widest = SMALLER(MOST_VECTORS, NAMED(vectors_for)(work->outputs)) * LANES;
    REAL *sums = NULL;
    int done = -1;
    if (NAMED(allocate_part)(&part, work, plan)) {
        sums = NAMED(allocate)(plan->way == BY_LANES ? part.places * plan->samples * widest : 1);
        done = sums == NULL ? -1 : 0;
    }
    ptrdiff_t now = -1, now_group = -1;
    for (ptrdiff_t item = start; done == 0 && item < stop; item++) {
        const ptrdiff_t group = item / plan->blocks / plan->parts, first = item % plan->blocks * plan->samples;
        const ptrdiff_t samples = SMALLER(plan->samples, work->samples - first);
        const REAL *weights = (const REAL *)plan->scratch + group * plan->scratch_group;
        if (item / plan->blocks % plan->parts != now) {
            now = item / plan->blocks % plan->parts;
            NAMED(begin_part)(&part, work, plan, now);
            if (plan->way == BY_LANES) {
                NAMED(fill_classes)(&part, plan->samples, plan->skips);
            }
            now_group = -1;
        }
        if (group != now_group) {
            NAMED(set_group)(&part, work, group);
            now_group = group;
        }
        NAMED(read_source)(&part, plan, first, samples);
        switch (plan->way) {
        case BY_LANES: NAMED(correlate_lanes)(&part, samples, weights, sums); break;
        case BY_PLACES: NAMED(correlate_places)(&part, samples, weights); break;
        case BY_ROWS: NAMED(correlate_rows)(&part, samples, weights); break;
        }
    }
    free(sums);
    NAMED(free_part)(&part);
    return done;
}
