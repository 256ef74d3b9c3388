/* A copy in rows of an array whose rows lie across the memory, as those of a transposed matrix do, or of one whose rows have
 * one element that repeats, as the gradients of sums do.
 *
 * NumPy copies them element by element, and with rows that are a power of two apart each of them costs a line of the cache.
 * Here squares are read, turned and written, whole lines at a time; and what repeats is written in the widest vectors.
 * Include it after NumPy's header and `threads.h`.
 */
#ifndef RETROGRAD_TURNING_H
#define RETROGRAD_TURNING_H

#include <stdint.h>
#include <string.h>

#define TURN_SIDE 16  /* of a square: the elements of a line of the cache, or of two */
#define TURN_LEAST 8  /* shorter rows or columns are left to NumPy */

/* The copy as rows of `across` elements; `along` of them for each of the `outer` matrices. */
typedef struct {
    const char *from;
    char *to;
    npy_intp along, across, from_row, to_row; /* elements that are neighbours in `from` and in `to`; bytes between rows */
    npy_intp strips;                          /* of TURN_SIDE rows of the copy, in a matrix */
    int size;                                 /* of an element */
    int outer;                                /* dimensions around the matrix */
    npy_intp dims[NPY_MAXDIMS], from_strides[NPY_MAXDIMS], to_strides[NPY_MAXDIMS];
} TurnWork;

#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
#define TURN_FOUR(type, held, from, from_row)                                                              \
    do {                                                                                                   \
        typedef type four __attribute__((vector_size(4 * sizeof(type))));                                  \
        for (int row = 0; row < TURN_SIDE; row += 4) {                                                     \
            for (int column = 0; column < TURN_SIDE; column += 4) {                                        \
                four a, b, c, d;                                                                           \
                const char *source = (from) + row * (from_row) + column * (npy_intp)sizeof(type);          \
                memcpy(&a, source, sizeof a);                                                              \
                memcpy(&b, source + (from_row), sizeof b);                                                 \
                memcpy(&c, source + 2 * (from_row), sizeof c);                                             \
                memcpy(&d, source + 3 * (from_row), sizeof d);                                             \
                const four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);                                 \
                const four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);                                 \
                const four low = __builtin_shufflevector(a, b, 2, 6, 3, 7);                                \
                const four end = __builtin_shufflevector(c, d, 2, 6, 3, 7);                                \
                a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);                                           \
                b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);                                           \
                c = __builtin_shufflevector(low, end, 0, 1, 4, 5);                                         \
                d = __builtin_shufflevector(low, end, 2, 3, 6, 7);                                         \
                memcpy(&(held)[column][row], &a, sizeof a);                                                \
                memcpy(&(held)[column + 1][row], &b, sizeof b);                                            \
                memcpy(&(held)[column + 2][row], &c, sizeof c);                                            \
                memcpy(&(held)[column + 3][row], &d, sizeof d);                                            \
            }                                                                                              \
        }                                                                                                  \
    } while (0)
#else
#define TURN_FOUR(type, held, from, from_row)                                                                            \
    do {                                                                                                                 \
        for (int row = 0; row < TURN_SIDE; row++) {                                                                      \
            for (int column = 0; column < TURN_SIDE; column++) {                                                         \
                memcpy(&(held)[column][row], (from) + row * (from_row) + column * (npy_intp)sizeof(type), sizeof(type)); \
            }                                                                                                            \
        }                                                                                                                \
    } while (0)
#endif

/* One strip of a matrix: up to TURN_SIDE rows of the copy, which are as many neighbours in the source. */
#define TURN_STRIP(type)                                                                                  \
    static void turn_strip_##type(const TurnWork *work, const char *from, char *to, npy_intp rows)        \
    {                                                                                                     \
        npy_intp done = 0;                                                                                \
        if (rows == TURN_SIDE) {                                                                          \
            type held[TURN_SIDE][TURN_SIDE];                                                              \
            for (; done + TURN_SIDE <= work->across; done += TURN_SIDE) {                                 \
                TURN_FOUR(type, held, from + done * work->from_row, work->from_row);                      \
                for (int row = 0; row < TURN_SIDE; row++) {                                               \
                    memcpy(to + row * work->to_row + done * (npy_intp)sizeof(type), held[row], sizeof held[row]); \
                }                                                                                         \
            }                                                                                             \
        }                                                                                                 \
        for (; done < work->across; done++) {                                                             \
            for (npy_intp row = 0; row < rows; row++) {                                                   \
                memcpy(to + row * work->to_row + done * (npy_intp)sizeof(type),                           \
                       from + done * work->from_row + row * (npy_intp)sizeof(type), sizeof(type));        \
            }                                                                                             \
        }                                                                                                 \
    }

