/* Sums and extremes along any dimensions of an array that lies row by row; `sum` below stands for each of them.
 *
 * Dimensions beside each other that are all summed, or all kept, are one. Then the innermost that is summed goes first:
 * it is that of rows, or of columns of several tables; what is left is smaller, and is summed in the same way.
 */
#include "arrays.h"

#include "sums.h"

/* Up to this many elements the sums have NumPy's bits, as the core's have. */
#define SHORT_SUM 1024
#define MOST_RUNS 8
#define LONG_PIECE 65536 /* elements of a row that are one thread's: whatever the number of threads */

typedef struct {
    npy_intp size;
    int summed;
} Run;

/* Marks the axes of an int, a tuple of ints or None; 0 for anything else. */
static int
read_axes(PyObject *axes, int ndim, char *summed)
{
    memset(summed, axes == Py_None, (size_t)ndim);
    if (axes == Py_None) {
        return 1;
    }
    const int is_tuple = PyTuple_CheckExact(axes);
    for (Py_ssize_t index = 0; index < (is_tuple ? PyTuple_GET_SIZE(axes) : 1); index++) {
        PyObject *item = is_tuple ? PyTuple_GET_ITEM(axes, index) : axes;
        int overflow = 1;
        long axis = PyLong_CheckExact(item) ? PyLong_AsLongAndOverflow(item, &overflow) : 0;
        axis += axis < 0 ? ndim : 0;
        if (overflow || axis < 0 || axis >= ndim || summed[axis]) {
            return 0;
        }
        summed[axis] = 1;
    }
    return 1;
}

/* The dimensions as runs that alternate; how many, -1 where there are too many. */
static int
read_runs(PyArrayObject *array, const char *summed, Run *runs)
{
    int count = 0;
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        const npy_intp size = PyArray_DIM(array, axis);
        if (size == 1) {
            continue;
        }
        if (count > 0 && runs[count - 1].summed == summed[axis]) {
            runs[count - 1].size *= size;
            continue;
        }
        if (count == MOST_RUNS) {
            return -1;
        }
        runs[count++] = (Run){size, summed[axis]};
    }
    return count;
}

/* Tables of rows times columns, to be summed over the rows. */
typedef struct {
    const Reduction *how;
    int number;
    const char *input;
    char *result;
    npy_intp tables, rows, columns;
} Tables;

static void
sum_some_rows(void *context, npy_intp start, npy_intp stop)
{
    const Tables *all = context;
    const npy_intp item = all->number == 0 ? 4 : 8;
    all->how->rows[all->number](all->input + start * all->rows * item, all->result + start * item, stop - start,
                                all->rows);
}

/* COLUMNS_TOGETHER columns of a table are one piece. */
static void
sum_some_columns(void *context, npy_intp start, npy_intp stop)
{
    const Tables *all = context;
    const npy_intp item = all->number == 0 ? 4 : 8, columns = all->columns;
    const npy_intp pieces = (columns + COLUMNS_TOGETHER - 1) / COLUMNS_TOGETHER;
    for (npy_intp piece = start; piece < stop; piece++) {
        const npy_intp table = piece / pieces, first = piece % pieces * COLUMNS_TOGETHER;
        const npy_intp few = columns - first < COLUMNS_TOGETHER ? columns - first : COLUMNS_TOGETHER;
        all->how->columns[all->number](all->input + (table * all->rows * columns + first) * item,
                                       all->result + (table * columns + first) * item, all->rows, few, columns);
    }
}

/* One row that is long: its pieces, and then what they gave. Whether there was memory for that. */
static int
sum_pieces(const Tables *all)
{
    const npy_intp item = all->number == 0 ? 4 : 8, pieces = all->rows / LONG_PIECE, rest = all->rows % LONG_PIECE;
    char *parts = PyMem_RawMalloc((size_t)((pieces + 1) * item));
    if (parts == NULL) {
        return 0;
    }
    Tables some = {all->how, all->number, all->input, parts, pieces, LONG_PIECE, 1};
    in_threads(row_pool, sum_some_rows, &some, pieces, 1);
    if (rest > 0) {
        all->how->rows[all->number](all->input + pieces * LONG_PIECE * item, parts + pieces * item, 1, rest);
    }
    all->how->rows[all->number](parts, all->result, 1, pieces + (rest > 0));
    PyMem_RawFree(parts);
    return 1;
}

