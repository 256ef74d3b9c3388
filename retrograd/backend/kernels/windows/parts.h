/* Parts of the source of a correlation, for one type: how a call is cut, where in scratch everything is, and the copies.
 *
 * A part of the source is copied, with its padding, into scratch that fits the cache.
 */

#define SCRATCH_BYTES ((ptrdiff_t)1 << 19) /* about half of a common second-level cache */
#define LONG_SUM 96                        /* how many products are added up before their sum joins a total */
#define MANY_OUTPUTS 384                   /* of a part: small images are taken several at once */
#define BESIDE 32                          /* channels whose products with one tap follow each other */

/* Memory that begins where a vector does, or NULL: vectors that lie across two lines of the cache cost twice. */
static void *
NAMED(allocate)(ptrdiff_t elements)
{
    return aligned_alloc(64, ((elements * (ptrdiff_t)sizeof(REAL) + 63) / 64 + 1) * 64);
}

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

/* Neighbouring outputs along an axis that meet the same taps inside of the source: from tap_first to tap_stop. */
typedef struct {
    ptrdiff_t first, stop, tap_first, tap_stop;
} NAMED(Stretch);

#define MOST_STRETCHES 8

typedef struct {
    NAMED(Stretch) of[MOST_STRETCHES];
    int count;
} NAMED(Stretches);

typedef struct {
    NAMED(Stretch) z, y, x;
    const int32_t *order; /* numbers of the outputs */
    ptrdiff_t outputs;    /* of a sample */
} NAMED(Class);

