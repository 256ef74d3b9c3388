/* sum_over(input, axes, keepdims, mean): the sum along any dimensions of an array that lies row by row.
 *
 * Dimensions beside each other that are all summed, or all kept, are one. Then the innermost that is summed goes first:
 * it is that of rows, or of columns of several tables; what is left is smaller, and is summed in the same way.
 */
#include "arrays.h"

/* Up to this many elements the sums have NumPy's bits, as the core's have. */
#define SHORT_SUM 1024
#define MOST_RUNS 8

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
    row_loops->sum_rows[all->number](all->input + start * all->rows * item, all->result + start * item, stop - start,
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
        row_loops->sum_columns[all->number](all->input + (table * all->rows * columns + first) * item,
                                            all->result + (table * columns + first) * item, all->rows, few, columns);
    }
}

static void
sum_tables(Tables *all)
{
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
sum_once(int number, const char *input, char *result, Run *runs, int count)
{
    int place = count - 1;
    while (!runs[place].summed) {
        place--;
    }
    npy_intp before = 1, after = place + 1 < count ? runs[place + 1].size : 1;
    for (int index = 0; index < place; index++) {
        before *= runs[index].size;
    }
    sum_tables(&(Tables){number, input, result, before, runs[place].size, after});
    if (place > 0 && place + 1 < count) { /* two that are kept meet */
        runs[place - 1].size *= after;
        return count - 2;
    }
    memmove(runs + place, runs + place + 1, (size_t)(count - place - 1) * sizeof *runs);
    return count - 1;
}

/* All sums, one run after the other; what is between two of them lies in the spare places in turn. */
static void
sum_runs(int number, const char *input, char *result, char *const *spare, Run *runs, int count, int passes)
{
    for (; passes > 0; passes--) {
        char *target = passes == 1 ? result : spare[passes % 2];
        count = sum_once(number, input, target, runs, count);
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
run_sum(PyObject *input, const char *summed, Run *runs, int count, int keepdims)
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
        WITHOUT_LOCK(size, sum_runs(type_number(input), PyArray_DATA(ARRAY(input)), result, places, runs, count, passes));
    }
    PyMem_Free(spare);
    return total;
}

static PyObject *
rows_sum_over(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (!has_count(count, 4, "sum_over")) {
        return NULL;
    }
    PyObject *input = arguments[0];
    char summed[NPY_MAXDIMS];
    Run runs[MOST_RUNS];
    if (type_number(input) < 0 || PyArray_SIZE(ARRAY(input)) <= SHORT_SUM || !is_plain(input)
        || !read_axes(arguments[1], PyArray_NDIM(ARRAY(input)), summed)) {
        Py_RETURN_NONE;
    }
    const int found = read_runs(ARRAY(input), summed, runs);
    npy_intp each = 1;
    for (int index = 0; index < found; index++) {
        each *= runs[index].summed ? runs[index].size : 1;
    }
    if (found < 0 || each == 1) { /* nothing is summed: a copy */
        Py_RETURN_NONE;
    }
    PyObject *total = run_sum(input, summed, runs, found, PyObject_IsTrue(arguments[2]));
    if (total != NULL && PyObject_IsTrue(arguments[3])) {
        divide_all(total, each);
    }
    return total;
}

PyMethodDef sum_methods[] = {
    {"sum_over", (PyCFunction)(void (*)(void))rows_sum_over, METH_FASTCALL,
     "sum_over(input, axes, keepdims, mean): the sum along axes, or over the number of elements of each sum"},
    {NULL, NULL, 0, NULL},
};
