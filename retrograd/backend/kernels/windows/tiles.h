/* The innermost loops of convolution: a block of sums that stays in registers.
 *
 * No include guard: windows_build.h includes this once for float and once for double.
 */
/* Vectors beside each other and rows of a block: as many sums as registers hold beside what they are made of. */
#if VECTOR_BYTES == 64
#define MOST_VECTORS 4
#else
#define MOST_VECTORS 2
#endif
#define MOST_ROWS 6

/* Rows of a block whose lanes are outputs: with few vectors more of them, or sums would wait for each other. */
#if VECTOR_BYTES == 64
#define LANE_ROWS(vectors) ((vectors) <= 2 ? 12 : (vectors) == 3 ? 8 : MOST_ROWS)
#else
#define LANE_ROWS(vectors) ((vectors) == 1 ? 12 : MOST_ROWS)
#endif
#define MOST_LANE_ROWS 12

/* ---- lanes of several vectors ------------------------------------------------------------------------------------- */

/* Every second lane of two vectors. */
INLINE V
NAMED(even_lanes)(V a, V b)
{
#if !defined(__clang__) && __GNUC__ < 12
    V found;
    for (ptrdiff_t lane = 0; lane < LANES; lane++) {
        found[lane] = 2 * lane < LANES ? a[2 * lane] : b[2 * lane - LANES];
    }
    return found;
#elif VECTOR_BYTES / REAL_BYTES == 16
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif VECTOR_BYTES / REAL_BYTES == 8
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#elif VECTOR_BYTES / REAL_BYTES == 4
    return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#else
    return __builtin_shufflevector(a, b, 0, 2);
#endif
}

/* `count` elements, `step` apart; what is in the lanes after them does not matter. */
INLINE V
NAMED(load_apart)(const REAL *from, const ptrdiff_t step, ptrdiff_t count)
{
    if (step == 1) {
        return count >= LANES ? NAMED(load)(from) : NAMED(load_some)(from, count, 0);
    }
    if (step == 2) {
        const ptrdiff_t last = 2 * count - 1; /* the element after the last one may be outside */
        if (last >= 2 * LANES - 1) {
            return NAMED(even_lanes)(NAMED(load)(from), NAMED(load_some)(from + LANES, LANES - 1, 0));
        }
        const V first = last >= LANES ? NAMED(load)(from) : NAMED(load_some)(from, last, 0);
        return NAMED(even_lanes)(first, last > LANES ? NAMED(load_some)(from + LANES, last - LANES, 0) : (V){0});
    }
    V found = {0};
    for (ptrdiff_t lane = 0; lane < SMALLER(count, LANES); lane++) {
        found[lane] = from[lane * step];
    }
    return found;
}

#if VECTOR_BYTES == 64
/* The lanes from `first` to `stop`, a bit for each. */
INLINE uint32_t
NAMED(lanes_between)(ptrdiff_t first, ptrdiff_t stop)
{
    const ptrdiff_t before = LARGER(0, SMALLER(LANES, first)), end = LARGER(before, SMALLER(LANES, stop));
    return ((uint32_t)1 << end) - ((uint32_t)1 << before);
}

/* Some lanes from memory, zeros in place of the others; nothing else is read. */
INLINE V
NAMED(load_lanes)(const REAL *from, uint32_t chosen)
{
    return sizeof(REAL) == 4 ? (V)_mm512_maskz_loadu_ps((__mmask16)chosen, from)
                             : (V)_mm512_maskz_loadu_pd((__mmask8)chosen, from);
}

INLINE V
NAMED(load_between)(const REAL *from, ptrdiff_t first, ptrdiff_t stop)
{
    return NAMED(load_lanes)(from, NAMED(lanes_between)(first, stop));
}

/* a[0], b[0], a[1], b[1] ... and the same of the upper halves. */
#if !defined(__clang__) && __GNUC__ < 12
INLINE V
NAMED(pairs_from)(V a, V b, ptrdiff_t start)
{
    V found;
    for (ptrdiff_t lane = 0; lane < LANES; lane++) {
        found[lane] = lane % 2 ? b[start + lane / 2] : a[start + lane / 2];
    }
    return found;
}

#define PAIRS(name, start, ...) \
    INLINE V name(V a, V b) { return NAMED(pairs_from)(a, b, start); }
#else
#define PAIRS(name, start, ...) \
    INLINE V name(V a, V b) { return __builtin_shufflevector(a, b, __VA_ARGS__); }