TURN_STRIP(uint32_t)
TURN_STRIP(uint64_t)

static void
turn_strips(void *context, npy_intp start, npy_intp stop)
{
    const TurnWork *work = context;
    for (npy_intp strip = start; strip < stop; strip++) {
        const npy_intp first = strip % work->strips * TURN_SIDE, left = work->along - first;
        const char *from = work->from + first * work->size;
        char *to = work->to + first * work->to_row;
        npy_intp matrix = strip / work->strips;
        for (int axis = work->outer - 1; axis >= 0; axis--) {
            from += matrix % work->dims[axis] * work->from_strides[axis];
            to += matrix % work->dims[axis] * work->to_strides[axis];
            matrix /= work->dims[axis];
        }
        const npy_intp rows = left < TURN_SIDE ? left : TURN_SIDE;
        (work->size == 4 ? turn_strip_uint32_t : turn_strip_uint64_t)(work, from, to, rows);
    }
}

/* The dimension whose elements are neighbours in memory, if it is not the last and squares are worth it; else -1. */
static int
turned_dim(PyArrayObject *array)
{
    const int last = PyArray_NDIM(array) - 1;
    const npy_intp size = PyArray_ITEMSIZE(array);
    if (last < 1 || (size != 4 && size != 8) || PyDataType_REFCHK(PyArray_DESCR(array))
        || PyArray_STRIDE(array, last) == size || PyArray_STRIDE(array, last) == 0 /* few repeat: see above */
        || PyArray_DIM(array, last) < TURN_LEAST) {
        return -1;
    }
    for (int axis = 0; axis < last; axis++) {
        if (PyArray_STRIDE(array, axis) == size && PyArray_DIM(array, axis) >= TURN_LEAST) {
            return PyArray_SIZE(array) >= TURN_SIDE * TURN_SIDE ? axis : -1;
        }
    }
    return -1;
}

/* ---- elements that repeat ---------------------------------------------------------------------------------------- */

#define FILL_PIECE 8192 /* elements of a run that are written at once: other threads do other pieces */
#define FILL_LEAST 64   /* shorter runs are left to NumPy */

/* Runs of one element each; `outer` dimensions around them. */
typedef struct {
    const char *from;
    char *to;
    npy_intp run, pieces; /* elements of a run; so many pieces it has */
    int size;             /* of an element */
    int outer;
    npy_intp dims[NPY_MAXDIMS], from_strides[NPY_MAXDIMS];
} FillWork;

#define FILL(name, target, type)                                          \
    static target void name(char *to, uint64_t pair, npy_intp bytes)      \
    {                                                                     \
        const type items = pair - (type){0};                              \
        npy_intp done = 0;                                                \
        for (; done + (npy_intp)sizeof items <= bytes; done += (npy_intp)sizeof items) { \
            memcpy(to + done, &items, sizeof items);                      \
        }                                                                 \
        memcpy(to + done, &items, (size_t)(bytes - done));                \
    }

FILL(fill_narrow, , uint64_t) /* the compiler makes vectors of it */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define FILLS_WIDE 1
typedef uint64_t FillWide __attribute__((vector_size(64)));
FILL(fill_wide, __attribute__((target("avx512f"))), FillWide)
#endif

static void
fill_pieces(void *context, npy_intp start, npy_intp stop)
{
    const FillWork *work = context;
    for (npy_intp piece = start; piece < stop; piece++) {
        const npy_intp first = piece % work->pieces * FILL_PIECE, left = work->run - first;
        npy_intp run = piece / work->pieces;
        char *to = work->to + (run * work->run + first) * work->size;
        const char *from = work->from;
        for (int axis = work->outer - 1; axis >= 0; axis--) {
            from += run % work->dims[axis] * work->from_strides[axis];
            run /= work->dims[axis];
        }
        uint64_t pair;
        memcpy(&pair, from, (size_t)work->size);
        memcpy((char *)&pair + 8 - work->size, from, (size_t)work->size);
        const npy_intp bytes = (left < FILL_PIECE ? left : FILL_PIECE) * work->size;
#ifdef FILLS_WIDE
        if (__builtin_cpu_supports("avx512f")) {
            fill_wide(to, pair, bytes);
            continue;
        }
#endif
        fill_narrow(to, pair, bytes);
    }
}

