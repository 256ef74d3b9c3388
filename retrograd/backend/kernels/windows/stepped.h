/* Convolution of planes by windows of their own, two columns apart, and its gradients, for one type.
 *
 * A vector of every second element is made of two vectors where the plane lies: to copy its even and odd columns apart, as
 * correlations do, would take longer than all products. What is outside of the plane is left out above and below, and is
 * zero beside it.
 */

/* Elements of a row for neighbouring outputs: which of the lanes of two vectors, for one column of the window. */
typedef struct {
    ptrdiff_t place;
    uint32_t first, second;
} NAMED(Pick);

/* The outputs from `x` on, `used` of them. With a constant number of columns the picks stay in registers. */
INLINE void
NAMED(find_picks)(const Dimension *w, const ptrdiff_t columns, ptrdiff_t x, ptrdiff_t used, NAMED(Pick) *picks)
{
#pragma GCC unroll 8
    for (ptrdiff_t column = 0; column < columns; column++) {
        const ptrdiff_t place = 2 * x + column * w->dilation - w->padding;
        const ptrdiff_t stop = SMALLER(w->size - place, 2 * used - 1);
        picks[column] = (NAMED(Pick)){place, NAMED(lanes_between)(-place, stop),
                                      NAMED(lanes_between)(-place - LANES, stop - LANES)};
    }
}

INLINE V
NAMED(picked)(const REAL *row, NAMED(Pick) pick)
{
    const REAL *from = row + pick.place;
    return NAMED(even_lanes)(NAMED(load_lanes)(from, pick.first), NAMED(load_lanes)(from + LANES, pick.second));
}

/* ---- convolution ------------------------------------------------------------------------------------------------ */

INLINE void
NAMED(stepped_plane)(const Stepped *work, const ptrdiff_t columns, const REAL *from, const REAL *weights, REAL start, REAL *to)
{
    const Dimension *h = &work->height, *w = &work->width;
    NAMED(Pick) picks[MOST_STEPPED] = {{0}};
    for (ptrdiff_t x = 0; x < w->count; x += LANES) {
        const ptrdiff_t used = SMALLER(LANES, w->count - x);
        NAMED(find_picks)(w, columns, x, used, picks);
        for (ptrdiff_t y = 0; y < h->count; y++) {
            V sum = NAMED(all)(start);
            for (ptrdiff_t row = 0; row < h->kernel; row++) {
                const ptrdiff_t place = y * h->stride + row * h->dilation - h->padding;
                if (place < 0 || place >= h->size) {
                    continue;
                }
#pragma GCC unroll 8
                for (ptrdiff_t column = 0; column < columns; column++) {
                    sum += NAMED(picked)(from + place * w->size, picks[column]) * weights[row * columns + column];
                }
            }
            NAMED(store_some)(to + y * w->count + x, sum, used);
        }
    }
}

/* Planes from number `first` to `stop`: those of all channels of the first sample, then of the next. */
static void
NAMED(stepped)(const Stepped *work, ptrdiff_t first, ptrdiff_t stop)
{
    const Dimension *h = &work->height, *w = &work->width;
    for (ptrdiff_t plane = first; plane < stop; plane++) {
        const ptrdiff_t channel = plane % work->channels;
        const REAL *from = (const REAL *)work->input + plane * h->size * w->size;
        const REAL *weights = (const REAL *)work->weight + channel * h->kernel * w->kernel;
        const REAL start = work->bias == NULL ? 0 : ((const REAL *)work->bias)[channel];
        REAL *to = (REAL *)work->result + plane * h->count * w->count;
        if (w->kernel == 3) {
            NAMED(stepped_plane)(work, 3, from, weights, start, to);
        }
        else {
            NAMED(stepped_plane)(work, w->kernel, from, weights, start, to);
        }
    }
}

/* ---- the gradient for the input --------------------------------------------------------------------------------- */

/* The results that one column of the window gives a share: in a row of the gradient, for every second element. */
typedef struct {
    ptrdiff_t place;
    uint32_t lanes;
    int is_odd;
} NAMED(Meeting);

/* One plane. Of neighbouring elements the even ones meet some columns of the window, the odd ones the others. */
INLINE void
NAMED(stepped_back_plane)(const Stepped *work, const ptrdiff_t columns, const REAL *gradient, const REAL *weights, REAL start,
                          REAL *to)
{
    const Dimension *h = &work->height, *w = &work->width;
    for (ptrdiff_t x = 0; 2 * x < w->size; x += LANES) {
        const ptrdiff_t rest = w->size - 2 * x;
        NAMED(Meeting) met[MOST_STEPPED] = {{0}};
#pragma GCC unroll 8
        for (ptrdiff_t column = 0; column < columns; column++) {
            const ptrdiff_t shift = column * w->dilation - w->padding, is_odd = shift & 1, place = x + (is_odd - shift) / 2;
            met[column] = (NAMED(Meeting)){place, NAMED(lanes_between)(-place, w->count - place), is_odd != 0};
        }
        for (ptrdiff_t y = 0; y < h->size; y++) {
            V even = NAMED(all)(start), odd = even;
            for (ptrdiff_t row = 0; row < h->kernel; row++) {
                const ptrdiff_t below = y - row * h->dilation + h->padding, place = below / h->stride;
                if (below < 0 || below % h->stride != 0 || place >= h->count) {
                    continue;
                }
                const REAL *from = gradient + place * w->count;
#pragma GCC unroll 8
                for (ptrdiff_t column = 0; column < columns; column++) {
                    const V items = NAMED(load_lanes)(from + met[column].place, met[column].lanes);
                    const V product = items * weights[row * columns + column];
                    if (met[column].is_odd) {
                        odd += product;
                    }
                    else {
                        even += product;
                    }
                }
            }
            REAL *into = to + y * w->size + 2 * x;
            NAMED(store_some)(into, NAMED(lower_pairs)(even, odd), SMALLER(LANES, rest));
            if (rest > LANES) {
                NAMED(store_some)(into + LANES, NAMED(upper_pairs)(even, odd), SMALLER(LANES, rest - LANES));
            }
        }
    }
}

