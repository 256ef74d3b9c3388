/* The arithmetic of tiny.c: loops over plain memory that know nothing of Python. */
#ifndef RETROGRAD_TINY_LOOPS_H
#define RETROGRAD_TINY_LOOPS_H

#include <math.h>

#include <numpy/npy_common.h>

#include "kinds.h"
#include "pairwise.h"

#define LARGEST_DIVIDE 1024
#define LARGEST_SQRT 128 /* one element at a time: the compiler must keep errno */

/* Strides are 1, or 0 for an operand that is a single number. */
typedef void (*BinaryLoop)(const void *left, int left_stride, const void *right, int right_stride,
                           void *result, npy_intp count);
typedef void (*UnaryLoop)(const void *operand, void *result, npy_intp count);

typedef struct {
    BinaryLoop loops[2]; /* by Kind */
    npy_intp largest_size;
} BinaryOperation;

typedef struct {
    UnaryLoop loops[2]; /* by Kind */
    npy_intp largest_size;
} UnaryOperation;

/* A result may be one of the operands, element for element: then no iteration reads what another writes. */
#if defined(__clang__)
#define NO_ITERATION_WAITS _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define NO_ITERATION_WAITS _Pragma("GCC ivdep")
#else
#define NO_ITERATION_WAITS
#endif

#define BINARY_LOOP(name, type, expression)                                                              \
    static void name(const void *left, int left_stride, const void *right, int right_stride,            \
                     void *result, npy_intp count)                                                      \
    {                                                                                                   \
        const type *x = left, *y = right;                                                               \
        type *out = result;                                                                             \
        if (left_stride && right_stride) {                                                              \
            NO_ITERATION_WAITS                                                                          \
            for (npy_intp i = 0; i < count; i++) {                                                      \
                const type a = x[i], b = y[i];                                                          \
                out[i] = expression;                                                                    \
            }                                                                                           \
        }                                                                                               \
        else if (left_stride) {                                                                         \
            const type b = *y;                                                                          \
            NO_ITERATION_WAITS                                                                          \
            for (npy_intp i = 0; i < count; i++) {                                                      \
                const type a = x[i];                                                                    \
                out[i] = expression;                                                                    \
            }                                                                                           \
        }                                                                                               \
        else {                                                                                          \
            const type a = *x;                                                                          \
            NO_ITERATION_WAITS                                                                          \
            for (npy_intp i = 0; i < count; i++) {                                                      \
                const type b = y[i];                                                                    \
                out[i] = expression;                                                                    \
            }                                                                                           \
        }                                                                                               \
    }

#define UNARY_LOOP(name, type, expression)                                                               \
    static void name(const void *operand, void *result, npy_intp count)                                 \
    {                                                                                                   \
        const type *x = operand;                                                                        \
        type *__restrict out = result;                                                                  \
        for (npy_intp i = 0; i < count; i++) {                                                          \
            const type a = x[i];                                                                        \
            out[i] = expression;                                                                        \
        }                                                                                               \
    }

#define BINARY_OPERATION(name, largest_size, expression)   \
    BINARY_LOOP(name##_float32, npy_float32, expression)   \
    BINARY_LOOP(name##_float64, npy_float64, expression)   \
    static const BinaryOperation name##_operation = {{name##_float32, name##_float64}, largest_size};

#define UNARY_OPERATION(name, largest_size, float32_expression, float64_expression) \
    UNARY_LOOP(name##_float32, npy_float32, float32_expression)   \
    UNARY_LOOP(name##_float64, npy_float64, float64_expression)   \
    static const UnaryOperation name##_operation = {{name##_float32, name##_float64}, largest_size};

BINARY_OPERATION(add, LARGEST_SIZE, a + b)
BINARY_OPERATION(subtract, LARGEST_SIZE, a - b)
BINARY_OPERATION(multiply, LARGEST_SIZE, a * b)
BINARY_OPERATION(divide, LARGEST_DIVIDE, a / b)
UNARY_OPERATION(negative, LARGEST_SIZE, -a, -a)
UNARY_OPERATION(square, LARGEST_SIZE, a * a, a * a)
UNARY_OPERATION(sqrt, LARGEST_SQRT, sqrtf(a), sqrt(a))

/* A nan on either side wins. Of 0.0 and -0.0, NumPy takes what the processor's instruction takes: the second
 * operand on x86. Elsewhere the rule is another one, so there the ufunc does the work. */
#if defined(__x86_64__) || defined(_M_X64)
BINARY_OPERATION(maximum, LARGEST_SIZE, (a > b || a != a) ? a : b)
BINARY_OPERATION(minimum, LARGEST_SIZE, (a < b || a != a) ? a : b)
#else
static const BinaryOperation maximum_operation = {{NULL, NULL}, -1}, minimum_operation = {{NULL, NULL}, -1};
#endif

/* Sums over the first (`rows` of them) or the last dimensions of a C-contiguous array, in NumPy's order: rows
 * are added one after the other to zeros, the elements of one row pairwise. */
#define PARTIAL_SUMS(rows_name, columns_name, pairwise, type)                                             \
    static inline void rows_name(const type *x, npy_intp rows, npy_intp columns, type *total)                  \
    {                                                                                                   \
        for (npy_intp j = 0; j < columns; j++) {                                                        \
            total[j] = 0;                                                                               \
        }                                                                                               \
        for (npy_intp i = 0; i < rows; i++, x += columns) {                                             \
            for (npy_intp j = 0; j < columns; j++) {                                                    \
                total[j] += x[j];                                                                       \
            }                                                                                           \
        }                                                                                               \
    }                                                                                                   \
    static inline void columns_name(const type *x, npy_intp rows, npy_intp columns, type *total)               \
    {                                                                                                   \
        for (npy_intp i = 0; i < rows; i++, x += columns) {                                             \
            total[i] = 0 + pairwise(x, columns);                                                        \
        }                                                                                               \
    }

PARTIAL_SUMS(sum_rows_float32, sum_columns_float32, pairwise_sum_float32, npy_float32)
PARTIAL_SUMS(sum_rows_float64, sum_columns_float64, pairwise_sum_float64, npy_float64)

#endif
