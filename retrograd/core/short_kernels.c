/* The kernels of a few ops for small work: what the Python kernel of the same name does, without its frame.
 *
 * Each gives the bits of the Python kernel, since it calls the same functions in the end, or makes the same view.
 * NULL without an error set: not a case for it, the Python kernel runs. It is used only where that kernel is the
 * one that the op declares.
 */
#include "caller.h"
#include "engine.h"

#include <float.h>
#include <math.h>

/* compiled kernels, None where there are none */
static PyObject *sum_all, *divide, *maximum, *addition, *add_in_place, *multiply_matrices;

/* ---- numbers ------------------------------------------------------------------------------------------------ */

/* A Python int that fits; 0 if it is none. */
static int
as_index(PyObject *object, npy_intp *index)
{
    int overflow;
    if (!PyLong_CheckExact(object)) {
        return 0;
    }
    *index = (npy_intp)PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

/* A dimension counted from either end; 0 if there is none such. */
static int
as_dimension(PyObject *object, PyArrayObject *array, int *place)
{
    npy_intp index;
    const int ndim = PyArray_NDIM(array);
    if (!as_index(object, &index) || index < -ndim || index >= ndim) {
        return 0;
    }
    *place = (int)(index < 0 ? index + ndim : index);
    return 1;
}

static PyObject *
call_pair(PyObject *function, PyObject *first, PyObject *second)
{
    PyObject *const arguments[2] = {first, second};
    return PyObject_Vectorcall(function, arguments, 2, NULL);
}

/* ---- views -------------------------------------------------------------------------------------------------- */

static PyObject *
short_t(const Call *call)
{
    PyArrayObject *array = ARRAY(call->arrays[0]);
    return PyArray_NDIM(array) > 2 ? NULL : PyArray_Transpose(array, NULL);
}

/* A view of an array from `start` on, as its indexing makes it. */
PyObject *
view_from(PyArrayObject *array, char *start, int ndim, const npy_intp *shape, const npy_intp *strides)
{
    PyArray_Descr *dtype = PyArray_DESCR(array);
    Py_INCREF(dtype); /* the call below takes this reference */
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, strides, start,
                                          PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
    if (view == NULL) {
        return NULL;
    }
    Py_INCREF(array); /* and so does this one */
    if (PyArray_SetBaseObject(ARRAY(view), (PyObject *)array) < 0) {
        Py_DECREF(view);
        return NULL;
    }
    return view;
}

/* The part of an array at an index, which is in range, of a dimension. */
static PyObject *
part_at(PyArrayObject *array, int place, npy_intp index)
{
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int ndim = 0;
    for (int dim = 0; dim < PyArray_NDIM(array); dim++) {
        if (dim != place) {
            shape[ndim] = PyArray_DIM(array, dim);
            strides[ndim++] = PyArray_STRIDE(array, dim);
        }
    }
    return view_from(array, PyArray_BYTES(array) + index * PyArray_STRIDE(array, place), ndim, shape, strides);
}

/* select(input, dim, index) */
static PyObject *
short_select(const Call *call)
{
    PyArrayObject *array = ARRAY(call->arrays[0]);
    int place;
    npy_intp index;
    if (!as_dimension(call->values[1], array, &place) || !as_index(call->values[2], &index)
        || index < -PyArray_DIM(array, place) || index >= PyArray_DIM(array, place)) {
        return NULL;
    }
    return part_at(array, place, index < 0 ? index + PyArray_DIM(array, place) : index);
}

/* _squeeze_dim(input, dim) */
static PyObject *
short_squeeze_dim(const Call *call)
{
    PyArrayObject *array = ARRAY(call->arrays[0]);
    int place;
    if (!as_dimension(call->values[1], array, &place) || PyArray_DIM(array, place) != 1) {
        return NULL;
    }
    return part_at(array, place, 0);
}

/* An array in C order as it lies in memory, in another shape of the same size. */
static PyObject *
reshaped(PyArrayObject *array, int ndim, const npy_intp *shape)
{
    const int same = ndim == PyArray_NDIM(array) && PyArray_CompareLists(shape, PyArray_DIMS(array), ndim);
    return view_from(array, PyArray_BYTES(array), ndim, shape, same ? PyArray_STRIDES(array) : NULL);
}

/* view(input, size) */
static PyObject *
short_view(const Call *call)
{
    PyArrayObject *array = ARRAY(call->arrays[0]);
    PyObject *size = call->values[1];
    npy_intp shape[NPY_MAXDIMS], count = 1;
    if (!PyTuple_Check(size) || PyTuple_GET_SIZE(size) > NPY_MAXDIMS || !PyArray_IS_C_CONTIGUOUS(array)) {
        return NULL;
    }
    for (Py_ssize_t dim = 0; dim < PyTuple_GET_SIZE(size); dim++) {
        if (!as_index(PyTuple_GET_ITEM(size, dim), &shape[dim]) || shape[dim] < 1
            || shape[dim] > NPY_MAX_INTP / count) {
            return NULL;
        }
        count *= shape[dim];
    }
    return count == PyArray_SIZE(array) ? reshaped(array, (int)PyTuple_GET_SIZE(size), shape) : NULL;
}

/* unsqueeze(input, dim) */
static PyObject *
short_unsqueeze(const Call *call)
{
    PyArrayObject *array = ARRAY(call->arrays[0]);
    const int ndim = PyArray_NDIM(array);
    npy_intp place, shape[NPY_MAXDIMS];
    if (!as_index(call->values[1], &place) || place < -ndim - 1 || place > ndim || ndim == NPY_MAXDIMS
        || !PyArray_IS_C_CONTIGUOUS(array)) {
        return NULL;
    }
    place += place < 0 ? ndim + 1 : 0;
    copy_numbers(shape, PyArray_DIMS(array), (size_t)place);
    shape[place] = 1;
    copy_numbers(shape + place + 1, PyArray_DIMS(array) + place, (size_t)(ndim - place));
    return reshaped(array, ndim + 1, shape);
}

/* slice(input, dim, start, stop, step) */
static PyObject *
short_slice(const Call *call)
{
    PyArrayObject *array = ARRAY(call->arrays[0]);
    int place;
    npy_intp start = 0, stop = NPY_MAX_INTP, step, shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    PyObject *first = call->values[2], *last = call->values[3];
    if (!as_dimension(call->values[1], array, &place) || (first != Py_None && !as_index(first, &start))
        || (last != Py_None && !as_index(last, &stop)) || !as_index(call->values[4], &step) || step <= 0) {
        return NULL;
    }
    const int ndim = PyArray_NDIM(array);
    const npy_intp length = PySlice_AdjustIndices(PyArray_DIM(array, place), &start, &stop, step);
    copy_numbers(shape, PyArray_DIMS(array), (size_t)ndim);
    copy_numbers(strides, PyArray_STRIDES(array), (size_t)ndim);
    shape[place] = length;
    if (length == 0) {
        start = 0; /* as NumPy has it */
        step = 1;
    }
    strides[place] *= step;
    return view_from(array, PyArray_BYTES(array) + start * PyArray_STRIDE(array, place), ndim, shape, strides);
}

/* ---- sums --------------------------------------------------------------------------------------------------- */

/* _sum_all(input, dtype) */
static PyObject *
short_sum_all(const Call *call)
{
    return sum_all == Py_None || call->values[1] != Py_None ? NULL : PyObject_CallOneArg(sum_all, call->arrays[0]);
}

/* _mean_all(input, dtype) */
static PyObject *
short_mean_all(const Call *call)
{
    PyObject *total = short_sum_all(call);
    if (total == NULL) {
        return NULL;
    }
    PyObject *count = PyLong_FromSsize_t(PyArray_SIZE(ARRAY(call->arrays[0])));
    PyObject *mean = count == NULL ? NULL : call_pair(divide, total, count);
    Py_XDECREF(count);
    Py_DECREF(total);
    return mean;
}

/* ---- products ----------------------------------------------------------------------------------------------- */

/* What `xp.matmul2d` does with matrices: one function, so that the bits are the same. */
static PyObject *
product(PyObject *left, PyObject *right)
{
    if (multiply_matrices == Py_None || PyArray_NDIM(ARRAY(left)) != 2 || PyArray_NDIM(ARRAY(right)) != 2) {
        return NULL;
    }
    PyObject *found = call_pair(multiply_matrices, left, right);
    if (found == Py_None) {
        Py_CLEAR(found);
    }
    return found;
}

/* mm(input, mat2) */
static PyObject *
short_mm(const Call *call)
{
    return product(call->arrays[0], call->arrays[1]);
}

/* Up to here a call of NumPy's takes longer than the additions. */
#define SMALL_PRODUCT 2048

#define ADD_ROW(type)                                                         \
    do {                                                                      \
        type *to = PyArray_DATA(ARRAY(matrix));                               \
        const type *from = PyArray_DATA(ARRAY(row));                          \
        for (npy_intp place = 0; place < rows * columns; place += columns) {  \
            for (npy_intp column = 0; column < columns; column++) {           \
                to[place + column] += from[column];                           \
            }                                                                 \
        }                                                                     \
    } while (0)

/* Adds a row to every row of a new matrix; whether it was a case for that. */
static int
add_row(PyObject *matrix, PyObject *row)
{
    const int layout = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    if (!PyArray_CheckExact(row) || PyArray_NDIM(ARRAY(matrix)) != 2 || PyArray_NDIM(ARRAY(row)) != 1
        || PyArray_DESCR(ARRAY(row)) != PyArray_DESCR(ARRAY(matrix)) || !PyArray_CHKFLAGS(ARRAY(matrix), layout)
        || !PyArray_CHKFLAGS(ARRAY(row), layout) || PyArray_DIM(ARRAY(row), 0) != PyArray_DIM(ARRAY(matrix), 1)) {
        return 0;
    }
    const npy_intp rows = PyArray_DIM(ARRAY(matrix), 0), columns = PyArray_DIM(ARRAY(matrix), 1);
    if (PyArray_DESCR(ARRAY(row)) == objects.F32) {
        ADD_ROW(npy_float32);
    }
    else if (PyArray_DESCR(ARRAY(row)) == objects.F64) {
        ADD_ROW(npy_float64);
    }
    else {
        return 0;
    }
    return 1;
}

/* addmm(input, mat1, mat2, *, beta, alpha) */
static PyObject *
short_addmm(const Call *call)
{
    if (call->values[3] != objects.one || call->values[4] != objects.one) {
        return NULL;
    }
    PyObject *made = product(call->arrays[1], call->arrays[2]);
    if (made == NULL) {
        return NULL;
    }
    const int small = PyArray_SIZE(ARRAY(made)) < SMALL_PRODUCT;
    if (small && add_row(made, call->arrays[0])) {
        return made;
    }
    PyObject *result = call_pair(small ? addition : add_in_place, made, call->arrays[0]);
    if (result != NULL && !small) {
        Py_SETREF(result, Py_NewRef(made));
    }
    else if (result != NULL && !(PyArray_CheckExact(result) && has_shape_of(result, made))) {
        Py_CLEAR(result); /* the input is larger than the product: Python says so */
    }
    Py_DECREF(made);
    return result;
}

/* ---- elementwise -------------------------------------------------------------------------------------------- */

/* For others `as_element` raises. */
int
fits_dtype(PyObject *number, const PyArray_Descr *dtype, double *value)
{
    if (PyFloat_CheckExact(number)) {
        *value = PyFloat_AS_DOUBLE(number);
    }
    else {
        npy_intp integer;
        if (!as_index(number, &integer) || integer > (1LL << 53) || integer < -(1LL << 53)) {
            return 0;
        }
        *value = (double)integer;
    }
    return isfinite(*value) && (dtype == objects.F64 || (dtype == objects.F32 && fabs(*value) <= FLT_MAX));
}

/* Up to here comparing with a zero is faster than with zeros. */
#define FEW_ELEMENTS 1024

/* relu(input) */
static PyObject *
short_relu(const Call *call)
{
    PyArrayObject *array = ARRAY(call->arrays[0]);
    if (maximum == Py_None || PyArray_SIZE(array) >= FEW_ELEMENTS) {
        return NULL;
    }
    return call_pair(maximum, objects.zero, call->arrays[0]);
}

/* ---- the table ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *op, *parameters;
    ShortKernel kernel;
} kernels[] = {
    {"t", "input", short_t},
    {"select", "input,dim,index", short_select},
    {"slice", "input,dim,start,stop,step", short_slice},
    {"_sum_all", "input,dtype", short_sum_all},
    {"_mean_all", "input,dtype", short_mean_all},
    {"mm", "input,mat2", short_mm},
    {"addmm", "input,mat1,mat2,beta,alpha", short_addmm},
    {"relu", "input", short_relu},
    {"_nll_loss", "input,target,weight,reduction,ignore_index", short_nll_loss},
    {"clamp", "input,min,max", short_clamp},
    {"_pow_number", "input,exponent", short_pow},
    {"_choose", "input,other,condition", short_choose},
    {"sigmoid", "input", short_sigmoid},
    {"transpose", "input,dim0,dim1", short_transpose},
    {"permute", "input,dims", short_permute},
    {"expand", "input,size", short_expand},
    {"cat", "tensors,dim", short_cat},
    {"stack", "tensors,dim", short_stack},
    {"index", "input,dims,first,second,third,fourth", short_index},
    {"index_select", "input,dim,index", short_index_select},
    {"embedding", "weight,indices,padding_idx,scale_grad_by_freq", short_embedding},
    {"sum", "input,dim,keepdim,dtype", short_sum},
    {"mean", "input,dim,keepdim,dtype", short_mean},
    {"var", "input,dim,correction,keepdim", short_var},
    {"std", "input,dim,correction,keepdim", short_std},
    {"view", "input,size", short_view},
    {"unsqueeze", "input,dim", short_unsqueeze},
    {"_squeeze_dim", "input,dim", short_squeeze_dim},
    {"softmax", "input,dim", short_softmax},
    {"log_softmax", "input,dim", short_log_softmax},
    {"logsumexp", "input,dim,keepdim", short_logsumexp},
    {"amax", "input,dim,keepdim", short_amax},
    {"amin", "input,dim,keepdim", short_amin},
    {"softplus", "input,beta,threshold", short_softplus},
    {"gather", "input,dim,index,sparse_grad", short_gather},
    {"add", "input,other,alpha", short_add},
    {"sub", "input,other,alpha", short_sub},
    {"_rsub_number", "input,other,alpha", short_rsub_number},
    {"mul", "input,other", short_mul},
    {"div", "input,other", short_div},
    {"maximum", "input,other", short_maximum},
    {"minimum", "input,other", short_minimum},
    {"neg", "input", short_neg},
};

ShortKernel
find_short_kernel(PyObject *op, PyObject *parameters)
{
    for (size_t index = 0; index < sizeof kernels / sizeof *kernels; index++) {
        if (PyUnicode_CompareWithASCIIString(op, kernels[index].op) == 0
            && PyUnicode_CompareWithASCIIString(parameters, kernels[index].parameters) == 0) {
            return kernels[index].kernel;
        }
    }
    return NULL;
}

static const Wanted wanted[] = {
    {"kernel_sum_all", &sum_all},
    {"kernel_divide", &divide},
    {"kernel_maximum", &maximum},
    {"kernel_add", &addition},
    {"kernel_iadd", &add_in_place},
    {"rows_product", &multiply_matrices},
    {NULL, NULL},
};

const Part short_kernels_part = {.wanted = wanted};
