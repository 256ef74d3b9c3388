/* batch_norm, for one type; see rows_functions.h, rows_loops.h and rows_norm.h.
 *
 * The input is (samples, channels, places); statistics over several places are given. With one place for each channel its numbers are those of a column: then
 * COLUMNS_TOGETHER columns are one piece, and sums go on in double at once.
 */

/* Some element, as distances from it are small even where the mean is not; but not one without distances. */
INLINE REAL
NAMED(base_of)(REAL first)
{
    return isfinite(first) ? first : 0;
}

INLINE void
NAMED(put_statistics)(const ChannelWork *work, ptrdiff_t at, REAL mean, double variance)
{
    ((REAL *)work->mean)[at] = mean;
    ((REAL *)work->variance)[at] = (REAL)variance;
    ((REAL *)work->inverse)[at] = (REAL)(1 / sqrt(variance + work->epsilon));
}

static void
NAMED(column_statistics)(const ChannelWork *work, ptrdiff_t first, ptrdiff_t columns)
{
    const ptrdiff_t step = work->channels;
    const REAL *restrict x = (const REAL *)work->input + first;
    double sums[COLUMNS_AT_ONCE];
    REAL base[COLUMNS_AT_ONCE];
    for (ptrdiff_t at = 0; at < columns; at++) {
        base[at] = NAMED(base_of)(x[at]);
        sums[at] = 0;
    }
    ptrdiff_t row = 0;
    for (; row + 4 <= work->samples; row += 4) {
        const REAL *restrict a = x + row * step, *restrict b = a + step, *restrict c = b + step, *restrict d = c + step;
        for (ptrdiff_t at = 0; at < columns; at++) {
            const double sum = sums[at] + (double)(a[at] - base[at]) + (double)(b[at] - base[at]);
            sums[at] = sum + (double)(c[at] - base[at]) + (double)(d[at] - base[at]);
        }
    }
    for (; row < work->samples; row++) {
        for (ptrdiff_t at = 0; at < columns; at++) {
            sums[at] += (double)(x[row * step + at] - base[at]);
        }
    }
    for (ptrdiff_t at = 0; at < columns; at++) {
        base[at] = (REAL)((double)base[at] + sums[at] / (double)work->samples);
        sums[at] = 0;
    }
    for (row = 0; row + 4 <= work->samples; row += 4) {
        const REAL *restrict a = x + row * step, *restrict b = a + step, *restrict c = b + step, *restrict d = c + step;
        for (ptrdiff_t at = 0; at < columns; at++) {
            const REAL mean = base[at];
            const double sum = sums[at] + (double)((a[at] - mean) * (a[at] - mean)) + (double)((b[at] - mean) * (b[at] - mean));
            sums[at] = sum + (double)((c[at] - mean) * (c[at] - mean)) + (double)((d[at] - mean) * (d[at] - mean));
        }
    }
    for (; row < work->samples; row++) {
        for (ptrdiff_t at = 0; at < columns; at++) {
            const REAL distance = x[row * step + at] - base[at];
            sums[at] += (double)(distance * distance);
        }
    }
    for (ptrdiff_t at = 0; at < columns; at++) {
        NAMED(put_statistics)(work, first + at, base[at], sums[at] / (double)work->samples);
    }
}

/* What is done for the pieces of columns from `start` to `stop`, many at a time: row by row memory is read as it lies, while a
 * narrow strip of rows that are a power of two apart would share a few lines of the cache. */
static void
NAMED(for_columns)(const ChannelWork *work, ptrdiff_t start, ptrdiff_t stop,
                   void (*some)(const ChannelWork *work, ptrdiff_t first, ptrdiff_t columns))
{
    const ptrdiff_t end = stop * COLUMNS_TOGETHER < work->channels ? stop * COLUMNS_TOGETHER : work->channels;
    for (ptrdiff_t first = start * COLUMNS_TOGETHER; first < end; first += COLUMNS_AT_ONCE) {
        some(work, first, end - first < COLUMNS_AT_ONCE ? end - first : COLUMNS_AT_ONCE);
    }
}

/* Means and deviations of the pieces of columns from `start` to `stop`. */
static void
NAMED(channel_statistics)(const ChannelWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    NAMED(for_columns)(work, start, stop, NAMED(column_statistics));
}

/* ---- pieces: channels of samples, or columns ------------------------------------------------------------------ */

