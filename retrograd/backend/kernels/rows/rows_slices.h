/* Adding slices to slices that an index names, for one type; see rows_loops.h. Only sums, in the order of the index: the
 * bits are NumPy's. */
static void
NAMED(add_slices)(const SlicesWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const ptrdiff_t width = stop - start;
    for (ptrdiff_t row = 0; row < work->rows; row++) {
        const ptrdiff_t skip = (ptrdiff_t)work->places[row] * work->step + start;
        REAL *restrict out = (REAL *)work->result + skip;
        const REAL *restrict values = (const REAL *)work->values + row * work->step + start;
        if (work->first == NULL || !work->first[row]) {
            for (ptrdiff_t at = 0; at < width; at++) {
                out[at] += values[at];
            }
        }
        else if (work->base == NULL) {
            for (ptrdiff_t at = 0; at < width; at++) {
                out[at] = values[at] + 0; /* which leaves no negative zero */
            }
        }
        else {
            const REAL *restrict base = (const REAL *)work->base + skip;
            for (ptrdiff_t at = 0; at < width; at++) {
                out[at] = base[at] + values[at];
            }
        }
    }
}