static void
sum_tables(Tables *all)
{
    if (all->columns == 1 && all->tables == 1 && all->rows >= 2 * LONG_PIECE && sum_pieces(all)) {
        return;
    }
    if (all->columns == 1) {
        in_threads(row_pool, sum_some_rows, all, all->tables, THREAD_GRAIN / all->rows + 1);
        return;
    }
    const npy_intp pieces = (all->columns + COLUMNS_TOGETHER - 1) / COLUMNS_TOGETHER;
    const npy_intp each = all->rows * (all->columns / pieces);
    in_threads(row_pool, sum_some_columns, all, all->tables * pieces, THREAD_GRAIN / each + 1);
}

/* The innermost run that is summed is summed into `result`, and is gone from the runs. */
static int
sum_once(const Reduction *how, int number, const char *input, char *result, Run *runs, int count)
{
    int place = count - 1;
    while (!runs[place].summed) {
        place--;
    }
    npy_intp before = 1, after = place + 1 < count ? runs[place + 1].size : 1;
    for (int index = 0; index < place; index++) {
        before *= runs[index].size;
    }
    sum_tables(&(Tables){how, number, input, result, before, runs[place].size, after});
    if (place > 0 && place + 1 < count) { /* two that are kept meet */
        runs[place - 1].size *= after;
        return count - 2;
    }
    memmove(runs + place, runs + place + 1, (size_t)(count - place - 1) * sizeof *runs);
    return count - 1;
}

/* All sums, one run after the other; what is between two of them lies in the spare places in turn. */
static void
sum_runs(const Reduction *how, int number, const char *input, char *result, char *const *spare, Run *runs, int count,
         int passes)
{
    for (; passes > 0; passes--) {
        char *target = passes == 1 ? result : spare[passes % 2];
        count = sum_once(how, number, input, target, runs, count);
        input = target;
    }
}

/* An array of the dimensions that are left. */
static PyObject *
new_total(PyArrayObject *array, const char *summed, int keepdims)
{
    npy_intp dims[NPY_MAXDIMS];
    int count = 0;
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        if (keepdims || !summed[axis]) {
            dims[count++] = summed[axis] ? 1 : PyArray_DIM(array, axis);
        }
    }
    return PyArray_SimpleNew(count, dims, PyArray_TYPE(array));
}

static void
divide_all(PyObject *total, npy_intp count)
{
    const npy_intp size = PyArray_SIZE(ARRAY(total));
    float *floats = PyArray_DATA(ARRAY(total));
    double *doubles = PyArray_DATA(ARRAY(total));
    for (npy_intp at = 0; at < size; at++) {
        if (PyArray_TYPE(ARRAY(total)) == NPY_FLOAT32) {
            floats[at] /= (float)count;
        }
        else {
            doubles[at] /= (double)count;
        }
    }
}