static void
NAMED(apply_to_columns)(const ChannelWork *work, ptrdiff_t first, ptrdiff_t columns)
{
    const ptrdiff_t step = work->channels;
    const REAL *restrict x = (const REAL *)work->input + first, *mean = (const REAL *)work->mean + first;
    const REAL *weight = work->weight, *bias = work->bias, *inverse = work->inverse;
    REAL *restrict out = (REAL *)work->result + first;
    REAL middle[COLUMNS_AT_ONCE], scale[COLUMNS_AT_ONCE], shift[COLUMNS_AT_ONCE];
    for (ptrdiff_t at = 0; at < columns; at++) {
        middle[at] = mean[at];
        scale[at] = inverse[first + at] * (weight == NULL ? 1 : weight[first + at]);
        shift[at] = bias == NULL ? 0 : bias[first + at];
    }
    for (ptrdiff_t row = 0; row < work->samples; row++) {
        for (ptrdiff_t at = 0; at < columns; at++) {
            out[row * step + at] = (x[row * step + at] - middle[at]) * scale[at] + shift[at];
        }
    }
}

/* (input - mean) * inverse * weight + bias */
static void
NAMED(channel_apply)(const ChannelWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const ptrdiff_t places = work->places;
    if (places == 1) {
        NAMED(for_columns)(work, start, stop, NAMED(apply_to_columns));
        return;
    }
    for (ptrdiff_t piece = start; piece < stop; piece++) {
        const ptrdiff_t channel = piece % work->channels;
        const REAL *restrict x = (const REAL *)work->input + piece * places;
        REAL *restrict out = (REAL *)work->result + piece * places;
        const REAL mean = ((const REAL *)work->mean)[channel], inverse = ((const REAL *)work->inverse)[channel];
        const REAL scale = work->weight == NULL ? inverse : inverse * ((const REAL *)work->weight)[channel];
        const REAL shift = work->bias == NULL ? 0 : ((const REAL *)work->bias)[channel];
        for (ptrdiff_t at = 0; at < places; at++) {
            out[at] = (x[at] - mean) * scale + shift;
        }
    }
}

static void
NAMED(sum_products_of_columns)(const ChannelWork *work, ptrdiff_t first, ptrdiff_t columns)
{
    const ptrdiff_t step = work->channels;
    const REAL *restrict x = (const REAL *)work->input + first, *restrict g = (const REAL *)work->gradient + first;
    const REAL *mean = (const REAL *)work->mean + first;
    double sums[COLUMNS_AT_ONCE], products[COLUMNS_AT_ONCE];
    REAL middle[COLUMNS_AT_ONCE];
    for (ptrdiff_t at = 0; at < columns; at++) {
        middle[at] = mean[at];
        sums[at] = products[at] = 0;
    }
    ptrdiff_t row = 0;
    for (; row + 2 <= work->samples; row += 2) {
        const REAL *restrict a = x + row * step, *restrict b = a + step, *restrict c = g + row * step, *restrict d = c + step;
        for (ptrdiff_t at = 0; at < columns; at++) {
            sums[at] = sums[at] + (double)c[at] + (double)d[at];
            products[at] = products[at] + (double)(c[at] * (a[at] - middle[at])) + (double)(d[at] * (b[at] - middle[at]));
        }
    }
    for (; row < work->samples; row++) {
        for (ptrdiff_t at = 0; at < columns; at++) {
            const REAL slope = g[row * step + at];
            sums[at] += (double)slope;
            products[at] += (double)(slope * (x[row * step + at] - middle[at]));
        }
    }
    for (ptrdiff_t at = 0; at < columns; at++) {
        work->sums[2 * (first + at)] = sums[at];
        work->sums[2 * (first + at) + 1] = products[at];
    }
}

