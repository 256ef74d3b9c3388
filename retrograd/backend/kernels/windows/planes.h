/* batch_norm and group_norm for one type: see Planes in windows.h. Three passes forward, two backward: over all channels
 * of a call where statistics are by channel, else over one group of one sample after the other, which the cache holds. */

/* Runs `whole` at every place `at` of a whole vector of a plane, and `some` where `rest` elements are left. */
#define FOR_VECTORS(whole, some)                           \
    do {                                                   \
        ptrdiff_t at = 0;                                  \
        for (; at + LANES <= length; at += LANES) {        \
            whole;                                         \
        }                                                  \
        if (at < length) {                                 \
            const ptrdiff_t rest = length - at;            \
            some;                                          \
        }                                                  \
    } while (0)

/* Planes are added up in runs of this many elements, and these in double. */
#undef LONG_RUN
#define LONG_RUN (64 * LANES)

/* The sum of a run; with `centre` that of the squared distances from it. */
INLINE double
NAMED(sum_of_run)(const REAL *x, ptrdiff_t length, const int squared, REAL centre)
{
    V sum = {0}, other = {0};
    ptrdiff_t at = 0;
    for (; at + 2 * LANES <= length; at += 2 * LANES) {
        const V first = NAMED(load)(x + at) - centre, second = NAMED(load)(x + at + LANES) - centre;
        sum += squared ? first * first : first;
        other += squared ? second * second : second;
    }
    double total = NAMED(sum_lanes)(sum + other);
    for (; at < length; at++) {
        const REAL item = x[at] - centre;
        total += (double)(squared ? item * item : item);
    }
    return total;
}

INLINE double
NAMED(sum_of_plane)(const REAL *x, ptrdiff_t length, const int squared, REAL centre)
{
    double total = 0;
    for (ptrdiff_t at = 0; at < length; at += LONG_RUN) {
        total += NAMED(sum_of_run)(x + at, SMALLER(LONG_RUN, length - at), squared, centre);
    }
    return total;
}

/* Sums over all elements of a channel; with `mean` of the squared distances from it. */
static void
NAMED(sum_channels)(const Planes *work, const REAL *mean, double *totals)
{
    const REAL *input = work->input;
    for (ptrdiff_t sample = 0; sample < work->samples; sample++) {
        for (ptrdiff_t channel = work->first; channel < work->stop; channel++) {
            const REAL *x = input + (sample * work->channels + channel) * work->length;
            totals[channel] = (sample > 0 ? totals[channel] : 0)
                              + (mean == NULL ? NAMED(sum_of_plane)(x, work->length, 0, 0)
                                              : NAMED(sum_of_plane)(x, work->length, 1, mean[channel]));
        }
    }
}

/* How many elements share statistics. */
INLINE double
NAMED(count_of)(const Planes *work)
{
    return (double)(work->samples * work->channels) * (double)work->length / (double)work->statistics;
}

INLINE void
NAMED(put_deviation)(const Planes *work, ptrdiff_t at, double variance)
{
    ((REAL *)work->variance)[at] = (REAL)variance;
    ((REAL *)work->inverse)[at] = (REAL)(1 / sqrt(variance + work->epsilon));
}

/* (input - mean) * inverse * weight + bias, of some channels of a sample, whose statistics are numbered from `at` on,
 * or are all those at `at`. */
static void
NAMED(apply_to_planes)(const Planes *work, ptrdiff_t sample, ptrdiff_t first, ptrdiff_t stop, ptrdiff_t at)
{
    const ptrdiff_t length = work->length, step = work->by_channel;
    const REAL *mean = (const REAL *)work->mean + at, *inverse = (const REAL *)work->inverse + at;
    const REAL *weight = work->weight, *bias = work->bias;
    const REAL *restrict x = (const REAL *)work->input + (sample * work->channels + first) * length;
    REAL *restrict out = (REAL *)work->result + (sample * work->channels + first) * length;
    if (length == 1 && step == 0) {
        const REAL centre = mean[0], scale = inverse[0];
        for (ptrdiff_t place = 0; place < stop - first; place++) {
            const REAL standard = (x[place] - centre) * (weight == NULL ? scale : scale * weight[first + place]);
            out[place] = bias == NULL ? standard : standard + bias[first + place];
        }
        return;
    }
    for (ptrdiff_t channel = first; channel < stop; channel++, mean += step, inverse += step, x += length, out += length) {
        const REAL centre = *mean, scale = weight == NULL ? *inverse : *inverse * weight[channel];
        const REAL start = bias == NULL ? 0 : bias[channel];
        for (ptrdiff_t place = 0; place < length; place++) {
            out[place] = (x[place] - centre) * scale + start;
        }
    }
}

