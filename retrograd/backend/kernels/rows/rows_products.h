/* Products of matrices, for one type; see ../vectors.h.
 *
 * One factor is read number by number from where it lies. Of the other, as many columns as a row of sums in registers has
 * lanes are a panel: read where they lie too, if their rows are dense, else laid out first. Each sum is taken in the order
 * of the inner dimension, so it depends neither on the tile that it is in nor on the number of threads.
 */
#if VECTOR_BYTES == 64
#define VECTORS 4
#else
#define VECTORS 2
#endif
#define MOST_ROWS 6 /* of a tile: as many sums as registers hold beside a row of the panel */
#define WIDE (VECTORS * LANES)
#define FAR 1024    /* elements: rows so far apart share few lines of a cache, so they are laid out */
#define UNROLLED _Pragma("GCC unroll 8")

/* to[row][lane] = sum over k of numbers[row, k] * panel[k][lane], of which `count` lanes are wanted. */
INLINE void
NAMED(product_tile)(const int rows, const int vectors, const REAL *numbers, ptrdiff_t of_row, ptrdiff_t of_inner,
                    const REAL *panel, ptrdiff_t distance, ptrdiff_t inner, REAL *to, ptrdiff_t to_row, ptrdiff_t count)
{
    V sums[MOST_ROWS][VECTORS];
    UNROLLED for (int row = 0; row < rows; row++) {
        UNROLLED for (int vector = 0; vector < vectors; vector++) {
            sums[row][vector] = (V){0};
        }
    }
    for (ptrdiff_t k = 0; k < inner; k++, numbers += of_inner, panel += distance) {
        V lanes[VECTORS];
        UNROLLED for (int vector = 0; vector < vectors; vector++) {
            lanes[vector] = NAMED(load)(panel + vector * LANES);
        }
        UNROLLED for (int row = 0; row < rows; row++) {
            const REAL number = numbers[row * of_row];
            UNROLLED for (int vector = 0; vector < vectors; vector++) {
                sums[row][vector] += lanes[vector] * number;
            }
        }
    }
    if (count >= vectors * LANES) {
        UNROLLED for (int row = 0; row < rows; row++) {
            UNROLLED for (int vector = 0; vector < vectors; vector++) {
                NAMED(store)(to + row * to_row + vector * LANES, sums[row][vector]);
            }
        }
        return;
    }
    REAL lanes[MOST_ROWS][WIDE]; /* a number of the loop may not choose a register */
    UNROLLED for (int row = 0; row < rows; row++) {
        UNROLLED for (int vector = 0; vector < vectors; vector++) {
            NAMED(store)(lanes[row] + vector * LANES, sums[row][vector]);
        }
    }
    for (int row = 0; row < rows; row++) {
        memcpy(to + row * to_row, lanes[row], (size_t)count * sizeof(REAL));
    }
}

/* A panel, and what is taken from it. */
typedef struct {
    const REAL *panel;
    ptrdiff_t distance, count; /* of its rows; lanes that are wanted */
    int vectors;
} NAMED(Panel);

INLINE void
NAMED(tiles)(const int vectors, const ProductWork *work, const NAMED(Panel) *of, const REAL *numbers, ptrdiff_t rows,
             REAL *to, ptrdiff_t to_row, ptrdiff_t count)
{
#define TILES(many)                                                                                                 \
    for (; row + many <= rows; row += many) {                                                                       \
        NAMED(product_tile)(many, vectors, numbers + row * work->numbers.of_row, work->numbers.of_row,              \
                            work->numbers.of_column, of->panel, of->distance, work->inner, to + row * to_row, to_row, \
                            count);                                                                                 \
    }
    ptrdiff_t row = 0;
    TILES(6)
    TILES(4)
    TILES(2)
    TILES(1)
#undef TILES
}

static void
NAMED(multiply_rows)(const ProductWork *work, const NAMED(Panel) *of, const REAL *numbers, ptrdiff_t rows, REAL *to,
                     ptrdiff_t to_row, ptrdiff_t count)
{
    if (of->vectors == 1) {
        NAMED(tiles)(1, work, of, numbers, rows, to, to_row, count);
    }
    else if (of->vectors == 2) {
        NAMED(tiles)(2, work, of, numbers, rows, to, to_row, count);
    }
#if VECTORS == 4
    else if (of->vectors == 3) {
        NAMED(tiles)(3, work, of, numbers, rows, to, to_row, count);
    }
    else {
        NAMED(tiles)(4, work, of, numbers, rows, to, to_row, count);
    }
#endif
}

/* ---- laying out ----------------------------------------------------------------------------------------------- */

#undef Q
#define Q NAMED(quad)
typedef REAL Q __attribute__((vector_size(4 * sizeof(REAL))));