/* For each piece the sums of the gradient, and of the gradient times the distance from the mean. */
static void
NAMED(channel_sums)(const ChannelWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const ptrdiff_t places = work->places;
    if (places == 1) {
        NAMED(for_columns)(work, start, stop, NAMED(sum_products_of_columns));
        return;
    }
    for (ptrdiff_t piece = start; piece < stop; piece++) {
        const REAL *x = (const REAL *)work->input + piece * places, *g = (const REAL *)work->gradient + piece * places;
        const REAL mean = ((const REAL *)work->mean)[piece % work->channels];
        double total = 0, along = 0;
        for (ptrdiff_t from = 0; from < places; from += BLOCK) {
            V sum = {0}, product = {0};
            FOR_VECTORS(
                from, NAMED(block_end)(from, places),
                {
                    const V slope = NAMED(load)(g + at);
                    sum += slope;
                    product += slope * (NAMED(load)(x + at) - mean);
                },
                {
                    const V slope = NAMED(load_some)(g + at, rest, 0);
                    sum += slope;
                    product += slope * (NAMED(load_some)(x + at, rest, mean) - mean);
                });
            total += NAMED(sum_tree)(sum);
            along += NAMED(sum_tree)(product);
        }
        work->sums[2 * piece] = total;
        work->sums[2 * piece + 1] = along;
    }
}

/* From the sums of the pieces: the gradients of weight and bias, and what `slopes_of_columns` takes away. */
static void
NAMED(channel_totals)(const ChannelWork *work)
{
    const ptrdiff_t samples = work->places == 1 ? 1 : work->samples;
    const REAL *weight = work->weight;
    for (ptrdiff_t channel = 0; channel < work->channels; channel++) {
        const double inverse = (double)((const REAL *)work->inverse)[channel];
        const double share = (weight == NULL ? 1 : (double)weight[channel]) / (double)work->samples;
        double total = 0, along = 0;
        for (ptrdiff_t sample = 0; sample < samples; sample++) {
            total += work->sums[2 * (sample * work->channels + channel)];
            along += work->sums[2 * (sample * work->channels + channel) + 1] * inverse;
        }
        work->taken[2 * channel] = total * share;
        work->taken[2 * channel + 1] = along * share * inverse;
        if (work->of_weight != NULL) {
            ((REAL *)work->of_weight)[channel] = (REAL)along;
        }
        if (work->of_bias != NULL) {
            ((REAL *)work->of_bias)[channel] = (REAL)total;
        }
    }
}

static void
NAMED(slopes_of_columns)(const ChannelWork *work, ptrdiff_t first, ptrdiff_t columns)
{
    const ptrdiff_t step = work->channels;
    const REAL *restrict x = (const REAL *)work->input + first, *restrict g = (const REAL *)work->gradient + first;
    const REAL *weight = work->weight, *inverse = (const REAL *)work->inverse + first;
    REAL *restrict out = (REAL *)work->result + first;
    REAL mean[COLUMNS_AT_ONCE], scale[COLUMNS_AT_ONCE], middle[COLUMNS_AT_ONCE], share[COLUMNS_AT_ONCE];
    for (ptrdiff_t at = 0; at < columns; at++) {
        mean[at] = ((const REAL *)work->mean)[first + at];
        scale[at] = weight == NULL ? inverse[at] : weight[first + at] * inverse[at];
        middle[at] = work->fixed ? 0 : (REAL)work->taken[2 * (first + at)] * inverse[at];
        share[at] = work->fixed ? 0 : (REAL)work->taken[2 * (first + at) + 1] * inverse[at];
    }
    const int fixed = work->fixed;
    for (ptrdiff_t row = 0; row < work->samples; row++, x += step, g += step, out += step) {
        if (fixed) {
            for (ptrdiff_t at = 0; at < columns; at++) {
                out[at] = g[at] * scale[at];
            }
        }
        else {
            for (ptrdiff_t at = 0; at < columns; at++) {
                out[at] = g[at] * scale[at] - middle[at] - (x[at] - mean[at]) * share[at];
            }
        }
    }
}

/* J of ops/neural/normalization.py; with statistics that are fixed, gradient * weight * inverse. */
static void
NAMED(channel_slopes)(const ChannelWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const ptrdiff_t places = work->places;
    if (places == 1) {
        NAMED(for_columns)(work, start, stop, NAMED(slopes_of_columns));
        return;
    }
    for (ptrdiff_t piece = start; piece < stop; piece++) {
        const ptrdiff_t channel = piece % work->channels;
        const REAL *restrict g = (const REAL *)work->gradient + piece * places;
        REAL *restrict out = (REAL *)work->result + piece * places;
        const REAL inverse = ((const REAL *)work->inverse)[channel];
        const REAL scale = work->weight == NULL ? inverse : inverse * ((const REAL *)work->weight)[channel];
        for (ptrdiff_t at = 0; at < places; at++) {
            out[at] = g[at] * scale;
        }
    }
}