static void
NAMED(normalize_channels)(const Planes *work)
{
    double *totals = work->scratch;
    const double count = NAMED(count_of)(work);
    NAMED(sum_channels)(work, NULL, totals);
    for (ptrdiff_t channel = work->first; channel < work->stop; channel++) {
        ((REAL *)work->mean)[channel] = (REAL)(totals[channel] / count);
    }
    NAMED(sum_channels)(work, work->mean, totals);
    for (ptrdiff_t channel = work->first; channel < work->stop; channel++) {
        NAMED(put_deviation)(work, channel, totals[channel] / count);
    }
    for (ptrdiff_t sample = 0; sample < work->samples; sample++) {
        NAMED(apply_to_planes)(work, sample, work->first, work->stop, work->first);
    }
}

static void
NAMED(planes_norm)(const Planes *work)
{
    if (work->by_channel) {
        NAMED(normalize_channels)(work);
        return;
    }
    const ptrdiff_t together = work->channels / work->groups, run = together * work->length;
    const double count = NAMED(count_of)(work);
    for (ptrdiff_t sample = 0; sample < work->samples; sample++) {
        for (ptrdiff_t first = work->first; first < work->stop; first += together) {
            const ptrdiff_t at = sample * work->groups + first / together;
            const REAL *x = (const REAL *)work->input + at * run;
            const REAL mean = (REAL)(NAMED(sum_of_plane)(x, run, 0, 0) / count);
            ((REAL *)work->mean)[at] = mean;
            NAMED(put_deviation)(work, at, NAMED(sum_of_plane)(x, run, 1, mean) / count);
            NAMED(apply_to_planes)(work, sample, first, first + together, at);
        }
    }
}

/* The sums of the gradient, and of it times the standardised input, of one plane. */
static void
NAMED(sum_gradients)(const Planes *work, ptrdiff_t plane, ptrdiff_t statistic, double *plain, double *standard)
{
    const REAL *x = (const REAL *)work->input + plane * work->length;
    const REAL *g = (const REAL *)work->gradient + plane * work->length;
    const REAL centre = ((const REAL *)work->mean)[statistic];
    *plain = *standard = 0;
    for (ptrdiff_t start = 0; start < work->length; start += LONG_RUN) {
        const ptrdiff_t length = SMALLER(LONG_RUN, work->length - start);
        V sum = {0}, products = {0};
        const REAL *xs = x + start, *gs = g + start;
        FOR_VECTORS(
            {
                const V slope = NAMED(load)(gs + at);
                sum += slope;
                products += slope * (NAMED(load)(xs + at) - centre);
            },
            {
                const V slope = NAMED(load_some)(gs + at, rest, 0);
                sum += slope;
                for (ptrdiff_t place = at; place < length; place++) {
                    *standard += (double)(gs[place] * (xs[place] - centre));
                }
            });
        *plain += NAMED(sum_lanes)(sum);
        *standard += NAMED(sum_lanes)(products);
    }
    *standard *= (double)((const REAL *)work->inverse)[statistic];
}

/* Where sums of gradients go: as in `scratch`, shares by statistic and sums by channel. */
typedef struct {
    double *plain, *standard, *for_bias, *for_weight;
} NAMED(Sums);

