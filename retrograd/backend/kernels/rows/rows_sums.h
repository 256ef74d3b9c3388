/* Sums over rows and over columns, for one type; see rows.h and rows_loops.h.
 *
 * A few elements are added up in REAL, as a tree; their sums go on in double.
 */
INLINE double
NAMED(sum_tree)(V values)
{
    typedef REAL Part __attribute__((vector_size(16)));
    Part parts[VECTOR_BYTES / 16];
    memcpy(parts, &values, sizeof parts);
    for (ptrdiff_t half = VECTOR_BYTES / 32; half > 0; half /= 2) {
        for (ptrdiff_t part = 0; part < half; part++) {
            parts[part] += parts[part + half];
        }
    }
#if IS_FLOAT
    return ((double)parts[0][0] + (double)parts[0][2]) + ((double)parts[0][1] + (double)parts[0][3]);
#else
    return parts[0][0] + parts[0][1];
#endif
}

/* The sum of elements that lie one after the other. */
static double
NAMED(sum_stretch)(const REAL *x, ptrdiff_t length)
{
    double total = 0;
    for (ptrdiff_t start = 0; start < length; start += BLOCK) {
        const ptrdiff_t stop = NAMED(block_end)(start, length);
        V sum[4] = {{0}, {0}, {0}, {0}}; /* an addition takes longer than a load */
        ptrdiff_t whole = start;
        for (; whole + 4 * LANES <= stop; whole += 4 * LANES) {
            for (ptrdiff_t part = 0; part < 4; part++) {
                sum[part] += NAMED(load)(x + whole + part * LANES);
            }
        }
        FOR_VECTORS(whole, stop, sum[0] += NAMED(load)(x + at), sum[1] += NAMED(load_some)(x + at, rest, 0));
        total += NAMED(sum_tree)((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
    return total;
}

/* One number for each of some rows; short ones without vectors. */
static void
NAMED(sum_rows)(const void *input, void *result, ptrdiff_t rows, ptrdiff_t length)
{
    const REAL *x = input;
    REAL *out = result;
    for (ptrdiff_t row = 0; row < rows; row++, x += length) {
        double total = 0;
        if (length < LANES) {
            for (ptrdiff_t at = 0; at < length; at++) {
                total += (double)x[at];
            }
        }
        else {
            total = NAMED(sum_stretch)(x, length);
        }
        out[row] = (REAL)total;
    }
}

/* The sums of a few columns, COLUMNS_TOGETHER at most, over rows that are `step` elements apart: eight rows at a time,
 * which are read as eight streams. */
static void
NAMED(sum_columns)(const void *input, void *result, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t step)
{
    const REAL *restrict x = input;
    REAL *restrict out = result;
    double totals[COLUMNS_TOGETHER];
    for (ptrdiff_t at = 0; at < columns; at++) {
        totals[at] = 0;
    }
    ptrdiff_t row = 0;
    for (; row + 8 <= rows; row += 8, x += 8 * step) {
        for (ptrdiff_t at = 0; at < columns; at++) {
            const REAL low = (x[at] + x[at + step]) + (x[at + 2 * step] + x[at + 3 * step]);
            const REAL high = (x[at + 4 * step] + x[at + 5 * step]) + (x[at + 6 * step] + x[at + 7 * step]);
            totals[at] += (double)(low + high);
        }
    }
    for (; row < rows; row++, x += step) {
        for (ptrdiff_t at = 0; at < columns; at++) {
            totals[at] += (double)x[at];
        }
    }
    for (ptrdiff_t at = 0; at < columns; at++) {
        out[at] = (REAL)totals[at];
    }
}
