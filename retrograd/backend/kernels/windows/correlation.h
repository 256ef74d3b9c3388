/* Convolution, and its gradient for the input, for one type: see Correlation in windows.h.
 *
 * A part of the source is copied, with its padding, into scratch that fits the cache. Then sums are taken directly from
 * there, in one of two ways: the lanes of a vector are outputs, or they are neighbouring places of one output. The
 * first wastes lanes where outputs are few, the second where rows are short.
 */

/* ---- parts of a source ---------------------------------------------------------------------------------------- */

#define SCRATCH_BYTES ((ptrdiff_t)1 << 19) /* about half of a common second-level cache */
#define LONG_SUM 96                        /* how many products are added up before their sum joins a total */
#define MANY_OUTPUTS 384                   /* of a part: small images are taken several at once */

/* Memory that begins where a vector does, or NULL: vectors that lie across two lines of the cache cost twice. */
static void *
NAMED(allocate)(ptrdiff_t elements)
{
    return aligned_alloc(64, ((elements * (ptrdiff_t)sizeof(REAL) + 63) / 64 + 1) * 64);
}

typedef struct {
    Correlation work;     /* a part: some samples, and some outputs along one axis */
    ptrdiff_t first;      /* of the samples */
    ptrdiff_t row, slice, slot, channel, sample; /* elements of scratch */
    ptrdiff_t taps;       /* of all axes */
    ptrdiff_t length;     /* channels * taps */
    ptrdiff_t places;     /* outputs of a sample */
    REAL *source;
    int32_t *tap_places;  /* where in scratch the taps of the first output are: by channel and tap */
    int32_t *out_places;  /* where the first tap of each output is, for all samples of the part */
    ptrdiff_t *tap_weights; /* where each tap's weight is */
} NAMED(Part);

static ptrdiff_t
NAMED(largest_shift)(const Axis *axis)
{
    return axis->length - axis->count;
}

/* `count` outputs of an axis from number `first` on. */
static Axis
NAMED(outputs_from)(const Axis *axis, ptrdiff_t first, ptrdiff_t count)
{
    Axis found = *axis;
    found.count = count;
    found.length = count + NAMED(largest_shift)(axis);
    found.source_first += first * axis->step;
    found.result_first += first * axis->result_step;
    return found;
}

static void
NAMED(measure)(NAMED(Part) *part)
{
    const Axis *axes = part->work.axes;
    part->row = axes[2].length;
    part->slice = part->row * axes[1].length;
    part->slot = part->slice * axes[0].length;
    part->channel = part->slot * axes[0].slots * axes[1].slots * axes[2].slots;
    part->sample = part->channel * part->work.channels;
    part->places = axes[0].count * axes[1].count * axes[2].count;
    part->taps = axes[0].taps * axes[1].taps * axes[2].taps;
    part->length = part->taps * part->work.channels;
}

/* How one call is cut: along the first axis with several outputs, or into blocks of a few samples. */
typedef struct {
    int axis;
    ptrdiff_t outputs; /* of that axis, in a part */
    ptrdiff_t samples;
} NAMED(Cut);

static NAMED(Cut)
NAMED(cut_into_parts)(const Correlation *work)
{
    NAMED(Part) whole = {.work = *work};
    NAMED(measure)(&whole);
    const ptrdiff_t room = SCRATCH_BYTES / (ptrdiff_t)sizeof(REAL);
    NAMED(Cut) cut = {.axis = work->axes[0].count > 1 ? 0 : work->axes[1].count > 1 ? 1 : 2, .samples = 1};
    const Axis *axis = &work->axes[cut.axis];
    cut.outputs = axis->count;
    if (whole.sample > room) {
        const ptrdiff_t fitting = room / (whole.sample / axis->length) - NAMED(largest_shift)(axis);
        cut.outputs = LARGER(1, SMALLER(fitting, axis->count));
    }
    else if (whole.places < MANY_OUTPUTS) {
        const ptrdiff_t wanted = (MANY_OUTPUTS + whole.places - 1) / whole.places;
        cut.samples = LARGER(1, SMALLER(SMALLER(wanted, room / whole.sample), work->samples));
    }
    return cut;
}