static void
NAMED(stepped_back)(const Stepped *work, ptrdiff_t first, ptrdiff_t stop)
{
    const Dimension *h = &work->height, *w = &work->width;
    for (ptrdiff_t plane = first; plane < stop; plane++) {
        const ptrdiff_t channel = plane % work->channels;
        const REAL *gradient = (const REAL *)work->gradient + plane * h->count * w->count;
        const REAL *weights = (const REAL *)work->weight + channel * h->kernel * w->kernel;
        const REAL start = work->bias == NULL ? 0 : ((const REAL *)work->bias)[channel];
        REAL *to = (REAL *)work->result + plane * h->size * w->size;
        if (w->kernel == 3) {
            NAMED(stepped_back_plane)(work, 3, gradient, weights, start, to);
        }
        else {
            NAMED(stepped_back_plane)(work, w->kernel, gradient, weights, start, to);
        }
    }
}

/* ---- the gradient for the weight -------------------------------------------------------------------------------- */

/* totals[row][column] += the products of one plane, at a vector of columns, from one row to another. */
INLINE void
NAMED(add_stepped)(const Stepped *work, const ptrdiff_t rows, const ptrdiff_t columns, const REAL *from, const REAL *gradient,
                   ptrdiff_t x, ptrdiff_t first, ptrdiff_t stop, double *totals)
{
    const Dimension *h = &work->height, *w = &work->width;
    const ptrdiff_t used = SMALLER(LANES, w->count - x);
    NAMED(Pick) picks[MOST_STEPPED] = {{0}};
    V sums[MOST_STEPPED * MOST_STEPPED];
    NAMED(find_picks)(w, columns, x, used, picks);
#pragma GCC unroll 16
    for (ptrdiff_t tap = 0; tap < rows * columns; tap++) {
        sums[tap] = (V){0};
    }
    for (ptrdiff_t y = first; y < stop; y++) {
        const V factor = NAMED(load_some)(gradient + y * w->count + x, used, 0);
#pragma GCC unroll 8
        for (ptrdiff_t row = 0; row < rows; row++) {
            const ptrdiff_t place = y * h->stride + row * h->dilation - h->padding;
            if (place >= 0 && place < h->size) {
#pragma GCC unroll 8
                for (ptrdiff_t column = 0; column < columns; column++) {
                    sums[row * columns + column] += NAMED(picked)(from + place * w->size, picks[column]) * factor;
                }
            }
        }
    }
#pragma GCC unroll 16
    for (ptrdiff_t tap = 0; tap < rows * columns; tap++) {
        totals[tap] += NAMED(sum_lanes)(sums[tap]);
    }
}

/* One channel of the weight. */
INLINE void
NAMED(stepped_channel)(const Stepped *work, const ptrdiff_t rows, const ptrdiff_t columns, ptrdiff_t channel)
{
    const Dimension *h = &work->height, *w = &work->width;
    double totals[MOST_STEPPED * MOST_STEPPED] = {0};
    for (ptrdiff_t sample = 0; sample < work->samples; sample++) {
        const ptrdiff_t plane = sample * work->channels + channel;
        const REAL *from = (const REAL *)work->input + plane * h->size * w->size;
        const REAL *gradient = (const REAL *)work->gradient + plane * h->count * w->count;
        for (ptrdiff_t x = 0; x < w->count; x += LANES) {
            for (ptrdiff_t y = 0; y < h->count; y += LONG_SUM) {
                NAMED(add_stepped)(work, rows, columns, from, gradient, x, y, SMALLER(y + LONG_SUM, h->count), totals);
            }
        }
    }
    REAL *to = (REAL *)work->result + channel * rows * columns;
    for (ptrdiff_t tap = 0; tap < rows * columns; tap++) {
        to[tap] = (REAL)totals[tap];
    }
}

static void
NAMED(stepped_weight)(const Stepped *work, ptrdiff_t first, ptrdiff_t stop)
{
    for (ptrdiff_t channel = first; channel < stop; channel++) {
        if (work->height.kernel == 3 && work->width.kernel == 3) {
            NAMED(stepped_channel)(work, 3, 3, channel);
        }
        else {
            NAMED(stepped_channel)(work, work->height.kernel, work->width.kernel, channel);
        }
    }
}