/* to[column][row] = from[row][column] */
static void
NAMED(transpose)(REAL *restrict to, ptrdiff_t to_row, const REAL *restrict from, ptrdiff_t from_row, ptrdiff_t rows,
                 ptrdiff_t columns)
{
    ptrdiff_t row = 0;
#if defined(__clang__) || __GNUC__ >= 12
    for (; row + 4 <= rows; row += 4) {
        ptrdiff_t column = 0;
        for (; column + 4 <= columns; column += 4) {
            const REAL *source = from + row * from_row + column;
            REAL *target = to + column * to_row + row;
            Q a, b, c, d;
            memcpy(&a, source, sizeof a);
            memcpy(&b, source + from_row, sizeof b);
            memcpy(&c, source + 2 * from_row, sizeof c);
            memcpy(&d, source + 3 * from_row, sizeof d);
            const Q ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
            const Q low = __builtin_shufflevector(a, b, 2, 6, 3, 7), end = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
            b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
            c = __builtin_shufflevector(low, end, 0, 1, 4, 5);
            d = __builtin_shufflevector(low, end, 2, 3, 6, 7);
            memcpy(target, &a, sizeof a);
            memcpy(target + to_row, &b, sizeof b);
            memcpy(target + 2 * to_row, &c, sizeof c);
            memcpy(target + 3 * to_row, &d, sizeof d);
        }
        for (; column < columns; column++) {
            for (ptrdiff_t next = row; next < row + 4; next++) {
                to[column * to_row + next] = from[next * from_row + column];
            }
        }
    }
#endif
    for (; row < rows; row++) {
        for (ptrdiff_t column = 0; column < columns; column++) {
            to[column * to_row + row] = from[row * from_row + column];
        }
    }
}

/* The panel of the columns from `start` on, in place or in `memory`. Lanes beyond the last column are zeros. */
static NAMED(Panel)
NAMED(panel_of)(const ProductWork *work, const REAL *lanes, ptrdiff_t start, REAL *memory)
{
    const ptrdiff_t left = work->columns - start, count = left < WIDE ? left : WIDE, inner = work->inner;
    const ptrdiff_t of_inner = work->lanes.of_row, of_column = work->lanes.of_column;
    const int vectors = (int)((count + LANES - 1) / LANES);
    const ptrdiff_t full = vectors * LANES;
    const REAL *from = lanes + start * of_column;
    if (of_column == 1 && count == full && of_inner < FAR) {
        return (NAMED(Panel)){from, of_inner, count, vectors};
    }
    if (of_inner == 1) {
        NAMED(transpose)(memory, full, from, of_column, count, inner);
    }
    for (ptrdiff_t k = 0; k < inner; k++) {
        REAL *restrict row = memory + k * full;
        if (of_column == 1) {
            memcpy(row, from + k * of_inner, (size_t)count * sizeof(REAL));
        }
        else if (of_inner != 1) {
            for (ptrdiff_t lane = 0; lane < count; lane++) {
                row[lane] = from[k * of_inner + lane * of_column];
            }
        }
        for (ptrdiff_t lane = count; lane < full; lane++) {
            row[lane] = 0;
        }
    }
    return (NAMED(Panel)){memory, full, count, vectors};
}

enum { NAMED(panel_columns) = WIDE };

/* ---- all of it ------------------------------------------------------------------------------------------------ */

/* Where the matrix of an item begins. */
INLINE const REAL *
NAMED(matrix_of)(const ProductWork *work, const ProductFactor *factor, ptrdiff_t item)
{
    const REAL *found = factor->data;
    for (int axis = 2; axis >= 0; axis--) {
        found += item % work->batch[axis] * factor->of_batch[axis];
        item /= work->batch[axis];
    }
    return found;
}

/* Parts: chunks of rows of a panel, panels of a product, products. -1: no memory. */
static int
NAMED(product)(const ProductWork *work, ptrdiff_t start, ptrdiff_t stop)
{
    const ptrdiff_t chunks = (work->rows + ROWS_OF_PART - 1) / ROWS_OF_PART, panels = (work->columns + WIDE - 1) / WIDE;
    const ptrdiff_t block = work->turned ? ROWS_OF_PART * WIDE : 0;
    REAL *memory = malloc((size_t)(work->inner * WIDE + block) * sizeof(REAL) + 64);
    if (memory == NULL) {
        return -1;
    }
    REAL *turned = (REAL *)(((uintptr_t)memory + 63) / 64 * 64), *laid_out = turned + block;
    NAMED(Panel) panel = {0};
    for (ptrdiff_t part = start; part < stop; part++) {
        const ptrdiff_t first = part % chunks * ROWS_OF_PART, column = part / chunks % panels * WIDE;
        const ptrdiff_t item = part / chunks / panels, left = work->rows - first, rows = left < ROWS_OF_PART ? left : ROWS_OF_PART;
        if (part == start || first == 0) {
            panel = NAMED(panel_of)(work, NAMED(matrix_of)(work, &work->lanes, item), column, laid_out);
        }
        const REAL *numbers = NAMED(matrix_of)(work, &work->numbers, item) + first * work->numbers.of_row;
        REAL *result = (REAL *)work->result + item * work->rows * work->columns;
        if (work->turned) {
            NAMED(multiply_rows)(work, &panel, numbers, rows, turned, WIDE, WIDE);
            NAMED(transpose)(result + column * work->rows + first, work->rows, turned, WIDE, rows, panel.count);
        }
        else {
            NAMED(multiply_rows)(work, &panel, numbers, rows, result + first * work->columns + column, work->columns,
                                 panel.count);
        }
    }
    free(memory);
    return 0;
}

#undef VECTORS
#undef MOST_ROWS
#undef WIDE
#undef FAR
#undef UNROLLED