static void
NAMED(free_part)(NAMED(Part) *part)
{
    free(part->source);
    free(part->tap_places);
    free(part->out_places);
    free(part->tap_weights);
}

/* Whether there is memory for the largest part; and its places fit into 32 bits. */
static int
NAMED(allocate_part)(NAMED(Part) *part, const Correlation *work, NAMED(Cut) cut)
{
    part->work = *work;
    part->work.axes[cut.axis] = NAMED(outputs_from)(&work->axes[cut.axis], 0, cut.outputs);
    NAMED(measure)(part);
    const ptrdiff_t elements = part->sample * cut.samples + MOST_VECTORS * LANES;
    if (elements > INT32_MAX) {
        return 0;
    }
    part->source = NAMED(allocate)(elements);
    part->tap_places = malloc(part->length * sizeof(int32_t));
    part->out_places = malloc((part->places * cut.samples + MOST_ROWS) * sizeof(int32_t));
    part->tap_weights = malloc(part->taps * sizeof(ptrdiff_t));
    if (part->source != NULL) { /* what lies after the last row is read, and not used */
        memset(part->source + part->sample * cut.samples, 0, MOST_VECTORS * LANES * sizeof(REAL));
    }
    return part->source != NULL && part->tap_places != NULL && part->out_places != NULL && part->tap_weights != NULL;
}