typedef struct {
    Correlation work;       /* of one group; some samples, and some outputs along one axis */
    ptrdiff_t first;        /* of the samples */
    ptrdiff_t row, slice, slot, channel, sample; /* elements of scratch */
    ptrdiff_t taps;         /* of all axes */
    ptrdiff_t length;       /* channels * taps */
    ptrdiff_t places;       /* outputs of a sample */
    REAL *scratch;
    const REAL *source;     /* the scratch, or where the source itself lies */
    int32_t *tap_places;    /* where in the source the taps of the first output are: see fill_taps */
    ptrdiff_t *tap_weights; /* where each of them has its weight */
    int32_t *out_places;    /* where the first tap of each output is, for all samples of the part */
    int32_t *order;         /* the outputs by class */
    NAMED(Class) *classes;
    int class_count;
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

/* The correlation of one group alone, of `channels` channels from `first` on. */
static Correlation
NAMED(of_group)(const Correlation *work, ptrdiff_t group, ptrdiff_t first, ptrdiff_t channels)
{
    const Axis *axes = work->axes;
    Correlation found = *work;
    found.channels = channels;
    found.source = (const REAL *)work->source
                   + (group * work->channels + first) * axes[0].source * axes[1].source * axes[2].source;
    found.result = (REAL *)work->result + group * work->outputs * axes[0].result * axes[1].result * axes[2].result;
    found.weight = (REAL *)work->weight + group * work->weight_group + first * work->weight_channel;
    found.bias = work->bias == NULL ? NULL : (const REAL *)work->bias + group * work->outputs;
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

/* ---- the plan --------------------------------------------------------------------------------------------------- */

/* Whether an axis reads its source element by element, from the first to the last. */
static int
NAMED(is_direct)(const Axis *axis)
{
    return axis->step == 1 && axis->slots == 1 && axis->slot_start[0] == 0 && axis->length == axis->source;
}

/* Cuts along the first axis with several outputs, or into blocks of a few samples. `beside`: how many elements of other
 * scratch there are for each place. */
static void
NAMED(cut_into_parts)(const Correlation *work, Plan *plan, ptrdiff_t beside)
{
    NAMED(Part) whole = {.work = *work};
    NAMED(measure)(&whole);
    const ptrdiff_t room = SCRATCH_BYTES / (ptrdiff_t)sizeof(REAL), each = whole.sample + whole.places * beside;
    plan->axis = work->axes[0].count > 1 ? 0 : work->axes[1].count > 1 ? 1 : 2;
    const Axis *axis = &work->axes[plan->axis];
    plan->outputs = axis->count;
    plan->samples = 1;
    plan->direct = NAMED(is_direct)(&work->axes[0]) && NAMED(is_direct)(&work->axes[1])
                   && NAMED(is_direct)(&work->axes[2]) && (plan->way != BY_LANES || each <= room);
    if (each > room && !plan->direct) {
        const ptrdiff_t line = whole.sample / axis->length, line_beside = whole.places / axis->count * beside;
        const ptrdiff_t fitting = (room - line * NAMED(largest_shift)(axis)) / (line + line_beside);
        plan->outputs = LARGER(1, SMALLER(fitting, axis->count));
        plan->outputs = NAMED(blocks)(axis->count, NAMED(blocks)(axis->count, plan->outputs)); /* nearly equal parts */
    }
    else if (whole.places < MANY_OUTPUTS) {
        const ptrdiff_t wanted = (MANY_OUTPUTS + whole.places - 1) / whole.places;
        plan->samples = LARGER(1, SMALLER(SMALLER(wanted, room / each), work->samples));
    }
    plan->parts = NAMED(blocks)(axis->count, plan->outputs);
    plan->blocks = NAMED(blocks)(work->samples, plan->samples);
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static void
NAMED(free_part)(NAMED(Part) *part)
{
    free(part->scratch);
    free(part->tap_places);
    free(part->tap_weights);
    free(part->out_places);
    free(part->order);
    free(part->classes);
}

/* The taps by blocks of channels, and within one by tap: so those that meet padding lie together, and the channels that
 * are read one after the other fit the first-level cache. */
static void
NAMED(fill_taps)(NAMED(Part) *part)
{
    const Axis *d = &part->work.axes[0], *h = &part->work.axes[1], *w = &part->work.axes[2];
    const ptrdiff_t channels = part->work.channels, blocks = NAMED(blocks)(channels, BESIDE);
    ptrdiff_t first = 0, to = 0;
    for (ptrdiff_t block = 0; block < blocks; block++) {
        const ptrdiff_t beside = NAMED(block_size)(channels, blocks, block);
        for (ptrdiff_t tap = 0; tap < part->taps; tap++) {
            const ptrdiff_t a = tap / w->taps / h->taps, b = tap / w->taps % h->taps, c = tap % w->taps;
            const ptrdiff_t slot = (d->tap_slot[a] * h->slots + h->tap_slot[b]) * w->slots + w->tap_slot[c];
            const ptrdiff_t place = slot * part->slot + d->tap_shift[a] * part->slice + h->tap_shift[b] * part->row
                                    + w->tap_shift[c];
            const ptrdiff_t weight = d->tap_weight[a] * part->work.weight_tap[0]
                                     + h->tap_weight[b] * part->work.weight_tap[1]
                                     + w->tap_weight[c] * part->work.weight_tap[2];
            for (ptrdiff_t channel = first; channel < first + beside; channel++, to++) {
                part->tap_places[to] = (int32_t)(channel * part->channel + place);
                part->tap_weights[to] = channel * part->work.weight_channel + weight;
            }
        }
        first += beside;
    }
}

static void
NAMED(fill_outputs)(NAMED(Part) *part, ptrdiff_t samples)
{
    const Axis *axes = part->work.axes;
    int32_t *to = part->out_places;
    for (ptrdiff_t sample = 0; sample < samples; sample++) {
        for (ptrdiff_t z = 0; z < axes[0].count; z++) {
            for (ptrdiff_t y = 0; y < axes[1].count; y++) {
                for (ptrdiff_t x = 0; x < axes[2].count; x++) {
                    *to++ = (int32_t)(sample * part->sample + z * part->slice + y * part->row + x);
                }
            }
        }
    }
}

/* Without `skips` all outputs are one stretch, with all taps. An output that meets padding only keeps one tap, and where
 * there is no room for more stretches the last one takes the taps of all that follow. */
static NAMED(Stretches)
NAMED(find_stretches)(const Axis *axis, int skips)
{
    NAMED(Stretches) found = {.of = {{0, axis->count, 0, axis->taps}}, .count = 1};
    for (ptrdiff_t output = 0; skips && output < axis->count; output++) {
        NAMED(Stretch) own = {output, output + 1, 0, axis->taps}, *last = &found.of[found.count - 1];
#define PLACE_OF(tap) \
    (axis->source_first + axis->slot_start[axis->tap_slot[tap]] + (output + axis->tap_shift[tap]) * axis->step)
        while (own.tap_first < own.tap_stop - 1 && PLACE_OF(own.tap_first) < 0) {
            own.tap_first++;
        }
        while (own.tap_stop > own.tap_first + 1 && PLACE_OF(own.tap_stop - 1) >= axis->source) {
            own.tap_stop--;
        }
#undef PLACE_OF
        if (output == 0) {
            *last = own;
        }
        else if (own.tap_first == last->tap_first && own.tap_stop == last->tap_stop) {
            last->stop = output + 1;
        }
        else if (found.count < MOST_STRETCHES) {
            found.of[found.count++] = own;
        }
        else {
            last->stop = output + 1;
            last->tap_first = SMALLER(last->tap_first, own.tap_first);
            last->tap_stop = LARGER(last->tap_stop, own.tap_stop);
        }
    }
    return found;
}

/* The outputs of a part by the taps that they meet: within a class by sample. */
static void
NAMED(fill_classes)(NAMED(Part) *part, ptrdiff_t samples, int skips)
{
    const Axis *axes = part->work.axes;
    NAMED(Stretches) along[AXES];
    int32_t *to = part->order;
    for (int axis = 0; axis < AXES; axis++) {
        along[axis] = NAMED(find_stretches)(&axes[axis], skips);
    }
    part->class_count = along[0].count * along[1].count * along[2].count;
    for (int index = 0; index < part->class_count; index++) {
        const NAMED(Stretch) x = along[2].of[index % along[2].count];
        const NAMED(Stretch) y = along[1].of[index / along[2].count % along[1].count];
        const NAMED(Stretch) z = along[0].of[index / along[2].count / along[1].count];
        const ptrdiff_t outputs = (z.stop - z.first) * (y.stop - y.first) * (x.stop - x.first);
        part->classes[index] = (NAMED(Class)){z, y, x, to, outputs};
        for (ptrdiff_t sample = 0; sample < samples; sample++) {
            for (ptrdiff_t deep = z.first; deep < z.stop; deep++) {
                for (ptrdiff_t high = y.first; high < y.stop; high++) {
                    const ptrdiff_t row = ((sample * axes[0].count + deep) * axes[1].count + high) * axes[2].count;
                    for (ptrdiff_t wide = x.first; wide < x.stop; wide++) {
                        *to++ = (int32_t)(row + wide);
                    }
                }
            }
        }
    }
}

/* Whether there is memory for the largest part; and its places fit into 32 bits. */
static int
NAMED(allocate_part)(NAMED(Part) *part, const Correlation *work, const Plan *plan)
{
    part->work = *work;
    part->work.axes[plan->axis] = NAMED(outputs_from)(&work->axes[plan->axis], 0, plan->outputs);
    NAMED(measure)(part);
    const ptrdiff_t elements = part->sample * plan->samples + MOST_VECTORS * LANES;
    if (elements > INT32_MAX) {
        return 0;
    }
    part->scratch = NAMED(allocate)(elements);
    part->tap_places = malloc(part->length * sizeof(int32_t));
    part->tap_weights = malloc(part->length * sizeof(ptrdiff_t));
    part->out_places = malloc(part->places * plan->samples * sizeof(int32_t));
    part->order = malloc(part->places * plan->samples * sizeof(int32_t));
    part->classes = malloc(MOST_STRETCHES * MOST_STRETCHES * MOST_STRETCHES * sizeof(NAMED(Class)));
    if (part->scratch != NULL) { /* what lies after the last row is read, and not used */
        memset(part->scratch + part->sample * plan->samples, 0, MOST_VECTORS * LANES * sizeof(REAL));
    }
    return part->scratch != NULL && part->tap_places != NULL && part->tap_weights != NULL && part->out_places != NULL
           && part->order != NULL && part->classes != NULL;
}

/* Lets the tables serve another group. */
static void
NAMED(set_group)(NAMED(Part) *part, const Correlation *work, ptrdiff_t group)
{
    const Correlation own = NAMED(of_group)(work, group, 0, work->channels);
    part->work.source = own.source;
    part->work.result = own.result;
    part->work.weight = own.weight;
    part->work.bias = own.bias;
}

/* Makes it part number `index` of the correlation of one group: the tables follow from the lengths of its axes. */
static void
NAMED(begin_part)(NAMED(Part) *part, const Correlation *work, const Plan *plan, ptrdiff_t index)
{
    const Axis *axis = &work->axes[plan->axis];
    const ptrdiff_t first = index * plan->outputs;
    part->work = *work;
    part->work.axes[plan->axis] = NAMED(outputs_from)(axis, first, SMALLER(plan->outputs, axis->count - first));
    NAMED(measure)(part);
    NAMED(fill_taps)(part);
    if (plan->way == BY_LANES) {
        NAMED(fill_outputs)(part, plan->samples);
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

/* One row of a slot with its zeros. `over`: as many lanes as a vector has may be written after it. */
INLINE void
NAMED(copy_row)(REAL *restrict to, const REAL *restrict from, NAMED(Inside) inside, ptrdiff_t step, ptrdiff_t length,
                int over)
{
#if VECTOR_BYTES == 64
    for (ptrdiff_t x = 0; step <= 2 && x < length; x += LANES) {
        const REAL *at = from + inside.start + x * step;
        const ptrdiff_t first = (inside.before - x) * step, stop = (inside.stop - 1 - x) * step + 1;
        V items = NAMED(load_between)(at, first, stop);
        if (step == 2) {
            items = NAMED(even_lanes)(items, NAMED(load_between)(at + LANES, first - LANES, stop - LANES));
        }
        if (over || length - x >= LANES) {
            NAMED(store)(to + x, items);
        }
        else {
            NAMED(store_some)(to + x, items, length - x);
        }
    }
    if (step <= 2) {
        return;
    }
#endif
    (void)over;
    for (ptrdiff_t x = 0; x < inside.before; x++) {
        to[x] = 0;
    }
    if (step == 1) {
        NAMED(copy_run)(to + inside.before, from + inside.start + inside.before, inside.stop - inside.before);
    }
    for (ptrdiff_t x = inside.before; step != 1 && x < inside.stop; x++) {
        to[x] = from[inside.start + x * step];
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
        const REAL *plane = from + (deep.start + z * d->step) * h->source * w->source;
        const int outside = z < deep.before || z >= deep.stop;
        const ptrdiff_t first = outside ? h->length : high.before, stop = outside ? h->length : high.stop;
        if (first > 0) {
            memset(to, 0, first * part->row * sizeof(REAL));
        }
        for (ptrdiff_t y = first; y < stop; y++) {
            const REAL *row = plane + (high.start + y * h->step) * w->source;
            const ptrdiff_t rest = (d->length - 1 - z) * part->slice + (h->length - 1 - y) * part->row;
            const int over = rest >= LANES; /* what follows in the slot is written later */
            if (w->step == 1) {
                NAMED(copy_row)(to + y * part->row, row, wide, 1, part->row, over);
            }
            else if (w->step == 2) {
                NAMED(copy_row)(to + y * part->row, row, wide, 2, part->row, over);
            }
            else {
                NAMED(copy_row)(to + y * part->row, row, wide, w->step, part->row, over);
            }
        }
        if (stop < h->length) {
            memset(to + stop * part->row, 0, (h->length - stop) * part->row * sizeof(REAL));
        }
    }
}

/* Lets `part->source` have `samples` samples from number `first` on: copies, or where they lie. Vectors of places are
 * read up to MOST_VECTORS beyond the end, so the last samples of all are copied. */
static void
NAMED(read_source)(NAMED(Part) *part, const Plan *plan, ptrdiff_t first, ptrdiff_t samples)
{
    const Axis *d = &part->work.axes[0], *h = &part->work.axes[1], *w = &part->work.axes[2];
    const ptrdiff_t plane = d->source * h->source * w->source, slots = d->slots * h->slots * w->slots;
    const ptrdiff_t apart = part->work.source_channels * plane, after = (part->work.samples - first - samples) * apart;
    const REAL *from = (const REAL *)part->work.source + first * apart;
    part->first = first;
    part->source = part->scratch;
    if (plan->direct && (samples == 1 || apart == part->sample)
        && (plan->way == BY_LANES || after >= MOST_VECTORS * LANES)) {
        part->source = from;
        return;
    }
    for (ptrdiff_t slot = 0; slot < slots; slot++) {
        const NAMED(Inside) deep = NAMED(inside_of)(d, slot / w->slots / h->slots);
        const NAMED(Inside) high = NAMED(inside_of)(h, slot / w->slots % h->slots);
        const NAMED(Inside) wide = NAMED(inside_of)(w, slot % w->slots);
        for (ptrdiff_t sample = 0; sample < samples; sample++) {
            REAL *to = part->scratch + sample * part->sample + slot * part->slot;
            const REAL *channel = from + sample * apart;
            for (ptrdiff_t next = 0; next < part->work.channels; next++, to += part->channel, channel += plane) {
                NAMED(copy_slot)(part, to, channel, deep, high, wide);
            }
        }
    }
}

/* Where in the result the row (z, y) of one output of one sample starts. */
INLINE REAL *
NAMED(result_row)(const NAMED(Part) *part, ptrdiff_t sample, ptrdiff_t output, ptrdiff_t z, ptrdiff_t y)
{
    const Axis *d = &part->work.axes[0], *h = &part->work.axes[1], *w = &part->work.axes[2];
    const ptrdiff_t plane = (part->first + sample) * part->work.result_channels + output;
    const ptrdiff_t deep = d->result_first + z * d->result_step, high = h->result_first + y * h->result_step;
    return (REAL *)part->work.result + ((plane * d->result + deep) * h->result + high) * w->result + w->result_first;
}
