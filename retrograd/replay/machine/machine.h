/* The instructions of a replayed step, and the loops that do them, built for several processors as in
 * backend/kernels/rows. Everything that an instruction names was checked when the machine was made: places lie inside
 * of their buffers, registers exist. So running looks at nothing again. */
#ifndef RETROGRAD_MACHINE_H
#define RETROGRAD_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#define MOST_DIMS 8
#define MOST_REGISTERS 1024
#define MOST_LANES 16 /* of a vector */

/* What an element in memory is; REAL is the type that a chain computes in. */
enum { AS_REAL, AS_BOOL, AS_INT64, AS_INT32, AS_OTHER_REAL };

/* How a chain walks over an array: as it lies, as one element, or by strides. */
enum { IN_LINE, UNIFORM, BY_STRIDES };

/* An array in a buffer, seen from the iteration of a chain. */
typedef struct {
    int buffer, kind, walk;
    ptrdiff_t offset;             /* bytes */
    ptrdiff_t strides[MOST_DIMS]; /* bytes; 0 where it is broadcast */
} Place;

/* What a chain makes of many elements. */
enum { AS_SUM, AS_MAXIMUM, AS_MINIMUM, REDUCTIONS };

/* A sum at the end of a chain, or an extreme: `strides` of the totals, in elements, 0 along what is summed. */
typedef struct {
    int buffer, all, kind;
    ptrdiff_t offset, first, count; /* of the result in bytes; of the totals in elements */
    ptrdiff_t strides[MOST_DIMS];
    double scale;
} Sum;

#define UNARY_PRIMITIVES(X)                                                                                          \
    X(negative) X(absolute) X(sqrt) X(square) X(reciprocal) X(exp) X(tanh) X(expit) X(isnan) X(isinf) X(isfinite)    \
    X(logical_not) X(number_of) X(truth_of) X(floor) X(ceil) X(trunc) X(rint) X(log) X(log1p) X(log2) X(log10)       \
    X(expm1) X(exp2) X(sin) X(cos) X(tan) X(arctan) X(arcsin) X(arccos) X(sinh) X(cosh) X(arcsinh) X(arccosh)        \
    X(arctanh) X(erf)
#define BINARY_PRIMITIVES(X)                                                                                         \
    X(add) X(subtract) X(multiply) X(divide) X(maximum) X(minimum) X(fmax) X(fmin) X(less) X(less_equal) X(greater)  \
    X(greater_equal) X(equal) X(not_equal) X(logical_and) X(logical_or) X(logical_xor) X(copysign) X(power)          \
    X(arctan2) X(hypot) X(fmod)
/* Two at once: x o y, and that o z (z - that, where it says "from"). */
#define PAIRS_OF(X, first) X(first##_add) X(first##_subtract) X(first##_multiply) X(first##_from)
#define TERNARY_PRIMITIVES(X) X(where) PAIRS_OF(X, add) PAIRS_OF(X, subtract) PAIRS_OF(X, multiply)

#define ENUMERATED(name) PRIMITIVE_##name,
enum {
    UNARY_PRIMITIVES(ENUMERATED) BINARY_PRIMITIVES(ENUMERATED) TERNARY_PRIMITIVES(ENUMERATED) PRIMITIVES,
    LOAD = PRIMITIVES, /* a place into a register */
    STORE,             /* a register into a place */
    CONSTANT,          /* a number into a register */
    SUM,               /* a register to a sum */
    OPERATIONS
};
#undef ENUMERATED

/* One operation on registers; `a` of LOAD and `b` of STORE are places, `a` of CONSTANT and `b` of SUM of their lists. */
typedef struct {
    uint16_t operation, to, a, b, c;
    uint8_t step_a, step_b, step_c; /* 0: the register has the same value in all lanes */
    uint8_t direct; /* the register may be the memory itself: of a place in line that the chain does not write, or of the
                       place in line that the next operation stores to; 2: behind its elements is room for a vector */
} Step;

typedef struct {
    int dims, registers, places, uniform_steps, steps, sums, constants; /* the first steps are uniform, and their registers */
    ptrdiff_t shape[MOST_DIMS], size;
    ptrdiff_t block;  /* elements of a register */
    ptrdiff_t totals; /* how many numbers the sums of one part need */
    ptrdiff_t parts;  /* the same for any number of threads, so that sums have the same bits */
    int streams;      /* what it stores is too large for the caches */
    Place *place;
    Step *step;
    Sum *sum;
    double *constant;
} Chain;

/* A matrix in a buffer, strides in elements. */
typedef struct {
    int buffer;
    ptrdiff_t offset; /* bytes */
    ptrdiff_t of_batch, of_row, of_column;
} Matrix;

/* result = a @ b (+ bias), for each of a batch; only small ones have a bias. */
typedef struct {
    ptrdiff_t batch, rows, columns, inner;
    Matrix a, b, result, bias;
    int biased;
} Product;

/* Functions of rows that lie one behind the other, of a gradient and a result where they are gradients. */
enum { SOFTMAX, LOG_SOFTMAX, SOFTMAX_GRADIENT, LOG_SOFTMAX_GRADIENT, ROW_FUNCTIONS };

typedef struct {
    int function, buffer[3]; /* one operand or two, then the result */
    ptrdiff_t offset[3], rows, columns;
} Rows;

typedef void (*RunPart)(const Chain *chain, char *const *bases, void *registers, double *totals, ptrdiff_t start,
                        ptrdiff_t stop);
typedef void (*EndSums)(const Chain *chain, char *const *bases, const double *totals, ptrdiff_t parts);
typedef void (*RunProduct)(const Product *product, char *const *bases);
typedef void (*RunRows)(const Rows *rows, char *const *bases);

/* One build; the loops come in pairs, of float and of double. */
typedef struct {
    const char *name;
    RunPart part[2];
    EndSums end_sums[2];
    RunProduct small_product[2];
    RunRows rows[2];
} MachineLoops;

extern const MachineLoops machine_portable;

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HAS_BUILDS_FOR_X86 1
extern const MachineLoops machine_avx2, machine_avx512;
#endif

/* products.c: the BLAS that NumPy has loaded. */
int find_blas(const char *library);
int has_blas(void);
void blas_product(const Product *product, int number, char *const *bases);

#endif
