/* Products of matrices, single ones and batches: which way is taken for which shapes, and the way by own loops.
 *
 * The BLAS that NumPy brings is as fast as the processor for large matrices. Small ones it copies first, and factors that
 * lie by columns (`x @ w.T`, as in every linear layer) cost it a quarter more. The loops of rows_products.h copy one panel
 * at most, and run a batch of any layout without a call for each matrix. They have two forms: the result's columns are
 * lanes of vectors, or its rows are, and then it is written transposed. docs/design.md says what is promised of results.
 */
#include "arrays.h"

/* Multiplications: so much is worth another thread, some 20 microseconds. */
#define PRODUCT_GRAIN (1 << 20)

/* ---- what is multiplied --------------------------------------------------------------------------------------- */

/* Two matrices or batches, (..., rows, inner) and (..., inner, columns), with their distances in elements. */
typedef struct {
    ptrdiff_t rows, columns, inner, batch[3], items;
    ProductFactor a, b;
    int number;
} Factors;

static int
read_factor(PyArrayObject *array, ProductFactor *factor)
{
    const int last = PyArray_NDIM(array) - 1;
    const npy_intp size = PyArray_ITEMSIZE(array);
    for (int axis = 0; axis <= last; axis++) {
        if (PyArray_STRIDE(array, axis) % size != 0) {
            return 0;
        }
    }
    factor->data = PyArray_DATA(array);
    factor->of_row = PyArray_STRIDE(array, last - 1) / size;
    factor->of_column = PyArray_STRIDE(array, last) / size;
    for (int axis = 0; axis < 3; axis++) {
        const int own = axis - 3 + last - 1;
        factor->of_batch[axis] = own < 0 ? 0 : PyArray_STRIDE(array, own) / size;
    }
    return PyArray_ISALIGNED(array);
}

/* 0: not of a type or shape that is taken, or nothing to add up. */
static int
read_factors(PyObject *left, PyObject *right, Factors *found)
{
    found->number = type_number(left);
    if (found->number < 0 || type_number(right) != found->number) {
        return 0;
    }
    PyArrayObject *a = ARRAY(left), *b = ARRAY(right);
    const int last = PyArray_NDIM(a) - 1;
    if (last < 1 || last > 4 || PyArray_NDIM(b) - 1 != last || PyArray_DIM(a, last) != PyArray_DIM(b, last - 1)
        || !PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), last - 1) || PyArray_SIZE(a) == 0
        || PyArray_SIZE(b) == 0 || PyDataType_METADATA(PyArray_DESCR(a)) != NULL
        || PyDataType_METADATA(PyArray_DESCR(b)) != NULL || !read_factor(a, &found->a) || !read_factor(b, &found->b)) {
        return 0;
    }
    found->rows = PyArray_DIM(a, last - 1);
    found->inner = PyArray_DIM(a, last);
    found->columns = PyArray_DIM(b, last);
    found->items = 1;
    for (int axis = 0; axis < 3; axis++) {
        const int own = axis - 3 + last - 1;
        found->batch[axis] = own < 0 ? 1 : PyArray_DIM(a, own);
        found->items *= found->batch[axis];
    }
    return 1;
}

/* ---- the choice ----------------------------------------------------------------------------------------------- */

/* All in multiplications of a tile, as measured on sizes from 1 to 1024. */
#define LAYING_OUT 6       /* an element that is laid out or transposed */
#define BLAS_CALL 8000     /* what a call of the BLAS takes before it multiplies */
#define BLAS_EACH 1.2      /* a multiplication of the BLAS, */
#define BLAS_BY_COLUMNS 1.5 /* and where the second factor lies by columns */
/* Beside vectors of 32 bytes: a panel that is read in place is one line of the cache wide, and large ones are better
 * copied, as the BLAS does. */
#define NARROW_CALL 60000
#define NARROW_EACH 0.9
#define LONGEST 2048       /* terms: a longer panel leaves the second-level cache */
#define FAR_TERMS (1 << 19) /* from the first term to the last: numbers so far apart are on too many pages */

enum { ACROSS, TURNED, BLAS, WAYS };

/* What a form of the loops takes: a part of a vector costs a whole one. `terms` is the distance of a row's numbers. */
static double
cost_of(ptrdiff_t rows, ptrdiff_t lanes, ptrdiff_t inner, ptrdiff_t vector, ptrdiff_t terms, int dense)
{
    const ptrdiff_t whole = (lanes + vector - 1) / vector * vector;
    const double each = terms * inner > FAR_TERMS ? 2 : 1;
    return (double)inner * (each * (double)rows * (double)whole + (dense ? 0 : LAYING_OUT * (double)lanes));
}

static int
best_way(const Factors *of)
{
    if (row_loops->product[of->number] == NULL || of->inner > LONGEST) {
        return BLAS;
    }
    const ptrdiff_t vector = row_loops->vector_bytes / (of->number ? sizeof(double) : sizeof(float));
    const double across
        = cost_of(of->rows, of->columns, of->inner, vector, of->a.of_column, of->b.of_column == 1);
    const double written = (double)of->rows * (double)of->columns;
    const double turned = LAYING_OUT * written
                          + cost_of(of->columns, of->rows, of->inner, vector, of->b.of_row, of->a.of_row == 1);
    const int narrow = row_loops->vector_bytes < 64 && of->b.of_column == 1;
    const double each = narrow ? NARROW_EACH : of->b.of_column == 1 ? BLAS_EACH : BLAS_BY_COLUMNS;
    const double blas = (narrow ? NARROW_CALL : BLAS_CALL) + each * written * (double)of->inner;
    return blas < across && blas < turned ? BLAS : turned < across ? TURNED : ACROSS;
}

