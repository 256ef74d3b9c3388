/* Pooling for one type: see Pooling in windows.h. */

/* One window: where it starts in its block, and how many elements it has along each axis. */
typedef struct {
    ptrdiff_t start, depth, height, width;
} NAMED(Window);

INLINE ptrdiff_t
NAMED(block_elements)(const Pooling *work)
{
    return work->size[0] * work->size[1] * work->size[2];
}

INLINE NAMED(Window)
NAMED(window_at)(const Pooling *work, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    return (NAMED(Window)){
        .start = (work->starts[0][z] * work->size[1] + work->starts[1][y]) * work->size[2] + work->starts[2][x],
        .depth = work->taps[0][z],
        .height = work->taps[1][y],
        .width = work->taps[2][x],
    };
}

/* Runs `action` for every element of a window, at `place` in its block. */
#define FOR_ELEMENTS(height, width, across, action)                                          \
    for (ptrdiff_t deep = 0; deep < window.depth; deep++) {                                  \
        for (ptrdiff_t high = 0; high < (height); high++) {                                  \
            ptrdiff_t place = window.start                                                   \
                              + (deep * work->dilation[0] * work->size[1] + high * work->dilation[1]) * work->size[2]; \
            for (ptrdiff_t wide = 0; wide < (width); wide++, place += (across)) {            \
                action;                                                                      \
            }                                                                                \
        }                                                                                    \
    }

/* ---- the largest element -------------------------------------------------------------------------------------- */

/* Among equals the first counts; a nan counts as larger than every number, the last of several. */
static void
NAMED(largest_with_nan)(const Pooling *work, NAMED(Window) window, const REAL *block, REAL *best, int64_t *where)
{
    FOR_ELEMENTS(window.height, window.width, work->dilation[2], {
        if (block[place] != block[place]) {
            *best = block[place];
            *where = place;
        }
    })
}

/* The search without branches that depend on the elements: windows with a nan are searched again. */
INLINE void
NAMED(largest)(const Pooling *work, const NAMED(Window) window, const ptrdiff_t height, const ptrdiff_t width,
               const ptrdiff_t across, const REAL *block, REAL *best, int64_t *where)
{
    REAL most = block[window.start];
    int64_t found = window.start;
    int unordered = 0;
    FOR_ELEMENTS(height, width, across, {
        const REAL item = block[place];
        found = item > most ? place : found;
        most = item > most ? item : most;
        unordered |= item != item;
    })
    *best = most;
    *where = found;
    if (unordered) {
        NAMED(largest_with_nan)(work, window, block, best, where);
    }
}

static void
NAMED(search)(const Pooling *work, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x, const REAL *block, REAL *best, int64_t *where)
{
    const NAMED(Window) window = NAMED(window_at)(work, z, y, x);
    NAMED(largest)(work, window, window.height, window.width, work->dilation[2], block, best, where);
}

/* Windows x .. x + count of a row, all whole: lanes are windows. */
INLINE void
NAMED(largest_of_lanes)(const Pooling *work, const ptrdiff_t step, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x, ptrdiff_t count,
                        const REAL *block, REAL *best, int64_t *where)
{
    const NAMED(Window) window = NAMED(window_at)(work, z, y, x);
    V most = NAMED(load_apart)(block + window.start, step, count);
    IV found = {0}, unordered = {0};
    FOR_ELEMENTS(window.height, window.width, work->dilation[2], {
        const V item = NAMED(load_apart)(block + place, step, count);
        const IV more = item > most;
        found = (found & ~more) | (((IV){0} + (BITS)(place - window.start)) & more);
        most = (V)(((IV)most & ~more) | ((IV)item & more));
        unordered |= item != item;
    })
    REAL lanes[LANES];
    BITS moves[LANES], odd[LANES];
    NAMED(store)(lanes, most);
    memcpy(moves, &found, sizeof moves);
    memcpy(odd, &unordered, sizeof odd);
    const ptrdiff_t used = SMALLER(count, LANES);
    BITS any = 0;
    for (ptrdiff_t lane = 0; lane < used; lane++) {
        best[lane] = lanes[lane];
        where[lane] = window.start + lane * step + moves[lane];
        any |= odd[lane];
    }
    for (ptrdiff_t lane = 0; any && lane < used; lane++) {
        if (odd[lane]) {
            NAMED(search)(work, z, y, x + lane, block, best + lane, where + lane);
        }
    }
}

INLINE void
NAMED(max_of_row)(const Pooling *work, const ptrdiff_t step, ptrdiff_t z, ptrdiff_t y, const REAL *block, REAL *best,
                  int64_t *where)
{
    for (ptrdiff_t x = 0; x < work->whole_first; x++) {
        NAMED(search)(work, z, y, x, block, best + x, where + x);
    }
    for (ptrdiff_t x = work->whole_first; x < work->whole_stop; x += LANES) {
        NAMED(largest_of_lanes)(work, step, z, y, x, work->whole_stop - x, block, best + x, where + x);
    }
    for (ptrdiff_t x = work->whole_stop; x < work->count[2]; x++) {
        NAMED(search)(work, z, y, x, block, best + x, where + x);
    }
}

static void
NAMED(max_pool)(const Pooling *work)
{
    const ptrdiff_t elements = NAMED(block_elements)(work), rows = work->count[0] * work->count[1];
    const REAL *block = work->input;
    REAL *best = work->result;
    int64_t *where = work->places;
    for (ptrdiff_t plane = 0; plane < work->planes; plane++, block += elements) {
        for (ptrdiff_t row = 0; row < rows; row++, best += work->count[2], where += work->count[2]) {
            const ptrdiff_t z = row / work->count[1], y = row % work->count[1];
            if (work->stride == 1) {
                NAMED(max_of_row)(work, 1, z, y, block, best, where);
            }
            else if (work->stride == 2) {
                NAMED(max_of_row)(work, 2, z, y, block, best, where);
            }
            else {
                NAMED(max_of_row)(work, work->stride, z, y, block, best, where);
            }
        }
    }
}