/* How many elements are the same one from the last dimension on, as far as dimensions repeat; 0: none, or too few. */
static npy_intp
repeated_run(PyArrayObject *array, int *outer)
{
    const npy_intp size = PyArray_ITEMSIZE(array);
    npy_intp run = 1;
    *outer = PyArray_NDIM(array);
    while (*outer > 0 && PyArray_STRIDE(array, *outer - 1) == 0) {
        run *= PyArray_DIM(array, --*outer);
    }
    const int fits = (size == 4 || size == 8) && !PyDataType_REFCHK(PyArray_DESCR(array));
    return fits && run >= FILL_LEAST ? run : 0;
}

static void
fill_in_rows(PyArrayObject *array, PyArrayObject *result, npy_intp run, int outer, const ThreadPool *pool)
{
    FillWork work = {
        .from = PyArray_BYTES(array),
        .to = PyArray_BYTES(result),
        .run = run,
        .pieces = (run + FILL_PIECE - 1) / FILL_PIECE,
        .size = (int)PyArray_ITEMSIZE(array),
        .outer = outer,
    };
    npy_intp total = work.pieces;
    for (int axis = 0; axis < outer; axis++) {
        work.dims[axis] = PyArray_DIM(array, axis);
        work.from_strides[axis] = PyArray_STRIDE(array, axis);
        total *= work.dims[axis];
    }
    if (total == 0) {
        return;
    }
    PyThreadState *released = PyArray_SIZE(array) >= THREAD_GRAIN ? PyEval_SaveThread() : NULL;
    in_threads(pool, fill_pieces, &work, total, THREAD_GRAIN / (run < FILL_PIECE ? run : FILL_PIECE) + 1);
    if (released != NULL) {
        PyEval_RestoreThread(released);
    }
}

/* ---- the copy ---------------------------------------------------------------------------------------------------- */

/* A copy in rows of any exact array of NumPy. Large ones let other threads run. */
static PyObject *
copy_in_rows(PyArrayObject *array, const ThreadPool *pool)
{
    int outer;
    const npy_intp run = repeated_run(array, &outer);
    const int turned = run > 0 ? -1 : turned_dim(array), last = PyArray_NDIM(array) - 1;
    PyObject *copy = run == 0 && turned < 0 ? PyArray_NewCopy(array, NPY_CORDER)
                                            : PyArray_NewLikeArray(array, NPY_CORDER, NULL, 0);
    if (copy == NULL || (run == 0 && turned < 0)) {
        return copy;
    }
    PyArrayObject *result = (PyArrayObject *)copy;
    if (run > 0) {
        fill_in_rows(array, result, run, outer, pool);
        return copy;
    }
    TurnWork work = {
        .from = PyArray_BYTES(array),
        .to = PyArray_BYTES(result),
        .along = PyArray_DIM(array, turned),
        .across = PyArray_DIM(array, last),
        .from_row = PyArray_STRIDE(array, last),
        .to_row = PyArray_STRIDE(result, turned),
        .strips = (PyArray_DIM(array, turned) + TURN_SIDE - 1) / TURN_SIDE,
        .size = (int)PyArray_ITEMSIZE(array),
    };
    npy_intp total = work.strips;
    for (int axis = 0; axis < last; axis++) {
        if (axis != turned) {
            work.dims[work.outer] = PyArray_DIM(array, axis);
            work.from_strides[work.outer] = PyArray_STRIDE(array, axis);
            work.to_strides[work.outer++] = PyArray_STRIDE(result, axis);
            total *= PyArray_DIM(array, axis);
        }
    }
    const npy_intp grain = THREAD_GRAIN / (TURN_SIDE * work.across) + 1;
    PyThreadState *released = PyArray_SIZE(array) >= THREAD_GRAIN ? PyEval_SaveThread() : NULL;
    in_threads(pool, turn_strips, &work, total, grain);
    if (released != NULL) {
        PyEval_RestoreThread(released);
    }
    return copy;
}

#endif