/* The total, given the runs of a checked array; NULL with an error set where memory is short. */
static PyObject *
run_sum(const Reduction *how, PyObject *input, const char *summed, Run *runs, int count, int keepdims)
{
    const npy_intp size = PyArray_SIZE(ARRAY(input)), item = PyArray_ITEMSIZE(ARRAY(input));
    npy_intp first = 1; /* the size of the innermost run that is summed */
    int passes = 0;
    for (int index = 0; index < count; index++) {
        passes += runs[index].summed;
        first = runs[index].summed ? runs[index].size : first;
    }
    const npy_intp between = passes > 1 ? size / first * item : 0;
    char *spare = passes > 1 ? PyMem_Malloc((size_t)(2 * between)) : NULL;
    if (passes > 1 && spare == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *total = new_total(ARRAY(input), summed, keepdims);
    if (total != NULL) {
        char *const places[2] = {spare, spare + between};
        char *result = PyArray_DATA(ARRAY(total));
        WITHOUT_LOCK(size, sum_runs(how, type_number(input), PyArray_DATA(ARRAY(input)), result, places, runs, count, passes));
    }
    PyMem_Free(spare);
    return total;
}

/* Whether an array is one that is summed here along axes; `each` gets how many elements make one sum. */
static int
read_sum(PyObject *input, PyObject *axes, char *summed, Run *runs, int *found, npy_intp *each)
{
    if (type_number(input) < 0 || PyArray_SIZE(ARRAY(input)) <= SHORT_SUM || !is_plain(input)
        || !read_axes(axes, PyArray_NDIM(ARRAY(input)), summed)) {
        return 0;
    }
    *found = read_runs(ARRAY(input), summed, runs);
    *each = 1;
    for (int index = 0; index < *found; index++) {
        *each *= runs[index].summed ? runs[index].size : 1;
    }
    return *found >= 0 && *each > 1; /* of one each: nothing is summed, a copy */
}

PyObject *
reduced_over(const Reduction *how, PyObject *input, PyObject *axes, int keepdims, int mean)
{
    char summed[NPY_MAXDIMS];
    Run runs[MOST_RUNS];
    int found;
    npy_intp each;
    if (!read_sum(input, axes, summed, runs, &found, &each)) {
        Py_RETURN_NONE;
    }
    PyObject *total = run_sum(how, input, summed, runs, found, keepdims);
    if (total != NULL && mean) {
        divide_all(total, each);
    }
    return total;
}

static PyObject *
rows_sum_over(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 4, "sum_over")) {
        return NULL;
    }
    return reduced_over(&(Reduction){row_loops->sum_rows, row_loops->sum_columns}, arguments[0], arguments[1],
                        PyObject_IsTrue(arguments[2]), PyObject_IsTrue(arguments[3]));
}

static PyObject *
rows_largest_over(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 3, "largest_over")) {
        return NULL;
    }
    return reduced_over(&(Reduction){row_loops->largest_rows, row_loops->largest_columns}, arguments[0], arguments[1],
                        PyObject_IsTrue(arguments[2]), 0);
}

static PyObject *
rows_smallest_over(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 3, "smallest_over")) {
        return NULL;
    }
    return reduced_over(&(Reduction){row_loops->smallest_rows, row_loops->smallest_columns}, arguments[0], arguments[1],
                        PyObject_IsTrue(arguments[2]), 0);
}

/* Short arrays and those that do not lie row by row are summed by `retrograd.backend.kernels.sum_all`. */
static PyObject *short_sum;

static PyObject *
rows_sum_all(PyObject *Py_UNUSED(module), PyObject *input)
{
    PyObject *total = reduced_over(&(Reduction){row_loops->sum_rows, row_loops->sum_columns}, input, Py_None, 0, 0);
    if (total != Py_None) {
        return total;
    }
    Py_DECREF(total);
    return PyObject_CallOneArg(short_sum, input);
}

int
find_short_sum(void)
{
    PyObject *kernels = PyImport_ImportModule("retrograd.backend.kernels");
    short_sum = kernels == NULL ? NULL : PyObject_GetAttrString(kernels, "sum_all");
    Py_XDECREF(kernels);
    return short_sum != NULL;
}

PyMethodDef sum_methods[] = {
    {"sum_over", (PyCFunction)(void (*)(void))rows_sum_over, METH_FASTCALL,
     "sum_over(input, axes, keepdims, mean): the sum along axes, or over the number of elements of each sum"},
    {"largest_over", (PyCFunction)(void (*)(void))rows_largest_over, METH_FASTCALL,
     "largest_over(input, axes, keepdims): the largest along axes, nan where there is one"},
    {"smallest_over", (PyCFunction)(void (*)(void))rows_smallest_over, METH_FASTCALL,
     "smallest_over(input, axes, keepdims): the smallest along axes, nan where there is one"},
    {"sum_all", rows_sum_all, METH_O, "sum_all(input): of any array, short ones with NumPy's bits"},
    {NULL, NULL, 0, NULL},
};
