/* Loops over rows of plain float arrays, built for several processors; the fastest usable build is chosen at import.
 *
 * Each loop does a range of rows (or, elementwise, of elements) that lie one after the other, so that a caller may give
 * parts of an array to several threads. The pointers are aligned to one element and no output overlaps an input.
 *
 * The results are not NumPy's bits, and differ between builds in the last place or two: sums have another order, and a
 * product and a sum may be rounded at once. docs/design.md says what is promised, tests/kernels/test_rows.py holds it.
 */
#ifndef RETROGRAD_ROWS_H
#define RETROGRAD_ROWS_H

#include <stddef.h>

/* One row's numbers for layer_norm and its gradients. `weight` and `bias` have one element for each column or are
 * NULL; so are the outputs that nobody wants. `mean` and `inverse` have one element for each row. */
typedef struct {
    ptrdiff_t rows, columns;
    const void *input, *gradient, *weight, *bias;
    void *mean, *inverse;
    void *result;
    void *of_weight, *of_bias; /* sums over all rows */
    void *scratch;             /* two rows, for sums over a few rows */
    double epsilon;
} NormWork;

typedef void (*RowsLoop)(const void *input, void *result, ptrdiff_t rows, ptrdiff_t length);
typedef void (*RowPairsLoop)(const void *gradient, const void *output, void *result, ptrdiff_t rows, ptrdiff_t length);
typedef void (*MapLoop)(const void *input, void *result, ptrdiff_t size);
typedef void (*PairLoop)(const void *gradient, const void *other, void *result, ptrdiff_t size);
typedef void (*NormLoop)(const NormWork *work);
typedef void (*ColumnsLoop)(const void *input, void *result, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t step);

/* How many columns are added up at a time: their totals stay in the nearest cache. */
#define COLUMNS_TOGETHER 512

/* One build. The loops come in pairs: of float, of double; NULL: there is none for that type. */
typedef struct {
    const char *name;
    RowsLoop softmax[2], log_softmax[2];
    RowPairsLoop softmax_gradient[2], log_softmax_gradient[2];
    MapLoop sigmoid[2], silu[2], gelu[2], gelu_tanh[2];
    PairLoop gelu_gradient[2], gelu_tanh_gradient[2], silu_gradient[2];
    NormLoop layer_norm[2], layer_norm_gradients[2];
    RowsLoop sum_rows[2];
    ColumnsLoop sum_columns[2];
    MapLoop relu[2];
} RowLoops;

extern const RowLoops rows_portable;

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HAS_BUILDS_FOR_X86 1
extern const RowLoops rows_avx2, rows_avx512;
#endif

#endif