/* Adds each number of `input` to its place in the block; the places were checked. */
static void
NAMED(max_pool_gradient)(const Pooling *work)
{
    const ptrdiff_t elements = NAMED(block_elements)(work), count = work->count[0] * work->count[1] * work->count[2];
    const REAL *gradient = work->input;
    const int64_t *where = work->places;
    REAL *block = work->result;
    for (ptrdiff_t plane = 0; plane < work->planes; plane++, block += elements) {
        memset(block, 0, elements * sizeof(REAL));
        for (ptrdiff_t at = 0; at < count; at++) {
            block[*where++] += *gradient++;
        }
    }
}

/* ---- averages --------------------------------------------------------------------------------------------------- */

INLINE REAL
NAMED(share)(const Pooling *work, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    const ptrdiff_t count = work->shares[0][z] * work->shares[1][y] * work->shares[2][x];
    return (REAL)(work->divisor ? work->divisor : count);
}

/* The sum of the rows of a window, element by element. */
static void
NAMED(sum_rows)(const Pooling *work, NAMED(Window) window, const REAL *block, REAL *restrict sums)
{
    const ptrdiff_t width = work->size[2];
    memset(sums, 0, width * sizeof(REAL));
    for (ptrdiff_t deep = 0; deep < window.depth; deep++) {
        const REAL *row = block + (window.start / width + deep * work->size[1]) * width;
        for (ptrdiff_t high = 0; high < window.height; high++, row += width) {
            for (ptrdiff_t x = 0; x < width; x++) {
                sums[x] += row[x];
            }
        }
    }
}

INLINE REAL
NAMED(sum_of)(const REAL *row, ptrdiff_t width)
{
    REAL sum = 0;
    if (width < 2 * LANES) {
        for (ptrdiff_t x = 0; x < width; x++) {
            sum += row[x];
        }
        return sum;
    }
    V sums = {0};
    double total = 0;
    for (ptrdiff_t x = 0; x < width; x += LANES) {
        sums += width - x >= LANES ? NAMED(load)(row + x) : NAMED(load_some)(row + x, width - x, 0);
    }
    for (ptrdiff_t lane = 0; lane < LANES; lane++) {
        total += (double)sums[lane];
    }
    return (REAL)total;
}

/* Runs `action` for every row of windows of every plane: `window` is its first one. */
#define FOR_ROWS(block_type, block_start, action)                                            \
    do {                                                                                     \
        block_type block = block_start;                                                      \
        for (ptrdiff_t plane = 0; plane < work->planes; plane++, block += elements) {        \
            for (ptrdiff_t z = 0; z < work->count[0]; z++) {                                 \
                for (ptrdiff_t y = 0; y < work->count[1]; y++) {                             \
                    const NAMED(Window) window = NAMED(window_at)(work, z, y, 0);            \
                    action;                                                                  \
                }                                                                            \
            }                                                                                \
        }                                                                                    \
    } while (0)

static void
NAMED(avg_pool)(const Pooling *work)
{
    const ptrdiff_t elements = NAMED(block_elements)(work);
    const ptrdiff_t *starts = work->starts[2], *taps = work->taps[2];
    REAL *result = work->result, *sums = work->scratch;
    FOR_ROWS(const REAL *, work->input, {
        NAMED(sum_rows)(work, window, block, sums);
        for (ptrdiff_t x = 0; x < work->count[2]; x++) {
            const REAL *row = sums + starts[x];
            const REAL sum = taps[x] == 2 ? row[0] + row[1] : taps[x] == 3 ? row[0] + row[1] + row[2]
                                                                           : NAMED(sum_of)(row, taps[x]);
            *result++ = sum / NAMED(share)(work, z, y, x);
        }
    });
}

/* What each element of a row of the input gets from one row of windows. */
static void
NAMED(spread_row)(const Pooling *work, ptrdiff_t z, ptrdiff_t y, const REAL *gradient, REAL *restrict row)
{
    const ptrdiff_t *starts = work->starts[2], *taps = work->taps[2];
    memset(row, 0, work->size[2] * sizeof(REAL));
    for (ptrdiff_t x = 0; x < work->count[2]; x++) {
        const REAL part = gradient[x] / NAMED(share)(work, z, y, x);
        REAL *to = row + starts[x];
        for (ptrdiff_t tap = 0; tap < taps[x]; tap++) {
            to[tap] += part;
        }
    }
}

static void
NAMED(avg_pool_gradient)(const Pooling *work)
{
    const ptrdiff_t elements = NAMED(block_elements)(work), width = work->size[2];
    const REAL *gradient = work->input;
    REAL *row = work->scratch;
    memset(work->result, 0, work->planes * elements * sizeof(REAL));
    FOR_ROWS(REAL *, work->result, {
        NAMED(spread_row)(work, z, y, gradient, row);
        gradient += work->count[2];
        for (ptrdiff_t deep = 0; deep < window.depth; deep++) {
            REAL *restrict to = block + (window.start / width + deep * work->size[1]) * width;
            for (ptrdiff_t high = 0; high < window.height; high++, to += width) {
                for (ptrdiff_t x = 0; x < width; x++) {
                    to[x] += row[x];
                }
            }
        }
    });
}

#undef FOR_ROWS
#undef FOR_ELEMENTS