/* The tables of a part: they follow from the lengths of its axes. */
static void
NAMED(fill_tables)(NAMED(Part) *part, ptrdiff_t samples)
{
    const Axis *d = &part->work.axes[0], *h = &part->work.axes[1], *w = &part->work.axes[2];
    ptrdiff_t tap = 0;
    for (ptrdiff_t a = 0; a < d->taps; a++) {
        for (ptrdiff_t b = 0; b < h->taps; b++) {
            for (ptrdiff_t c = 0; c < w->taps; c++, tap++) {
                const ptrdiff_t slot = (d->tap_slot[a] * h->slots + h->tap_slot[b]) * w->slots + w->tap_slot[c];
                const ptrdiff_t place = slot * part->slot + d->tap_shift[a] * part->slice
                                        + h->tap_shift[b] * part->row + w->tap_shift[c];
                for (ptrdiff_t channel = 0; channel < part->work.channels; channel++) {
                    part->tap_places[channel * part->taps + tap] = (int32_t)(channel * part->channel + place);
                }
                part->tap_weights[tap] = d->tap_weight[a] * part->work.weight_tap[0]
                                         + h->tap_weight[b] * part->work.weight_tap[1]
                                         + w->tap_weight[c] * part->work.weight_tap[2];
            }
        }
    }
    int32_t *to = part->out_places;
    for (ptrdiff_t sample = 0; sample < samples; sample++) {
        for (ptrdiff_t z = 0; z < d->count; z++) {
            for (ptrdiff_t y = 0; y < h->count; y++) {
                for (ptrdiff_t x = 0; x < w->count; x++) {
                    *to++ = (int32_t)(sample * part->sample + z * part->slice + y * part->row + x);
                }
            }
        }
    }
    for (int more = 0; more < MOST_ROWS; more++) {
        to[more] = to[-1];
    }
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

/* memcpy of short runs, whose call would cost more than the copy: a few moves that may overlap. */
INLINE void
NAMED(copy_run)(REAL *restrict to, const REAL *restrict from, ptrdiff_t count)
{
    char *end = (char *)(to + count);
    const char *last = (const char *)(from + count);
    const ptrdiff_t bytes = count * (ptrdiff_t)sizeof(REAL);
    if (bytes >= 32) {
        ptrdiff_t at = 0;
        for (; at + 32 <= bytes; at += 32) {
            memcpy((char *)to + at, (const char *)from + at, 32);
        }
        memcpy(end - 32, last - 32, 32);
    }
    else if (bytes >= 16) {
        memcpy(to, from, 16);
        memcpy(end - 16, last - 16, 16);
    }
    else if (bytes >= 8) {
        memcpy(to, from, 8);
        memcpy(end - 8, last - 8, 8);
    }
    else if (bytes > 0) {
        to[0] = from[0];
    }
}

/* The elements of a slot that lie inside of the source: from `before` to `stop`. */
typedef struct {
    ptrdiff_t start, before, stop;
} NAMED(Inside);

static NAMED(Inside)
NAMED(inside_of)(const Axis *axis, ptrdiff_t slot)
{
    const ptrdiff_t start = axis->slot_start[slot] + axis->source_first, step = axis->step;
    const ptrdiff_t before = SMALLER(axis->length, start < 0 ? (step - 1 - start) / step : 0);
    const ptrdiff_t fitting = start < axis->source ? (axis->source - start + step - 1) / step : 0;
    return (NAMED(Inside)){start, before, LARGER(before, SMALLER(axis->length, fitting))};
}

INLINE void
NAMED(copy_row)(REAL *restrict to, const REAL *restrict from, NAMED(Inside) inside, ptrdiff_t step, ptrdiff_t length)
{
    for (ptrdiff_t x = 0; x < inside.before; x++) {
        to[x] = 0;
    }
    if (step == 1) {
        NAMED(copy_run)(to + inside.before, from + inside.start + inside.before, inside.stop - inside.before);
    }
    else {
        for (ptrdiff_t x = inside.before; x < inside.stop; x++) {
            to[x] = from[inside.start + x * step];
        }
    }
    for (ptrdiff_t x = inside.stop; x < length; x++) {
        to[x] = 0;
    }
}

/* One slot of one channel: copies what is inside of the source, zeros the rest. */
static void
NAMED(copy_slot)(const NAMED(Part) *part, REAL *restrict to, const REAL *from, NAMED(Inside) deep, NAMED(Inside) high,
                 NAMED(Inside) wide)
{
    const Axis *d = &part->work.axes[0], *h = &part->work.axes[1], *w = &part->work.axes[2];
    for (ptrdiff_t z = 0; z < d->length; z++, to += part->slice) {
        if (z < deep.before || z >= deep.stop) {
            memset(to, 0, part->slice * sizeof(REAL));
            continue;
        }
        const REAL *plane = from + (deep.start + z * d->step) * h->source * w->source;
        memset(to, 0, high.before * part->row * sizeof(REAL));
        for (ptrdiff_t y = high.before; y < high.stop; y++) {
            NAMED(copy_row)(to + y * part->row, plane + (high.start + y * h->step) * w->source, wide, w->step, part->row);
        }
        memset(to + high.stop * part->row, 0, (h->length - high.stop) * part->row * sizeof(REAL));
    }
}

static void
NAMED(copy_source)(const NAMED(Part) *part, ptrdiff_t group, ptrdiff_t samples)
{
    const Axis *d = &part->work.axes[0], *h = &part->work.axes[1], *w = &part->work.axes[2];
    const ptrdiff_t plane = d->source * h->source * w->source, channels = part->work.channels;
    REAL *to = part->source;
    for (ptrdiff_t sample = part->first; sample < part->first + samples; sample++) {
        const REAL *from = (const REAL *)part->work.source + (sample * part->work.groups + group) * channels * plane;
        for (ptrdiff_t channel = 0; channel < channels; channel++, from += plane) {
            for (ptrdiff_t a = 0; a < d->slots; a++) {
                for (ptrdiff_t b = 0; b < h->slots; b++) {
                    for (ptrdiff_t c = 0; c < w->slots; c++, to += part->slot) {
                        NAMED(copy_slot)(part, to, from, NAMED(inside_of)(d, a), NAMED(inside_of)(h, b),
                                         NAMED(inside_of)(w, c));
                    }
                }
            }
        }
    }
}

/* Where in the result the row (z, y) of one output of one sample starts. */
INLINE REAL *
NAMED(result_row)(const NAMED(Part) *part, ptrdiff_t sample, ptrdiff_t group, ptrdiff_t output, ptrdiff_t z, ptrdiff_t y)
{
    const Axis *d = &part->work.axes[0], *h = &part->work.axes[1], *w = &part->work.axes[2];
    const ptrdiff_t plane = ((part->first + sample) * part->work.groups + group) * part->work.outputs + output;
    const ptrdiff_t deep = d->result_first + z * d->result_step, high = h->result_first + y * h->result_step;
    return (REAL *)part->work.result + ((plane * d->result + deep) * h->result + high) * w->result + w->result_first;
}

/* ---- lanes are outputs ---------------------------------------------------------------------------------------- */

/* How `count` is cut into blocks of at most `most`, nearly equal; the size of number `block`. */
INLINE ptrdiff_t
NAMED(blocks)(ptrdiff_t count, ptrdiff_t most)
{
    return (count + most - 1) / most;
}

INLINE ptrdiff_t
NAMED(block_size)(ptrdiff_t count, ptrdiff_t blocks, ptrdiff_t block)
{
    return count / blocks + (block < count % blocks);
}

static ptrdiff_t
NAMED(vectors_for)(ptrdiff_t outputs)
{
    return (outputs + LANES - 1) / LANES;
}

/* weights[block][channel, tap][lane], zeros in lanes that have no output. */
static void
NAMED(pack_lanes)(const NAMED(Part) *part, ptrdiff_t group, REAL *to)
{
    const Correlation *work = &part->work;
    const REAL *weight = (const REAL *)work->weight + group * work->weight_group;
    const ptrdiff_t all = NAMED(vectors_for)(work->outputs), blocks = NAMED(blocks)(all, MOST_VECTORS);
    const int in_order = work->weight_channel == part->taps && part->tap_weights[part->taps - 1] == part->taps - 1;
    ptrdiff_t first = 0;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t lanes = NAMED(block_size)(all, blocks, block) * LANES;
        const ptrdiff_t used = SMALLER(lanes, work->outputs - first);
        if (in_order) {
            NAMED(transpose)(to, lanes, weight + first * work->weight_output, work->weight_output, used, part->length);
            for (ptrdiff_t k = 0; used < lanes && k < part->length; k++) {
                memset(to + k * lanes + used, 0, (lanes - used) * sizeof(REAL));
            }
            to += part->length * lanes;
        }
        for (ptrdiff_t channel = 0; !in_order && channel < work->channels; channel++) {
            for (ptrdiff_t tap = 0; tap < part->taps; tap++, to += lanes) {
                const REAL *from = weight + first * work->weight_output + channel * work->weight_channel
                                   + part->tap_weights[tap];
                for (ptrdiff_t lane = 0; lane < used; lane++) {
                    to[lane] = from[lane * work->weight_output];
                }
                memset(to + used, 0, (lanes - used) * sizeof(REAL));
            }
        }
        first += lanes;
    }
}

