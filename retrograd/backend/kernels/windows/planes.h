/* batch_norm and group_norm for one type: see Planes in windows.h. Three passes forward, two backward. */

/* Runs what it is given for every plane, with its number, its `channel` and the number `at` of its statistics. */
#define FOR_PLANES(...)                                                                     \
    do {                                                                                    \
        const ptrdiff_t together = work->channels / work->groups;                           \
        for (ptrdiff_t sample = 0; sample < work->samples; sample++) {                      \
            for (ptrdiff_t channel = work->first; channel < work->stop; channel++) {        \
                const ptrdiff_t plane = sample * work->channels + channel;                  \
                const ptrdiff_t at = work->by_channel ? channel                             \
                                     : together == 1  ? plane                               \
                                                      : sample * work->groups + channel / together; \
                __VA_ARGS__;                                                                \
            }                                                                               \
        }                                                                                   \
    } while (0)

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

/* How many statistics the channels of this call have, and which the one numbered `index` is. */
INLINE ptrdiff_t
NAMED(own_statistics)(const Planes *work)
{
    return work->by_channel ? work->stop - work->first
                            : work->samples * (work->stop - work->first) / (work->channels / work->groups);
}

INLINE ptrdiff_t
NAMED(own_statistic)(const Planes *work, ptrdiff_t index)
{
    const ptrdiff_t together = work->channels / work->groups, each = (work->stop - work->first) / together;
    return work->by_channel ? work->first + index
                            : index / each * work->groups + work->first / together + index % each;
}

/* Sums over all elements that share statistics; with `mean` of the squared distances from it. */
static void
NAMED(sum_statistics)(const Planes *work, const REAL *mean, double *totals)
{
    const REAL *input = work->input;
    const ptrdiff_t run = work->by_channel ? work->length : work->channels / work->groups * work->length;
    const ptrdiff_t runs = work->by_channel ? work->samples : 1, count = NAMED(own_statistics)(work);
    for (ptrdiff_t next = 0; next < runs; next++) {
        for (ptrdiff_t index = 0; index < count; index++) {
            const ptrdiff_t at = NAMED(own_statistic)(work, index);
            const REAL *x = input + (next * work->statistics + at) * run;
            totals[at] = (next > 0 ? totals[at] : 0)
                         + (mean == NULL ? NAMED(sum_of_plane)(x, run, 0, 0) : NAMED(sum_of_plane)(x, run, 1, mean[at]));
        }
    }
}

static void
NAMED(planes_norm)(const Planes *work)
{
    const ptrdiff_t length = work->length;
    const REAL *input = work->input, *weight = work->weight, *bias = work->bias;
    REAL *result = work->result, *mean = work->mean, *inverse = work->inverse, *variance = work->variance;
    double *totals = work->scratch;
    const double count = (double)(work->samples * work->channels) * (double)length / (double)work->statistics;
    NAMED(sum_statistics)(work, NULL, totals);
    for (ptrdiff_t index = 0; index < NAMED(own_statistics)(work); index++) {
        const ptrdiff_t at = NAMED(own_statistic)(work, index);
        mean[at] = (REAL)(totals[at] / count);
    }
    NAMED(sum_statistics)(work, mean, totals);
    for (ptrdiff_t index = 0; index < NAMED(own_statistics)(work); index++) {
        const ptrdiff_t at = NAMED(own_statistic)(work, index);
        variance[at] = (REAL)(totals[at] / count);
        inverse[at] = (REAL)(1 / sqrt(totals[at] / count + work->epsilon));
    }
    FOR_PLANES({
        const REAL centre = mean[at], scale = weight == NULL ? inverse[at] : inverse[at] * weight[channel];
        const REAL start = bias == NULL ? 0 : bias[channel];
        const REAL *restrict x = input + plane * length;
        REAL *restrict out = result + plane * length;
        for (ptrdiff_t place = 0; place < length; place++) {
            out[place] = (x[place] - centre) * scale + start;
        }
    });
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

static void
NAMED(planes_norm_gradients)(const Planes *work)
{
    const ptrdiff_t length = work->length;
    const REAL *weight = work->weight, *mean = work->mean, *inverse = work->inverse;
    REAL *of_weight = work->of_weight, *of_bias = work->of_bias;
    double *plain = work->scratch, *standard = plain + work->statistics;
    double *for_bias = standard + work->statistics, *for_weight = for_bias + work->channels;
    const double count = (double)(work->samples * work->channels) * (double)length / (double)work->statistics;
    for (ptrdiff_t index = 0; index < NAMED(own_statistics)(work); index++) {
        const ptrdiff_t at = NAMED(own_statistic)(work, index);
        plain[at] = standard[at] = 0;
    }
    for (ptrdiff_t channel = work->first; channel < work->stop; channel++) {
        for_bias[channel] = for_weight[channel] = 0;
    }
    FOR_PLANES({
        const double scale = weight == NULL ? 1 : (double)weight[channel];
        double sum, product;
        NAMED(sum_gradients)(work, plane, at, &sum, &product);
        plain[at] += sum * scale / count;
        standard[at] += product * scale / count;
        for_bias[channel] += sum;
        for_weight[channel] += product;
    });
    for (ptrdiff_t channel = work->first; channel < work->stop; channel++) {
        if (of_weight != NULL) {
            of_weight[channel] = (REAL)for_weight[channel];
        }
        if (of_bias != NULL) {
            of_bias[channel] = (REAL)for_bias[channel];
        }
    }
    if (work->result == NULL) {
        return;
    }
    FOR_PLANES({
        const REAL *restrict x = (const REAL *)work->input + plane * length;
        const REAL *restrict g = (const REAL *)work->gradient + plane * length;
        REAL *restrict out = (REAL *)work->result + plane * length;
        const REAL scale = weight == NULL ? inverse[at] : inverse[at] * weight[channel];
        const REAL level = (REAL)plain[at] * inverse[at], centre = mean[at];
        const REAL slope = (REAL)standard[at] * inverse[at] * inverse[at];
        for (ptrdiff_t place = 0; place < length; place++) {
            out[place] = g[place] * scale - level - (x[place] - centre) * slope;
        }
    });
}

#undef FOR_VECTORS
#undef FOR_PLANES
