/* The arithmetic of two small arrays that are alike, or of one and a number: the loops of backend/kernels, without the
 * way to them. Everything else (broadcasting, other layouts) the kernel itself does.
 */
#include "caller.h"
#include "engine.h"

#include "../backend/kernels/tiny_loops.h"

/* compiled kernels, None where there are none: then NumPy does all of it, and so it does here */
static PyObject *addition, *subtraction, *multiply;

static PyObject *
call_pair(PyObject *function, PyObject *first, PyObject *second)
{
    PyObject *const arguments[2] = {first, second};
    return PyObject_Vectorcall(function, arguments, 2, NULL);
}

/* A number in the precision of an array, which is float32 or float64; 0 if it is none that fits. */
static int
as_operand(PyObject *number, int kind, void *operand)
{
    double value;
    if (!fits_dtype(number, kind ? objects.F64 : objects.F32, &value)) {
        return 0;
    }
    if (kind) {
        *(npy_float64 *)operand = value;
    }
    else {
        *(npy_float32 *)operand = (npy_float32)value;
    }
    return 1;
}

static PyObject *
binary(const Call *call, const BinaryOperation *operation)
{
    PyObject *left = call->arrays[0], *right = call->arrays[1];
    npy_float64 number;
    const int kind = call->dtype == objects.F64, alike = are_alike(left, right);
    if (call->has_options || multiply == Py_None || PyArray_SIZE(ARRAY(left)) > operation->largest_size
        || !(alike || (is_plain(left) && as_operand(right, kind, &number)))) {
        return NULL;
    }
    PyObject *result = new_array_like(left);
    if (result != NULL) {
        operation->loops[kind](PyArray_DATA(ARRAY(left)), 1, alike ? PyArray_DATA(ARRAY(right)) : &number, alike,
                               PyArray_DATA(ARRAY(result)), PyArray_SIZE(ARRAY(left)));
    }
    return result;
}

static PyObject *
unary(const Call *call, const UnaryOperation *operation)
{
    PyObject *operand = call->arrays[0];
    if (multiply == Py_None || !is_plain(operand) || PyArray_SIZE(ARRAY(operand)) > operation->largest_size) {
        return NULL;
    }
    PyObject *result = new_array_like(operand);
    if (result != NULL) {
        operation->loops[call->dtype == objects.F64](PyArray_DATA(ARRAY(operand)), PyArray_DATA(ARRAY(result)),
                                                     PyArray_SIZE(ARRAY(operand)));
    }
    return result;
}

/* input (+ or -) alpha * other */
static PyObject *
with_alpha(const Call *call, PyObject *function)
{
    double alpha;
    if (multiply == Py_None || !PyArray_CheckExact(call->arrays[1])
        || !fits_dtype(call->values[2], call->dtype, &alpha)) {
        return NULL;
    }
    if (alpha == 1) {
        return call_pair(function, call->arrays[0], call->arrays[1]);
    }
    PyObject *scaled = call_pair(multiply, call->arrays[1], call->values[2]);
    PyObject *result = scaled == NULL ? NULL : call_pair(function, call->arrays[0], scaled);
    Py_XDECREF(scaled);
    return result;
}

/* add(input, other, *, alpha) */
PyObject *
short_add(const Call *call)
{
    return call->has_options ? with_alpha(call, addition) : binary(call, &add_operation);
}

/* sub(input, other, *, alpha) */
PyObject *
short_sub(const Call *call)
{
    return call->has_options ? with_alpha(call, subtraction) : binary(call, &subtract_operation);
}

/* mul(input, other) */
PyObject *
short_mul(const Call *call)
{
    return binary(call, &multiply_operation);
}

/* div(input, other) */
PyObject *
short_div(const Call *call)
{
    return binary(call, &divide_operation);
}

/* maximum(input, other) */
PyObject *
short_maximum(const Call *call)
{
    return binary(call, &maximum_operation);
}

/* minimum(input, other) */
PyObject *
short_minimum(const Call *call)
{
    return binary(call, &minimum_operation);
}

/* neg(input) */
PyObject *
short_neg(const Call *call)
{
    return unary(call, &negative_operation);
}

/* _rsub_number(input, other, *, alpha): other - input */
PyObject *
short_rsub_number(const Call *call)
{
    npy_float64 number;
    PyObject *operand = call->arrays[0];
    const int kind = call->dtype == objects.F64;
    if (multiply == Py_None || call->values[2] != objects.one || !is_plain(operand)
        || PyArray_SIZE(ARRAY(operand)) > subtract_operation.largest_size
        || !as_operand(call->arrays[1], kind, &number)) {
        return NULL;
    }
    PyObject *result = new_array_like(operand);
    if (result != NULL) {
        subtract_operation.loops[kind](&number, 0, PyArray_DATA(ARRAY(operand)), 1, PyArray_DATA(ARRAY(result)),
                                       PyArray_SIZE(ARRAY(operand)));
    }
    return result;
}

static const Wanted wanted[] = {
    {"kernel_add", &addition},
    {"kernel_subtract", &subtraction},
    {"kernel_multiply", &multiply},
    {NULL, NULL},
};

const Part short_arithmetic_part = {.wanted = wanted};
