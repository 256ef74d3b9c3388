/* Reductions of arrays along any dimensions; see sums.c. */
#ifndef RETROGRAD_ROWS_SUMS_H
#define RETROGRAD_ROWS_SUMS_H

#include "arrays.h"

/* The loops of a reduction, of float and of double: over rows, and over columns. */
typedef struct {
    const RowsLoop *rows;
    const ColumnsLoop *columns;
} Reduction;

/* The reduction along an axis, several (a tuple) or all (None), over how many there are for a mean; None for an array
 * that is not taken, NULL with an error set where memory is short. */
PyObject *reduced_over(const Reduction *how, PyObject *input, PyObject *axes, int keepdims, int mean);

int find_short_sum(void); /* 0 with an error set: it was not found */

#endif