/* ---- BLAS ----------------------------------------------------------------------------------------------------- */

/* A matrix that np.dot gives to the BLAS as it is: for others np.matmul's last bits are its own. */
static int
is_blas_matrix(PyObject *array)
{
    return PyArray_NDIM(ARRAY(array)) == 2 && PyArray_ISBEHAVED_RO(ARRAY(array))
           && (PyArray_IS_C_CONTIGUOUS(ARRAY(array)) || PyArray_IS_F_CONTIGUOUS(ARRAY(array)));
}

/* Some rows times a large factor that lies by columns: the BLAS likes the large one first. */
#define FEW_ROWS 8
#define LARGE (1 << 16)

static PyObject *
turned_blas_product(PyObject *left, PyObject *right)
{
    PyObject *first = PyArray_Transpose(ARRAY(right), NULL), *second = PyArray_Transpose(ARRAY(left), NULL);
    PyObject *found = first == NULL || second == NULL ? NULL : PyArray_MatrixProduct2(first, second, NULL);
    Py_XDECREF(first);
    Py_XDECREF(second);
    if (found != NULL) {
        Py_SETREF(found, PyArray_Transpose(ARRAY(found), NULL));
    }
    if (found != NULL) {
        Py_SETREF(found, PyArray_NewCopy(ARRAY(found), NPY_CORDER));
    }
    return found;
}

/* None: np.matmul finds out. */
static PyObject *
blas_product(PyObject *left, PyObject *right, const Factors *of)
{
    if (!is_blas_matrix(left) || !is_blas_matrix(right) || of->inner == 1 /* the sign of a zero differs */) {
        Py_RETURN_NONE;
    }
    if (of->rows >= FEW_ROWS && 4 * of->rows <= of->columns && of->inner * of->columns >= LARGE
        && of->b.of_row < of->b.of_column) {
        return turned_blas_product(left, right);
    }
    return PyArray_MatrixProduct2(left, right, NULL);
}

/* ---- own loops ------------------------------------------------------------------------------------------------ */

typedef struct {
    const ProductWork *work;
    ProductLoop loop;
    int failed;
} Share;

static void
do_share(void *context, npy_intp start, npy_intp stop)
{
    Share *share = context;
    if (share->loop(share->work, start, stop) < 0) {
        share->failed = 1; /* whoever writes it writes the same */
    }
}

static ProductFactor
transposed(ProductFactor factor)
{
    const ptrdiff_t of_row = factor.of_row;
    factor.of_row = factor.of_column;
    factor.of_column = of_row;
    return factor;
}

/* Into an array that is there; 0 with an error set where memory was short. */
static int
multiply(const Factors *of, int turned, void *result)
{
    ProductWork work = {.inner = of->inner, .result = result, .turned = turned};
    memcpy(work.batch, of->batch, sizeof work.batch);
    work.rows = turned ? of->columns : of->rows;
    work.columns = turned ? of->rows : of->columns;
    work.numbers = turned ? transposed(of->b) : of->a;
    work.lanes = turned ? transposed(of->a) : of->b;
    Share share = {&work, row_loops->product[of->number], 0};
    const npy_intp panel = row_loops->panel_columns[of->number];
    const npy_intp parts = ((work.rows + ROWS_OF_PART - 1) / ROWS_OF_PART) * ((work.columns + panel - 1) / panel);
    const npy_intp all = of->rows * of->columns * of->inner;
    const npy_intp each = all / parts + 1, grain = 1 + PRODUCT_GRAIN / each;
    WITHOUT_LOCK(all * of->items, in_threads(row_pool, do_share, &share, parts * of->items, grain));
    if (share.failed) {
        PyErr_NoMemory();
    }
    return !share.failed;
}

static PyObject *
own_product(PyArrayObject *a, const Factors *of, int turned)
{
    npy_intp shape[5];
    const int ndim = PyArray_NDIM(a);
    memcpy(shape, PyArray_DIMS(a), (size_t)ndim * sizeof(npy_intp));
    shape[ndim - 1] = of->columns;
    PyObject *result = PyArray_SimpleNew(ndim, shape, PyArray_TYPE(a));
    if (result != NULL && !multiply(of, turned, PyArray_DATA(ARRAY(result)))) {
        Py_CLEAR(result);
    }
    return result;
}

/* product(a, b, way): None where the arrays are none that are taken. A test may say which way is taken. */
static PyObject *
rows_product(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Factors of;
    if (count != 3 && !has_count(count, 2, "product")) {
        return NULL;
    }
    if (!read_factors(arguments[0], arguments[1], &of)) {
        Py_RETURN_NONE;
    }
    const long asked = count == 3 ? PyLong_AsLong(arguments[2]) : WAYS;
    if (asked == -1 && PyErr_Occurred()) {
        return NULL;
    }
    const int way = asked >= 0 && asked < WAYS && row_loops->product[of.number] != NULL ? (int)asked : best_way(&of);
    return way == BLAS ? blas_product(arguments[0], arguments[1], &of) : own_product(ARRAY(arguments[0]), &of, way == TURNED);
}

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, text}

PyMethodDef product_methods[] = {
    METHOD(product, "product(a, b): of matrices or batches of them; a third number says which way it is taken"),
    {NULL, NULL, 0, NULL},
};
