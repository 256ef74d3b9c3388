/* The order in which NumPy adds up the elements of a row. */
#ifndef RETROGRAD_PAIRWISE_H
#define RETROGRAD_PAIRWISE_H

#include <numpy/npy_common.h>

/* NumPy's pairwise sum: eight running sums in blocks of up to 128, halves above that. The order of additions
 * is the result's last bits, so it is followed step by step. */
#define PAIRWISE_SUM(name, type)                                                                         \
    static type name(const type *x, npy_intp count)                                                     \
    {                                                                                                   \
        if (count < 8) {                                                                                \
            type total = (type)-0.0;                                                                    \
            for (npy_intp i = 0; i < count; i++) {                                                      \
                total += x[i];                                                                          \
            }                                                                                           \
            return total;                                                                               \
        }                                                                                               \
        if (count <= 128) {                                                                             \
            type r[8];                                                                                  \
            npy_intp i;                                                                                 \
            for (int lane = 0; lane < 8; lane++) {                                                      \
                r[lane] = x[lane];                                                                      \
            }                                                                                           \
            for (i = 8; i < count - count % 8; i += 8) {                                                \
                for (int lane = 0; lane < 8; lane++) {                                                  \
                    r[lane] += x[i + lane];                                                             \
                }                                                                                       \
            }                                                                                           \
            type total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));             \
            for (; i < count; i++) {                                                                    \
                total += x[i];                                                                          \
            }                                                                                           \
            return total;                                                                               \
        }                                                                                               \
        npy_intp half = count / 2;                                                                      \
        half -= half % 8;                                                                               \
        return name(x, half) + name(x + half, count - half);                                            \
    }

PAIRWISE_SUM(pairwise_sum_float32, npy_float32)
PAIRWISE_SUM(pairwise_sum_float64, npy_float64)

#endif
