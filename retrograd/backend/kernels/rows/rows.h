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
#include <stdint.h>

#include "rows_elementwise_names.h"

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

/* batch_norm of (samples, channels, places), and its gradients. */
typedef struct {
    ptrdiff_t samples, channels, places;
    int fixed; /* the statistics are given, and do not depend on the input */
    const void *input, *gradient, *weight, *bias;
    void *mean, *inverse, *variance;
    void *result;
    void *of_weight, *of_bias;
    double *sums;  /* two for each piece (see rows_channels.h) */
    double *taken; /* two for each channel */
    double epsilon;
} ChannelWork;

typedef void (*RowsLoop)(const void *input, void *result, ptrdiff_t rows, ptrdiff_t length);
typedef void (*LevelsLoop)(const void *gradient, const void *input, const void *output, void *result, ptrdiff_t rows,
                           ptrdiff_t length); /* `gradient` and `output` have one element for each row */
typedef void (*RowPairsLoop)(const void *gradient, const void *output, void *result, ptrdiff_t rows, ptrdiff_t length);
typedef void (*MapLoop)(const void *input, void *result, ptrdiff_t size);
typedef void (*PairLoop)(const void *gradient, const void *other, void *result, ptrdiff_t size);
typedef void (*NormLoop)(const NormWork *work);
typedef void (*ChannelLoop)(const ChannelWork *work, ptrdiff_t start, ptrdiff_t stop);
/* Slices added to those that `places` names, all with elements `step` apart. A slice that is the first to come to its place is
 * added to `base`, or to zeros where that is NULL; `first` NULL: all are added to what is there. */
typedef struct {
    ptrdiff_t rows, step;
    const int64_t *places;
    const unsigned char *first;
    const void *base, *values;
    void *result;
} SlicesWork;

typedef void (*SlicesLoop)(const SlicesWork *work, ptrdiff_t start, ptrdiff_t stop); /* columns */
typedef void (*ColumnsLoop)(const void *input, void *result, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t step);

/* The steps of an LSTM (four gates) or of a GRU (three), for a batch of sequences. What has steps is (steps, batch, ...).
 *
 * `panels` is the weight of the hidden state, laid out as the products read it, and after it the biases (see
 * rows_recurrent.h). A single step may have the product already: then it is `share`, and the biases are `added`. */
typedef struct {
    ptrdiff_t steps, batch, width;
    void *panels;
    const void *share;          /* the hidden state's share of the gates, (batch, gates * width) */
    const void *added;          /* for all rows */
    void *gates;                /* the input's share of the gates; they take its place */
    const void *hidden, *cell;  /* the states before each step */
    void *next_hidden, *next_cell; /* and after it */
    void *own;                  /* GRU: the hidden state's share of the candidate */
    const void *of_hidden;      /* and its distances of a step and of a row, in elements */
    ptrdiff_t of_step, of_row;
    void *of_gates, *of_own;    /* the gradients of the input's share; GRU: of the hidden state's too */
    void *of_first;             /* (batch, width): of the first hidden state */
    void *carried;              /* of the cell state, or, GRU, of the hidden state past the gates */
} RecurrentWork;

typedef size_t (*PackLoop)(const void *weight, const void *bias, const void *other, int gates, int turned,
                           ptrdiff_t width, void *panels);
typedef void (*BiasLoop)(const void *bias, const void *other, int gates, ptrdiff_t width, void *sums);
typedef void (*RecurrentLoop)(const RecurrentWork *work, ptrdiff_t start, ptrdiff_t stop);

/* A matrix for each head of each of a batch: distances, in elements, of the batch, heads, rows and columns. */
typedef struct {
    const void *data;
    ptrdiff_t of[4];
} Operand;

/* Attention, or its gradients where `gradient` has data. The results are the result, or the gradients of query, key and
 * value, each NULL where nobody wants it; dense. The mask may have no data. */
typedef struct {
    ptrdiff_t heads, rows, keys, width;
    Operand query, key, value, mask, gradient;
    void *results[3];
    double scale;
} AttentionWork;

typedef int (*AttentionLoop)(const AttentionWork *work, ptrdiff_t start, ptrdiff_t stop); /* -1: no memory */

/* A factor of products: where the first matrix lies, and distances, in elements, of rows, columns and in the batch. */
typedef struct {
    const void *data;
    ptrdiff_t of_row, of_column, of_batch[3];
} ProductFactor;

/* result[row, column] = sum over k of numbers[row, k] * lanes[k, column], for all matrices of a batch; the results are
 * dense, and written transposed where `turned` says so. */
typedef struct {
    ptrdiff_t rows, columns, inner, batch[3];
    ProductFactor numbers, lanes;
    void *result;
    int turned;
} ProductWork;

#define ROWS_OF_PART 96 /* whole tiles */

/* From part `start` to part `stop`; -1: no memory. A part is so many rows of one panel of columns of one product. */
typedef int (*ProductLoop)(const ProductWork *work, ptrdiff_t start, ptrdiff_t stop);
/* Elementwise loops: arrays that lie alike, and numbers. The list is written from the kernels of the ops. */
typedef struct {
    const void *inputs[3];
    void *result;
    double numbers[2];
} ElementWork;

typedef void (*ElementLoop)(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop);

#define ENUMERATED(name, kinds) ELEMENTS_##name,
enum { ELEMENTWISE_LOOPS(ENUMERATED) ELEMENTWISE_COUNT };
#undef ENUMERATED

/* How many columns are added up at a time: their totals stay in the nearest cache. */
#define COLUMNS_TOGETHER 512
#define COLUMNS_AT_ONCE 1024 /* where one thread does several pieces of columns: whole rows, as memory lies */

/* One build. The loops come in pairs: of float, of double; NULL: there is none for that type. */
typedef struct {
    const char *name;
    RowsLoop softmax[2], log_softmax[2];
    RowsLoop logsumexp[2]; /* one result for each row */
    LevelsLoop logsumexp_gradient[2];
    RowPairsLoop softmax_gradient[2], log_softmax_gradient[2];
    MapLoop sigmoid[2], silu[2], gelu[2], gelu_tanh[2];
    PairLoop gelu_gradient[2], gelu_tanh_gradient[2], silu_gradient[2], softplus_gradient[2];
    NormLoop layer_norm[2], layer_norm_gradients[2];
    ChannelLoop channel_statistics[2], channel_apply[2], channel_sums[2], channel_slopes[2];
    void (*channel_totals[2])(const ChannelWork *work);
    RowsLoop sum_rows[2], largest_rows[2], smallest_rows[2];
    ColumnsLoop sum_columns[2], largest_columns[2], smallest_columns[2];
    SlicesLoop add_slices[2];
    int (*are_within)(const int64_t *places, ptrdiff_t count, int64_t size); /* see indexing.h */
    ElementLoop elements[ELEMENTWISE_COUNT][2];
    AttentionLoop attention[2];
    ProductLoop product[2];
    ptrdiff_t panel_columns[2]; /* of `product` */
    ptrdiff_t vector_bytes;
    PackLoop pack[2];
    BiasLoop add_biases[2];
    RecurrentLoop lstm[2], lstm_gradients[2], gru[2], gru_gradients[2];
} RowLoops;

extern const RowLoops rows_portable;

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HAS_BUILDS_FOR_X86 1
extern const RowLoops rows_avx2, rows_avx512;
#endif

#endif