/* The bias is what the sums start at: one row for each place. */
static void
NAMED(start_lanes)(const NAMED(Part) *part, ptrdiff_t group, REAL *sums, ptrdiff_t places, ptrdiff_t lanes, ptrdiff_t first,
                   ptrdiff_t used)
{
    const REAL *bias = (const REAL *)part->work.bias + group * part->work.outputs + first;
    memcpy(sums, bias, used * sizeof(REAL));
    memset(sums + used, 0, (lanes - used) * sizeof(REAL));
    for (ptrdiff_t place = 1; place < places; place++) {
        memcpy(sums + place * lanes, sums, lanes * sizeof(REAL));
    }
}

/* Sums [place][lane] to rows of the result. */
static void
NAMED(write_lanes)(const NAMED(Part) *part, ptrdiff_t group, ptrdiff_t samples, const REAL *sums, ptrdiff_t lanes,
                   ptrdiff_t first, ptrdiff_t used)
{
    const Axis *axes = part->work.axes;
    const ptrdiff_t width = axes[2].count, step = axes[2].result_step;
    const ptrdiff_t plane = axes[0].result * axes[1].result * axes[2].result;
    for (ptrdiff_t sample = 0; sample < samples; sample++) {
        for (ptrdiff_t z = 0; z < axes[0].count; z++) {
            for (ptrdiff_t y = 0; y < axes[1].count; y++, sums += width * lanes) {
                REAL *to = NAMED(result_row)(part, sample, group, first, z, y);
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
}

static void
NAMED(correlate_lanes)(const NAMED(Part) *part, ptrdiff_t group, ptrdiff_t samples, const REAL *weights, REAL *sums)
{
    const ptrdiff_t all = NAMED(vectors_for)(part->work.outputs), blocks = NAMED(blocks)(all, MOST_VECTORS);
    const ptrdiff_t places = part->places * samples;
    ptrdiff_t first = 0;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t vectors = NAMED(block_size)(all, blocks, block), lanes = vectors * LANES;
        const ptrdiff_t used = SMALLER(lanes, part->work.outputs - first);
        const int biased = part->work.bias != NULL;
        if (biased) {
            NAMED(start_lanes)(part, group, sums, places, lanes, first, used);
        }
        for (ptrdiff_t k = 0; k < part->length; k += LONG_SUM) {
            const ptrdiff_t length = SMALLER(LONG_SUM, part->length - k);
            for (ptrdiff_t place = 0; place < places; place += MOST_ROWS) {
                NAMED(lanes)((int)SMALLER(MOST_ROWS, places - place), (int)vectors, part->source,
                             part->out_places + place, part->tap_places + k, length, weights + k * lanes,
                             sums + place * lanes, biased || k > 0);
            }
        }
        NAMED(write_lanes)(part, group, samples, sums, lanes, first, used);
        weights += part->length * lanes;
        first += lanes;
    }
}

/* ---- lanes are places ------------------------------------------------------------------------------------------- */

/* weights[block][channel, tap][output] */
static void
NAMED(pack_places)(const NAMED(Part) *part, ptrdiff_t group, REAL *to)
{
    const Correlation *work = &part->work;
    const REAL *weight = (const REAL *)work->weight + group * work->weight_group;
    const ptrdiff_t blocks = NAMED(blocks)(work->outputs, MOST_ROWS);
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t rows = NAMED(block_size)(work->outputs, blocks, block);
        for (ptrdiff_t channel = 0; channel < work->channels; channel++) {
            for (ptrdiff_t tap = 0; tap < part->taps; tap++) {
                const REAL *from = weight + channel * work->weight_channel + part->tap_weights[tap];
                for (ptrdiff_t row = 0; row < rows; row++) {
                    *to++ = from[row * work->weight_output];
                }
            }
        }
        weight += rows * work->weight_output;
    }
}

/* The places of one slice lie in one run of scratch, with a few between rows that are no outputs. */
static ptrdiff_t
NAMED(run_of_slice)(const NAMED(Part) *part)
{
    return (part->work.axes[1].count - 1) * part->row + part->work.axes[2].count;
}

static void
NAMED(write_places)(const NAMED(Part) *part, ptrdiff_t group, ptrdiff_t sample, ptrdiff_t z, const REAL *sums,
                    ptrdiff_t sums_row, ptrdiff_t first, ptrdiff_t rows)
{
    const Axis *axes = part->work.axes;
    const ptrdiff_t width = axes[2].count, step = axes[2].result_step;
    for (ptrdiff_t row = 0; row < rows; row++, sums += sums_row) {
        const REAL *from = sums;
        for (ptrdiff_t y = 0; y < axes[1].count; y++, from += part->row) {
            REAL *to = NAMED(result_row)(part, sample, group, first + row, z, y);
            if (step == 1) {
                NAMED(copy_run)(to, from, width);
                continue;
            }
            for (ptrdiff_t x = 0; x < width; x++) {
                to[x * step] = from[x];
            }
        }
    }
}

static void
NAMED(correlate_places)(const NAMED(Part) *part, ptrdiff_t group, ptrdiff_t samples, const REAL *weights, REAL *sums)
{
    const ptrdiff_t blocks = NAMED(blocks)(part->work.outputs, MOST_ROWS);
    const ptrdiff_t run = NAMED(run_of_slice)(part);
    const ptrdiff_t sums_row = NAMED(vectors_for)(run) * LANES;
    ptrdiff_t first = 0;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t rows = NAMED(block_size)(part->work.outputs, blocks, block);
        REAL start[MOST_ROWS] = {0};
        for (ptrdiff_t row = 0; part->work.bias != NULL && row < rows; row++) {
            start[row] = ((const REAL *)part->work.bias)[group * part->work.outputs + first + row];
        }
        for (ptrdiff_t sample = 0; sample < samples; sample++) {
            for (ptrdiff_t z = 0; z < part->work.axes[0].count; z++) {
                const REAL *source = part->source + sample * part->sample + z * part->slice;
                for (ptrdiff_t at = 0; at < run;) {
                    const int vectors = run - at > (MOST_VECTORS - 1) * LANES ? MOST_VECTORS : 1;
                    for (ptrdiff_t k = 0; k < part->length; k += LONG_SUM) {
                        NAMED(places)((int)rows, vectors, source + at, part->tap_places + k,
                                      SMALLER(LONG_SUM, part->length - k), weights + k * rows, start, sums + at,
                                      sums_row, k > 0);
                    }
                    at += vectors * LANES;
                }
                NAMED(write_places)(part, group, sample, z, sums, sums_row, first, rows);
            }
        }
        weights += part->length * rows;
        first += rows;
    }
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

/* Whether lanes should be outputs: by the number of vectors that are multiplied, and the steps to write them. */
static int
NAMED(prefers_lanes)(const NAMED(Part) *part)
{
    const double outputs = (double)part->work.outputs, length = (double)part->length;
    const double by_lanes = (double)part->places * ((double)NAMED(vectors_for)(part->work.outputs) * length + outputs);
    const double by_places = (double)part->work.axes[0].count * (double)NAMED(vectors_for)(NAMED(run_of_slice)(part))
                             * outputs * (length + 2);
    return by_lanes < by_places;
}

static int
NAMED(correlate)(const Correlation *work)
{
    const NAMED(Cut) cut = NAMED(cut_into_parts)(work);
    NAMED(Part) part = {0};
    REAL *weights = NULL, *sums = NULL;
    int done = -1;
    if (NAMED(allocate_part)(&part, work, cut)) {
        const int by_lanes = NAMED(prefers_lanes)(&part);
        const ptrdiff_t widest = SMALLER(MOST_VECTORS, NAMED(vectors_for)(work->outputs)) * LANES;
        const ptrdiff_t run = NAMED(vectors_for)(NAMED(run_of_slice)(&part)) * LANES;
        weights = NAMED(allocate)(part.length * NAMED(vectors_for)(work->outputs) * LANES);
        sums = NAMED(allocate)(by_lanes ? part.places * cut.samples * widest : run * MOST_ROWS);
        const Axis *axis = &work->axes[cut.axis];
        for (ptrdiff_t group = 0; weights != NULL && sums != NULL && group < work->groups; group++) {
            for (ptrdiff_t first = 0; first < axis->count; first += cut.outputs) {
                part.work.axes[cut.axis] = NAMED(outputs_from)(axis, first, SMALLER(cut.outputs, axis->count - first));
                NAMED(measure)(&part);
                NAMED(fill_tables)(&part, cut.samples);
                if (first == 0) {
                    (by_lanes ? NAMED(pack_lanes) : NAMED(pack_places))(&part, group, weights);
                }
                for (part.first = 0; part.first < work->samples; part.first += cut.samples) {
                    const ptrdiff_t samples = SMALLER(cut.samples, work->samples - part.first);
                    NAMED(copy_source)(&part, group, samples);
                    (by_lanes ? NAMED(correlate_lanes) : NAMED(correlate_places))(&part, group, samples, weights, sums);
                }
            }
            done = 0;
        }
    }
    free(weights);
    free(sums);
    NAMED(free_part)(&part);
    return done;
}