#endif
#if VECTOR_BYTES / REAL_BYTES == 16
PAIRS(NAMED(lower_pairs), 0, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
PAIRS(NAMED(upper_pairs), 8, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#else
PAIRS(NAMED(lower_pairs), 0, 0, 8, 1, 9, 2, 10, 3, 11)
PAIRS(NAMED(upper_pairs), 4, 4, 12, 5, 13, 6, 14, 7, 15)
#endif
#undef PAIRS
#endif

/* ---- transposing ------------------------------------------------------------------------------------------------ */

#undef Q
#define Q NAMED(quad)
typedef REAL Q __attribute__((vector_size(4 * sizeof(REAL))));

/* to[column][row] = from[row][column] for four rows and four columns. */
INLINE void
NAMED(transpose_quads)(REAL *restrict to, ptrdiff_t to_row, const REAL *restrict from, ptrdiff_t from_row)
{
#if defined(__clang__) || __GNUC__ >= 12
    Q a, b, c, d;
    memcpy(&a, from, sizeof a);
    memcpy(&b, from + from_row, sizeof b);
    memcpy(&c, from + 2 * from_row, sizeof c);
    memcpy(&d, from + 3 * from_row, sizeof d);
    const Q ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Q ab_end = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd_end = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    c = __builtin_shufflevector(ab_end, cd_end, 0, 1, 4, 5);
    d = __builtin_shufflevector(ab_end, cd_end, 2, 3, 6, 7);
    memcpy(to, &a, sizeof a);
    memcpy(to + to_row, &b, sizeof b);
    memcpy(to + 2 * to_row, &c, sizeof c);
    memcpy(to + 3 * to_row, &d, sizeof d);
#else
    for (ptrdiff_t column = 0; column < 4; column++) {
        for (ptrdiff_t row = 0; row < 4; row++) {
            to[column * to_row + row] = from[row * from_row + column];
        }
    }
#endif
}

#if VECTOR_BYTES == 64
INLINE V
NAMED(pick)(V a, IV places, V b)
{
    return sizeof(REAL) == 4 ? (V)_mm512_permutex2var_ps((__m512)a, (__m512i)places, (__m512)b)
                             : (V)_mm512_permutex2var_pd((__m512d)a, (__m512i)places, (__m512d)b);
}

/* The same for squares of as many rows and columns as a vector has lanes, `count` of them: within each, squares of 1, 2, 4
 * ... lanes change places. */
static void
NAMED(transpose_squares)(REAL *restrict to, ptrdiff_t to_row, ptrdiff_t to_step, const REAL *restrict from,
                         ptrdiff_t from_row, ptrdiff_t from_step, ptrdiff_t count)
{
    IV first[4] = {{0}}, second[4] = {{0}};
    for (int stage = 0; 1 << stage < LANES; stage++) {
        for (int lane = 0; lane < LANES; lane++) {
            const int odd = lane >> stage & 1;
            first[stage][lane] = odd ? (int)LANES + lane - (1 << stage) : lane;
            second[stage][lane] = odd ? (int)LANES + lane : lane + (1 << stage);
        }
    }
    for (ptrdiff_t square = 0; square < count; square++, to += to_step, from += from_step) {
        V lines[LANES];
#pragma GCC unroll 16
        for (int line = 0; line < LANES; line++) {
            lines[line] = NAMED(load)(from + line * from_row);
        }
#pragma GCC unroll 4
        for (int stage = 0; stage < (sizeof(REAL) == 4 ? 4 : 3); stage++) {
#pragma GCC unroll 16
            for (int line = 0; line < LANES; line++) {
                if ((line >> stage & 1) == 0) {
                    const V a = lines[line], b = lines[line + (1 << stage)];
                    lines[line] = NAMED(pick)(a, first[stage], b);
                    lines[line + (1 << stage)] = NAMED(pick)(a, second[stage], b);
                }
            }
        }
#pragma GCC unroll 16
        for (int line = 0; line < LANES; line++) {
            NAMED(store)(to + line * to_row, lines[line]);
        }
    }
}
#endif

/* to[places[column]][row] = from[row][column]; columns whose place is below zero are left out. */
static void
NAMED(transpose_to)(REAL *restrict to, ptrdiff_t to_row, const int32_t *places, const REAL *restrict from,
                    ptrdiff_t from_row, ptrdiff_t rows, ptrdiff_t columns)
{
    for (ptrdiff_t column = 0; column < columns; column += 4) {
        const ptrdiff_t width = SMALLER(4, columns - column), whole = width == 4 ? rows & ~(ptrdiff_t)3 : 0;
        REAL quads[16];
        for (ptrdiff_t row = 0; row < whole; row += 4) {
            NAMED(transpose_quads)(quads, 4, from + row * from_row + column, from_row);
            for (int next = 0; next < 4; next++) {
                if (places[column + next] >= 0) {
                    memcpy(to + places[column + next] * to_row + row, quads + 4 * next, 4 * sizeof(REAL));
                }
            }
        }
        for (ptrdiff_t next = column; next < column + width; next++) {
            for (ptrdiff_t row = whole; places[next] >= 0 && row < rows; row++) {
                to[places[next] * to_row + row] = from[row * from_row + next];
            }
        }
    }
}

/* to[column][row] = from[row][column] */
static void
NAMED(transpose)(REAL *restrict to, ptrdiff_t to_row, const REAL *restrict from, ptrdiff_t from_row, ptrdiff_t rows,
                 ptrdiff_t columns)
{
    ptrdiff_t square_rows = 0, square_columns = 0;
#if VECTOR_BYTES == 64
    square_rows = rows & ~(LANES - 1);
    square_columns = columns & ~(LANES - 1);
    /* along the rows that lie further apart: each is a stream, and of a few the processor reads ahead */
    for (ptrdiff_t row = 0; from_row > to_row && row < square_rows; row += LANES) {
        NAMED(transpose_squares)(to + row, to_row, LANES * to_row, from + row * from_row, from_row, LANES,
                                 square_columns / LANES);
    }
    for (ptrdiff_t column = 0; from_row <= to_row && column < square_columns; column += LANES) {
        NAMED(transpose_squares)(to + column * to_row, to_row, LANES, from + column, from_row, LANES * from_row,
                                 square_rows / LANES);
    }
#endif
    for (ptrdiff_t row = 0; row < rows; row += 4) {
        const ptrdiff_t height = SMALLER(4, rows - row);
        ptrdiff_t column = row < square_rows ? square_columns : 0;
        for (; height == 4 && column + 4 <= columns; column += 4) {
            NAMED(transpose_quads)(to + column * to_row + row, to_row, from + row * from_row + column, from_row);
        }
        for (; column < columns; column++) {
            for (ptrdiff_t next = row; next < row + height; next++) {
                to[column * to_row + next] = from[next * from_row + column];
            }
        }
    }
}

/* ---- sums --------------------------------------------------------------------------------------------------------- */

/* out[n][lane] (+)= sum over k of numbers[row_places[n] + places[k]] * panel[k][lane], where n is one of order[row]
 *
 * One factor is read number by number, from anywhere; the other is a dense panel of vectors. `more`: it is added to
 * what is there, so that long sums are sums of sums. */
INLINE void
NAMED(block_of_lanes)(const int rows, const int vectors, const REAL *numbers, const int32_t *order,
                      const int32_t *row_places, const int32_t *places, ptrdiff_t length, const REAL *restrict panel, REAL *restrict out,
                      int more)
{
    V sums[MOST_LANE_ROWS][MOST_VECTORS];
    const REAL *at[MOST_LANE_ROWS];
#pragma GCC unroll 16
    for (int row = 0; row < rows; row++) {
        at[row] = numbers + row_places[order[row]];
#pragma GCC unroll 16
        for (int vector = 0; vector < vectors; vector++) {
            sums[row][vector] = (V){0};
        }
    }
    for (ptrdiff_t k = 0; k < length; k++) {
        const ptrdiff_t place = places[k];
        V beside[MOST_VECTORS];
#pragma GCC unroll 16
        for (int vector = 0; vector < vectors; vector++) {
            beside[vector] = NAMED(load)(panel + vector * LANES);
        }
        panel += vectors * LANES;
#pragma GCC unroll 16
        for (int row = 0; row < rows; row++) {
            const REAL number = at[row][place];
#pragma GCC unroll 16
            for (int vector = 0; vector < vectors; vector++) {
                sums[row][vector] += beside[vector] * number;
            }
        }
    }
#pragma GCC unroll 16
    for (int row = 0; row < rows; row++) {
#pragma GCC unroll 16
        for (int vector = 0; vector < vectors; vector++) {
            REAL *to = out + (order[row] * (ptrdiff_t)vectors + vector) * LANES;
            NAMED(store)(to, more ? NAMED(load)(to) + sums[row][vector] : sums[row][vector]);
        }
    }
}

/* out[row][lane] (+)= sum over k of weights[k][row] * source[places[k] + lane]
 *
 * The lanes are neighbours in the source; the weights of a few outputs are read number by number. What is not added to
 * anything starts at start[row]. */
INLINE void
NAMED(block_of_places)(const int rows, const int vectors, const REAL *source, const int32_t *places, ptrdiff_t length,
                       const REAL *restrict weights, const REAL *start, REAL *restrict out, ptrdiff_t out_row, int more)
{
    V sums[MOST_ROWS][MOST_VECTORS];
#pragma GCC unroll 8
    for (int row = 0; row < rows; row++) {
#pragma GCC unroll 8
        for (int vector = 0; vector < vectors; vector++) {
            sums[row][vector] = more ? (V){0} : start[row] - (V){0};
        }
    }
    for (ptrdiff_t k = 0; k < length; k++) {
        const REAL *from = source + places[k];
        V beside[MOST_VECTORS];
#pragma GCC unroll 8
        for (int vector = 0; vector < vectors; vector++) {
            beside[vector] = NAMED(load)(from + vector * LANES);
        }
#pragma GCC unroll 8
        for (int row = 0; row < rows; row++) {
            const REAL number = weights[row];
#pragma GCC unroll 8
            for (int vector = 0; vector < vectors; vector++) {
                sums[row][vector] += beside[vector] * number;
            }
        }
        weights += rows;
    }
#pragma GCC unroll 8
    for (int row = 0; row < rows; row++) {
#pragma GCC unroll 8
        for (int vector = 0; vector < vectors; vector++) {
            REAL *to = out + row * out_row + vector * LANES;
            NAMED(store)(to, more ? NAMED(load)(to) + sums[row][vector] : sums[row][vector]);
        }
    }
}

#define FOR_SIX_ROWS(use) use(1) use(2) use(3) use(4) use(5) use(6)
#define FOR_EIGHT_ROWS(use) FOR_SIX_ROWS(use) use(7) use(8)
#define FOR_TWELVE_ROWS(use) FOR_EIGHT_ROWS(use) use(9) use(10) use(11) use(12)

/* The same for numbers of rows and vectors that are not constants. */
static void
NAMED(lanes)(int rows, int vectors, const REAL *numbers, const int32_t *order, const int32_t *row_places,
             const int32_t *places, ptrdiff_t length, const REAL *panel, REAL *out, int more)
{
#define CASE_OF(r, v) \
    case r: NAMED(block_of_lanes)(r, v, numbers, order, row_places, places, length, panel, out, more); return;
#define ONE(r) CASE_OF(r, 1)
#define TWO(r) CASE_OF(r, 2)
#define THREE(r) CASE_OF(r, 3)
#define FOUR(r) CASE_OF(r, 4)
    switch (vectors) {
    case 1: switch (rows) { FOR_TWELVE_ROWS(ONE) } break;
#if MOST_VECTORS > 2
    case 2: switch (rows) { FOR_TWELVE_ROWS(TWO) } break;
    case 3: switch (rows) { FOR_EIGHT_ROWS(THREE) } break;
    case 4: switch (rows) { FOR_SIX_ROWS(FOUR) } break;
#else
    case 2: switch (rows) { FOR_SIX_ROWS(TWO) } break;
#endif
    }
#undef CASE_OF
}

static void
NAMED(places)(int rows, int vectors, const REAL *source, const int32_t *places, ptrdiff_t length, const REAL *weights,
              const REAL *start, REAL *out, ptrdiff_t out_row, int more)
{
#define CASE_OF(r, v) \
    case r: NAMED(block_of_places)(r, v, source, places, length, weights, start, out, out_row, more); return;
    switch (vectors) {
    case 1: switch (rows) { FOR_SIX_ROWS(ONE) } break;
#if MOST_VECTORS > 2
    case 4: switch (rows) { FOR_SIX_ROWS(FOUR) } break;
#else
    case 2: switch (rows) { FOR_SIX_ROWS(TWO) } break;
#endif
    }
#undef CASE_OF
}

#undef ONE
#undef TWO
#undef THREE
#undef FOUR
#undef FOR_SIX_ROWS
#undef FOR_EIGHT_ROWS
#undef FOR_TWELVE_ROWS
