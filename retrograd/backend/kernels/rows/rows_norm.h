/* layer_norm and its gradients, for one type; see ../vectors.h and rows_loops.h. */

/* The sum of (x - middle)^power over a row. */
INLINE double
NAMED(sum_powers)(const REAL *x, REAL middle, int power, ptrdiff_t length)
{
    double total = 0;
    for (ptrdiff_t start = 0; start < length; start += BLOCK) {
        V sum = {0};
#define ADD(values)                               \
    do {                                          \
        const V item = values - middle;           \
        sum += power == 2 ? item * item : item;   \
    } while (0)
        FOR_VECTORS(start, NAMED(block_end)(start, length), ADD(NAMED(load)(x + at)),
                    ADD(NAMED(load_some)(x + at, rest, middle)));
#undef ADD
        total += NAMED(sum_lanes)(sum);
    }
    return total;
}

static void
NAMED(layer_norm)(const NormWork *work)
{
    const ptrdiff_t columns = work->columns;
    const REAL *restrict x = work->input, *restrict weight = work->weight, *restrict bias = work->bias;
    REAL *restrict out = work->result;
    for (ptrdiff_t row = 0; row < work->rows; row++, x += columns, out += columns) {
        /* as a distance from some element, which is small even where the mean is not */
        const REAL mean = (REAL)((double)x[0] + NAMED(sum_powers)(x, x[0], 1, columns) / (double)columns);
        const double variance = NAMED(sum_powers)(x, mean, 2, columns) / (double)columns;
        const REAL inverse = (REAL)(1 / sqrt(variance + work->epsilon));
        ((REAL *)work->mean)[row] = mean;
        ((REAL *)work->inverse)[row] = inverse;
        if (weight != NULL && bias != NULL) {
            for (ptrdiff_t at = 0; at < columns; at++) {
                out[at] = (x[at] - mean) * inverse * weight[at] + bias[at];
            }
            continue;
        }
        for (ptrdiff_t at = 0; at < columns; at++) {
            out[at] = (x[at] - mean) * inverse;
        }
        for (ptrdiff_t at = 0; weight != NULL && at < columns; at++) {
            out[at] *= weight[at];
        }
        for (ptrdiff_t at = 0; bias != NULL && at < columns; at++) {
            out[at] += bias[at];
        }
    }
}

/* How many rows are added up before their sum joins the total: about the square root of all, so that rounding errors
 * grow with that and not with the rows. */
INLINE ptrdiff_t
NAMED(rows_together)(ptrdiff_t rows)
{
    ptrdiff_t found = 16;
    while (found * found < rows) {
        found *= 2;
    }
    return found;
}

/* Adds the sums of a few rows to the totals and starts them again. */
INLINE void
NAMED(join_sums)(REAL *restrict total, REAL *restrict sums, ptrdiff_t columns)
{
    for (ptrdiff_t at = 0; at < columns; at++) {
        total[at] += sums[at];
        sums[at] = 0;
    }
}

/* Sums over the rows: of the gradient, and of the gradient times the standardised input. */
static void
NAMED(norm_parameters)(const NormWork *work)
{
    const ptrdiff_t columns = work->columns;
    const REAL *restrict x = work->input, *restrict g = work->gradient;
    const REAL *mean = work->mean, *inverse = work->inverse;
    REAL *restrict of_weight = work->scratch, *restrict of_bias = of_weight + columns;
    const ptrdiff_t together = NAMED(rows_together)(work->rows);
    memset(of_weight, 0, 2 * (size_t)columns * sizeof(REAL));
    for (ptrdiff_t row = 0; row < work->rows; row++, x += columns, g += columns) {
        const REAL middle = mean[row], scale = inverse[row];
        if (work->of_weight != NULL && work->of_bias != NULL) {
            for (ptrdiff_t at = 0; at < columns; at++) {
                of_weight[at] += g[at] * ((x[at] - middle) * scale);
                of_bias[at] += g[at];
            }
        }
        else if (work->of_weight != NULL) {
            for (ptrdiff_t at = 0; at < columns; at++) {
                of_weight[at] += g[at] * ((x[at] - middle) * scale);
            }
        }
        else {
            for (ptrdiff_t at = 0; at < columns; at++) {
                of_bias[at] += g[at];
            }
        }
        if (row % together == together - 1 || row == work->rows - 1) {
            if (work->of_weight != NULL) {
                NAMED(join_sums)(work->of_weight, of_weight, columns);
            }
            if (work->of_bias != NULL) {
                NAMED(join_sums)(work->of_bias, of_bias, columns);
            }
        }
    }
}

/* J of ops/neural/normalization.py: inverse * (v - mean(v) - x * mean(v * x)), v = gradient * weight. */
static void
NAMED(norm_input)(const NormWork *work)
{
    const ptrdiff_t columns = work->columns;
    const REAL *restrict x = work->input, *restrict g = work->gradient, *restrict weight = work->weight;
    REAL *restrict out = work->result;
    for (ptrdiff_t row = 0; row < work->rows; row++, x += columns, g += columns, out += columns) {
        const REAL mean = ((const REAL *)work->mean)[row], inverse = ((const REAL *)work->inverse)[row];
        double total = 0, along = 0;
        for (ptrdiff_t start = 0; start < columns; start += BLOCK) {
            V sum = {0}, product = {0};
#define ADD(load)                                                       \
    do {                                                                \
        const V slope = weight == NULL ? load(g) : load(g) * load(weight); \
        sum += slope;                                                   \
        product += slope * (load(x) - mean);                            \
    } while (0)
#define WHOLE(from) NAMED(load)(from + at)
#define SOME(from) NAMED(load_some)(from + at, rest, 0)
            FOR_VECTORS(start, NAMED(block_end)(start, columns), ADD(WHOLE), ADD(SOME));
#undef ADD
#undef WHOLE
#undef SOME
            total += NAMED(sum_lanes)(sum);
            along += NAMED(sum_lanes)(product);
        }
        const REAL middle = (REAL)(total / (double)columns);
        const REAL share = (REAL)(along * (double)inverse * (double)inverse / (double)columns);
        if (weight != NULL) {
            for (ptrdiff_t at = 0; at < columns; at++) {
                out[at] = (g[at] * weight[at] - middle - (x[at] - mean) * share) * inverse;
            }
        }
        else {
            for (ptrdiff_t at = 0; at < columns; at++) {
                out[at] = (g[at] - middle - (x[at] - mean) * share) * inverse;
            }
        }
    }
}

static void
NAMED(layer_norm_gradients)(const NormWork *work)
{
    if (work->result != NULL) {
        NAMED(norm_input)(work);
    }
    if (work->of_weight != NULL || work->of_bias != NULL) {
        NAMED(norm_parameters)(work);
    }
}