/* Adds up gradients of some channels of a sample; `at` as for `apply_to_planes`. */
static void
NAMED(add_gradients)(const Planes *work, const NAMED(Sums) *sums, ptrdiff_t sample, ptrdiff_t first, ptrdiff_t stop,
                     ptrdiff_t at, double count)
{
    const REAL *weight = work->weight;
    for (ptrdiff_t channel = first; channel < stop; channel++, at += work->by_channel) {
        const double scale = weight == NULL ? 1 : (double)weight[channel];
        double sum, product;
        NAMED(sum_gradients)(work, sample * work->channels + channel, at, &sum, &product);
        sums->plain[at] += sum * scale / count;
        sums->standard[at] += product * scale / count;
        sums->for_bias[channel] += sum;
        sums->for_weight[channel] += product;
    }
}

/* The gradient of the input from its sums. */
static void
NAMED(slopes_of_planes)(const Planes *work, const NAMED(Sums) *sums, ptrdiff_t sample, ptrdiff_t first, ptrdiff_t stop,
                        ptrdiff_t at)
{
    const ptrdiff_t length = work->length, start = (sample * work->channels + first) * length;
    const REAL *weight = work->weight, *mean = work->mean, *inverse = work->inverse;
    const REAL *restrict x = (const REAL *)work->input + start, *restrict g = (const REAL *)work->gradient + start;
    REAL *restrict out = (REAL *)work->result + start;
    for (ptrdiff_t channel = first; channel < stop; channel++, at += work->by_channel, x += length, g += length, out += length) {
        const REAL scale = weight == NULL ? inverse[at] : inverse[at] * weight[channel];
        const REAL level = (REAL)sums->plain[at] * inverse[at], centre = mean[at];
        const REAL slope = (REAL)sums->standard[at] * inverse[at] * inverse[at];
        for (ptrdiff_t place = 0; place < length; place++) {
            out[place] = g[place] * scale - level - (x[place] - centre) * slope;
        }
    }
}

/* Both, for all samples: sums of channels are those of all samples, of groups those of one. */
static void
NAMED(walk_gradients)(const Planes *work, const NAMED(Sums) *sums)
{
    const double count = NAMED(count_of)(work);
    const ptrdiff_t together = work->by_channel ? work->stop - work->first : work->channels / work->groups;
    for (ptrdiff_t sample = 0; sample < work->samples; sample++) {
        for (ptrdiff_t first = work->first; first < work->stop; first += together) {
            const ptrdiff_t at = work->by_channel ? first : sample * work->groups + first / together;
            NAMED(add_gradients)(work, sums, sample, first, first + together, at, count);
            if (!work->by_channel && work->result != NULL) {
                NAMED(slopes_of_planes)(work, sums, sample, first, first + together, at);
            }
        }
    }
    for (ptrdiff_t sample = 0; work->by_channel && work->result != NULL && sample < work->samples; sample++) {
        NAMED(slopes_of_planes)(work, sums, sample, work->first, work->stop, work->first);
    }
}

static void
NAMED(planes_norm_gradients)(const Planes *work)
{
    REAL *of_weight = work->of_weight, *of_bias = work->of_bias;
    double *plain = work->scratch, *by_channel = plain + 2 * work->statistics;
    const NAMED(Sums) sums = {plain, plain + work->statistics, by_channel, by_channel + work->channels};
    const ptrdiff_t rows = work->by_channel ? 1 : work->samples, each = work->statistics / rows;
    const ptrdiff_t together = work->channels / each;
    for (ptrdiff_t row = 0; row < rows; row++) {
        for (ptrdiff_t at = work->first / together; at < work->stop / together; at++) {
            sums.plain[row * each + at] = sums.standard[row * each + at] = 0;
        }
    }
    for (ptrdiff_t channel = work->first; channel < work->stop; channel++) {
        sums.for_bias[channel] = sums.for_weight[channel] = 0;
    }
    NAMED(walk_gradients)(work, &sums);
    for (ptrdiff_t channel = work->first; channel < work->stop; channel++) {
        if (of_weight != NULL) {
            of_weight[channel] = (REAL)sums.for_weight[channel];
        }
        if (of_bias != NULL) {
            of_bias[channel] = (REAL)sums.for_bias[channel];
        }
    }
}

#undef FOR_VECTORS
