/* The rules of the common ops on arrays, compiled.
 *
 * Each is the rule of the op's declaration, step by step, for float32 and float64 arrays that lie alike in memory,
 * with the same results bit for bit: only additions, products and the like are computed here, which IEEE 754 rounds
 * exactly; the functions that NumPy approximates are NumPy's. For every other case a rule declines, and the Python
 * rule runs. Tests compare the two on the samples of every op here.
 */
#include "engine.h"

#include "../backend/kernels/tiny_loops.h"

/* From so many elements on, a loop lets other threads run. */
#define LONG_LOOP 65536

/* Loops over memory, compiled for the vector units of several processors where the compiler can choose at start. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

static PyObject *raw; /* the namespace that rules on arrays compute with */
static PyObject *raw_mul, *raw_div, *raw_neg, *raw_mm, *raw_exp;

/* ---- loops -------------------------------------------------------------------------------------------------- */

typedef void (*Loop)(const void *gradient, const void *first, const void *second, double number, void *result,
                     npy_intp count);

/* A loop over the gradient `g` and up to two saved values `a` and `b`; `c` is a number in the arrays' type. */
#define LOOP(name, reads_first, reads_second, expression)                                                            \
    FOR_EACH_PROCESSOR static void name##_float32(const void *gradient, const void *first, const void *second,       \
                                                  double number, void *result, npy_intp count)                      \
    {                                                                                                                \
        const npy_float32 *G = gradient, *A = first, *B = second;                                                    \
        const npy_float32 c = (npy_float32)number;                                                                   \
        npy_float32 *__restrict R = result;                                                                          \
        (void)A, (void)B, (void)c;                                                                                   \
        for (npy_intp i = 0; i < count; i++) {                                                                       \
            const npy_float32 g = G[i], a = reads_first ? A[i] : 0, b = reads_second ? B[i] : 0;                     \
            (void)g, (void)a, (void)b;                                                                               \
            R[i] = expression;                                                                                       \
        }                                                                                                            \
    }                                                                                                                \
    FOR_EACH_PROCESSOR static void name##_float64(const void *gradient, const void *first, const void *second,       \
                                                  double number, void *result, npy_intp count)                      \
    {                                                                                                                \
        const npy_float64 *G = gradient, *A = first, *B = second;                                                    \
        const npy_float64 c = number;                                                                                \
        npy_float64 *__restrict R = result;                                                                          \
        (void)A, (void)B, (void)c;                                                                                   \
        for (npy_intp i = 0; i < count; i++) {                                                                       \
            const npy_float64 g = G[i], a = reads_first ? A[i] : 0, b = reads_second ? B[i] : 0;                     \
            (void)g, (void)a, (void)b;                                                                               \
            R[i] = expression;                                                                                       \
        }                                                                                                            \
    }                                                                                                                \
    static const Loop name##_loops[2] = {name##_float32, name##_float64};

LOOP(times, 1, 0, g *a)
LOOP(times_number, 0, 0, g *c)
LOOP(over, 1, 0, g / a)
LOOP(negated, 0, 0, -g)
LOOP(tanh_rule, 1, 0, (1 - a * a) * g)
LOOP(sigmoid_rule, 1, 0, ((1 - a) * a) * g)
LOOP(relu_rule, 1, 0, a != 0 ? g : 0)
LOOP(leaky_rule, 1, 0, a > 0 ? g : g *c)
LOOP(sqrt_rule, 1, 0, g / (a * 2))
LOOP(divisor_rule, 1, 1, -g *(a / b / b))
LOOP(scaled_product, 1, 0, g *(a *c))
LOOP(difference_scaled, 1, 0, (g - a) * c) /* of two saved values: there is no gradient in it */

static inline int
is_float64(PyObject *array)
{
    return PyArray_DESCR(ARRAY(array)) == objects.F64;
}

/* A new array like the first one, filled by a loop. All arrays are alike. */
static PyObject *
computed(const Loop *loops, PyObject *gradient, PyObject *first, PyObject *second, double number)
{
    PyObject *result = new_array_like(gradient);
    if (result == NULL) {
        return NULL;
    }
    const npy_intp count = PyArray_SIZE(ARRAY(gradient));
    const void *a = first == NULL ? NULL : PyArray_DATA(ARRAY(first));
    const void *b = second == NULL ? NULL : PyArray_DATA(ARRAY(second));
    PyThreadState *released = count >= LONG_LOOP ? PyEval_SaveThread() : NULL;
    loops[is_float64(gradient)](PyArray_DATA(ARRAY(gradient)), a, b, number, PyArray_DATA(ARRAY(result)), count);
    if (released != NULL) {
        PyEval_RestoreThread(released);
    }
    return result;
}

/* A Python number as NumPy takes it beside an array; 0 if it is none, or an int that a double cannot hold. */
static int
as_number(PyObject *object, double *number)
{
    if (PyFloat_CheckExact(object)) {
        *number = PyFloat_AS_DOUBLE(object);
        return 1;
    }
    if (PyLong_CheckExact(object)) {
        int overflow;
        const long long integer = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow || integer > (1LL << 53) || integer < -(1LL << 53)) {
            return 0;
        }
        *number = (double)integer;
        return 1;
    }
    return 0;
}

static int
is_one(PyObject *object)
{
    return object == objects.one;
}

/* ---- arithmetic, by a loop here or by the function that Python rules call ------------------------------------ */

static PyObject *
call_two(PyObject *function, PyObject *first, PyObject *second)
{
    PyObject *arguments[2] = {first, second};
    return PyObject_Vectorcall(function, arguments, 2, NULL);
}

static PyObject *
multiplied(PyObject *left, PyObject *right)
{
    double number;
    if (is_plain(left)) {
        if (are_alike(left, right)) {
            return computed(times_loops, left, right, NULL, 0);
        }
        if (as_number(right, &number)) {
            return computed(times_number_loops, left, NULL, NULL, number);
        }
    }
    return call_two(raw_mul, left, right);
}

static PyObject *
divided(PyObject *left, PyObject *right)
{
    if (are_alike(left, right)) {
        return computed(over_loops, left, right, NULL, 0);
    }
    return call_two(raw_div, left, right);
}

static PyObject *
negative_of(PyObject *array)
{
    if (is_plain(array)) {
        return computed(negated_loops, array, NULL, NULL, 0);
    }
    return PyObject_CallOneArg(raw_neg, array);
}

/* ---- putting results in their places ------------------------------------------------------------------------ */

static inline int
give(Results *results, int index, PyObject *part)
{
    results->parts[index] = part;
    return part == NULL ? -1 : 1;
}

#define WANTS(index) (wanted >> (index)&1)

/* ---- elementwise -------------------------------------------------------------------------------------------- */

#define RULE(name) static int name(PyObject *g, PyObject **saved, Edges wanted, Results *results)
#define UNUSED_SAVED (void)saved
#define UNUSED_WANTED (void)wanted

RULE(rule_mul)
{
    /* saved: other, input */
    for (int index = 0; index < 2; index++) {
        if (WANTS(index) && give(results, index, multiplied(g, saved[index])) < 0) {
            return -1;
        }
    }
    return 1;
}

RULE(rule_add)
{
    if (!is_one(saved[0])) {
        return 0;
    }
    for (int index = 0; index < 2; index++) {
        if (WANTS(index)) {
            give(results, index, Py_NewRef(g));
        }
    }
    return 1;
}

RULE(rule_sub)
{
    if (!is_one(saved[0])) {
        return 0;
    }
    if (WANTS(0)) {
        give(results, 0, Py_NewRef(g));
    }
    return WANTS(1) ? give(results, 1, negative_of(g)) : 1;
}

RULE(rule_rsub)
{
    if (!is_one(saved[0])) {
        return 0;
    }
    if (WANTS(1)) {
        give(results, 1, Py_NewRef(g));
    }
    return WANTS(0) ? give(results, 0, negative_of(g)) : 1;
}

RULE(rule_div)
{
    /* saved: other, input */
    if (WANTS(1) && !(are_alike(g, saved[0]) && are_alike(g, saved[1]))) {
        return 0;
    }
    if (WANTS(0) && give(results, 0, divided(g, saved[0])) < 0) {
        return -1;
    }
    return WANTS(1) ? give(results, 1, computed(divisor_rule_loops, g, saved[1], saved[0], 0)) : 1;
}

RULE(rule_neg)
{
    UNUSED_SAVED, UNUSED_WANTED;
    return give(results, 0, negative_of(g));
}

RULE(rule_same)
{
    UNUSED_SAVED, UNUSED_WANTED;
    return give(results, 0, Py_NewRef(g));
}

/* Rules of one saved value that lies as the gradient does. */
#define RULE_OF_ONE(name, loops)                                       \
    RULE(name)                                                         \
    {                                                                  \
        UNUSED_WANTED;                                                 \
        if (!are_alike(g, saved[0])) {                                 \
            return 0;                                                  \
        }                                                              \
        return give(results, 0, computed(loops, g, saved[0], NULL, 0)); \
    }

RULE_OF_ONE(rule_tanh, tanh_rule_loops)
RULE_OF_ONE(rule_sigmoid, sigmoid_rule_loops)
RULE_OF_ONE(rule_relu, relu_rule_loops)
RULE_OF_ONE(rule_exp, times_loops)
RULE_OF_ONE(rule_log, over_loops)
RULE_OF_ONE(rule_sqrt, sqrt_rule_loops)

RULE(rule_leaky_relu)
{
    UNUSED_WANTED;
    double slope;
    if (!are_alike(g, saved[0]) || !as_number(saved[1], &slope)) {
        return 0;
    }
    return give(results, 0, computed(leaky_rule_loops, g, saved[0], NULL, slope));
}

RULE(rule_addcmul)
{
    /* saved: tensor2, value, tensor1 */
    double value;
    if (!as_number(saved[1], &value) || (WANTS(1) && !are_alike(g, saved[0])) || (WANTS(2) && !are_alike(g, saved[2]))) {
        return 0;
    }
    if (WANTS(0)) {
        give(results, 0, Py_NewRef(g));
    }
    if (WANTS(1) && give(results, 1, computed(scaled_product_loops, g, saved[0], NULL, value)) < 0) {
        return -1;
    }
    return WANTS(2) ? give(results, 2, computed(scaled_product_loops, g, saved[2], NULL, value)) : 1;
}

RULE(rule_square)
{
    /* pow with a number: saved input, exponent. A square's slope is the input itself, doubled. */
    UNUSED_WANTED;
    double exponent;
    if (!as_number(saved[1], &exponent) || exponent != 2 || !are_alike(g, saved[0])) {
        return 0;
    }
    return give(results, 0, computed(scaled_product_loops, g, saved[0], NULL, 2));
}

#define REDUCTION_NONE 0
#define REDUCTION_MEAN 1

RULE(rule_mse_loss)
{
    /* saved: input, target, reduction */
    PyObject *input = saved[0], *target = saved[1];
    if (!PyLong_CheckExact(saved[2]) || !is_plain(g) || PyArray_NDIM(ARRAY(g)) != 0 || !are_alike(input, target)
        || PyArray_DESCR(ARRAY(g)) != PyArray_DESCR(ARRAY(input))) {
        return 0;
    }
    const long reduction = PyLong_AsLong(saved[2]);
    if (reduction == REDUCTION_NONE) {
        return 0;
    }
    const void *data = PyArray_DATA(ARRAY(g));
    double factor = 2 * (is_float64(g) ? *(const npy_float64 *)data : (double)*(const npy_float32 *)data);
    const npy_intp size = PyArray_SIZE(ARRAY(input));
    if (reduction == REDUCTION_MEAN && size > 0) {
        factor /= (double)size;
    }
    if (WANTS(0) && give(results, 0, computed(difference_scaled_loops, input, target, NULL, factor)) < 0) {
        return -1;
    }
    return WANTS(1) ? give(results, 1, computed(difference_scaled_loops, target, input, NULL, factor)) : 1;
}

/* ---- reductions --------------------------------------------------------------------------------------------- */

#define LARGEST_NDIM 32

/* Reads a tuple of sizes; the number of dimensions, or -1 if it is anything else. */
static int
read_shape(PyObject *tuple, npy_intp *shape)
{
    if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) > LARGEST_NDIM) {
        return -1;
    }
    const int ndim = (int)PyTuple_GET_SIZE(tuple);
    for (int axis = 0; axis < ndim; axis++) {
        PyObject *size = PyTuple_GET_ITEM(tuple, axis);
        shape[axis] = PyLong_CheckExact(size) ? PyLong_AsSsize_t(size) : -1;
        if (shape[axis] < 0) {
            PyErr_Clear();
            return -1;
        }
    }
    return ndim;
}

static PyObject *
new_array(int ndim, const npy_intp *shape, PyArray_Descr *dtype)
{
    Py_INCREF(dtype); /* the call below takes this reference */
    return PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, NULL, 0, NULL);
}

#define FILL(type, number)                      \
    do {                                        \
        type *items = PyArray_DATA(ARRAY(made)); \
        const type value = (type)(number);      \
        for (npy_intp i = 0; i < count; i++) {  \
            items[i] = value;                   \
        }                                       \
    } while (0)

/* An array of a shape that holds one number everywhere: the gradient of a sum, divided. */
static int
spread_out(PyObject *g, PyObject *wanted_shape, int is_mean, Results *results)
{
    npy_intp shape[LARGEST_NDIM];
    const int ndim = read_shape(wanted_shape, shape);
    if (ndim < 0 || !is_plain(g) || PyArray_NDIM(ARRAY(g)) != 0) {
        return 0;
    }
    PyObject *made = new_array(ndim, shape, PyArray_DESCR(ARRAY(g)));
    if (made == NULL) {
        return -1;
    }
    const npy_intp count = PyArray_SIZE(ARRAY(made));
    if (is_float64(g)) {
        const npy_float64 number = *(npy_float64 *)PyArray_DATA(ARRAY(g));
        FILL(npy_float64, is_mean ? number / (npy_float64)count : number);
    }
    else {
        const npy_float32 number = *(npy_float32 *)PyArray_DATA(ARRAY(g));
        FILL(npy_float32, is_mean ? number / (npy_float32)(double)count : number);
    }
    return give(results, 0, made);
}

RULE(rule_sum_all)
{
    UNUSED_WANTED;
    return spread_out(g, saved[0], 0, results);
}

RULE(rule_mean_all)
{
    UNUSED_WANTED;
    return spread_out(g, saved[0], 1, results);
}

/* A view of an array with dimensions of size one repeated, as `expand` makes it; NULL without an error: not a case for
 * C. Where an element stands in several places the view cannot be written. */
static PyObject *
expanded(PyObject *array, PyObject *wanted_shape)
{
    npy_intp shape[LARGEST_NDIM], strides[LARGEST_NDIM];
    const int ndim = read_shape(wanted_shape, shape), own = PyArray_NDIM(ARRAY(array)), lead = ndim - own;
    if (ndim < 1 || lead < 0 || !(PyArray_FLAGS(ARRAY(array)) & LAYOUT)) {
        return NULL;
    }
    int repeats = 0;
    for (int place = ndim - 1; place >= 0; place--) {
        const npy_intp size = place >= lead ? PyArray_DIM(ARRAY(array), place - lead) : 1;
        if (size != shape[place] && size != 1) {
            return NULL;
        }
        if (size != shape[place] || own == 0) {
            strides[place] = 0;
        }
        else {
            strides[place] = place >= lead ? PyArray_STRIDE(ARRAY(array), place - lead) : shape[place + 1] * strides[place + 1];
        }
        repeats |= strides[place] == 0;
    }
    PyArray_Descr *dtype = PyArray_DESCR(ARRAY(array));
    Py_INCREF(dtype);
    const int flags = repeats ? 0 : PyArray_FLAGS(ARRAY(array)) & NPY_ARRAY_WRITEABLE;
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, strides, PyArray_DATA(ARRAY(array)), flags, NULL);
    if (view != NULL && PyArray_SetBaseObject(ARRAY(view), Py_NewRef(array)) < 0) {
        Py_CLEAR(view);
    }
    return view;
}

RULE(rule_sum_to_size)
{
    UNUSED_WANTED;
    PyObject *view = expanded(g, saved[0]);
    if (view == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    return give(results, 0, view);
}

/* log_softmax along the last dimension: grad - exp(output) * sum(grad); saved: out, dim. */
#define LARGEST_SOFTMAX 4096

#define SPREAD_ROWS(type, pairwise)                                   \
    do {                                                              \
        const type *gradient = PyArray_DATA(ARRAY(g));                \
        type *items = PyArray_DATA(ARRAY(result));                    \
        for (npy_intp row = 0; row < rows; row++) {                   \
            const type total = 0 + pairwise(gradient, columns);       \
            for (npy_intp column = 0; column < columns; column++) {   \
                items[column] = gradient[column] - items[column] * total; \
            }                                                         \
            gradient += columns;                                      \
            items += columns;                                         \
        }                                                             \
    } while (0)

RULE(rule_log_softmax)
{
    UNUSED_WANTED;
    PyObject *output = saved[0];
    if (!are_alike(g, output) || !PyArray_IS_C_CONTIGUOUS(ARRAY(g)) || !PyLong_CheckExact(saved[1])) {
        return 0;
    }
    const int ndim = PyArray_NDIM(ARRAY(g));
    const long dim = PyLong_AsLong(saved[1]);
    const npy_intp size = PyArray_SIZE(ARRAY(g));
    if (ndim == 0 || (dim != ndim - 1 && dim != -1) || size == 0 || size > LARGEST_SOFTMAX) {
        PyErr_Clear();
        return 0;
    }
    const npy_intp columns = PyArray_DIM(ARRAY(g), ndim - 1), rows = size / columns;
    PyObject *result = PyObject_CallOneArg(raw_exp, output);
    if (result == NULL) {
        return -1;
    }
    if (!are_alike(result, g) || Py_REFCNT(result) != 1 || !PyArray_ISWRITEABLE(ARRAY(result))) {
        Py_DECREF(result);
        return 0;
    }
    if (is_float64(g)) {
        SPREAD_ROWS(npy_float64, pairwise_sum_float64);
    }
    else {
        SPREAD_ROWS(npy_float32, pairwise_sum_float32);
    }
    return give(results, 0, result);
}

/* ---- views -------------------------------------------------------------------------------------------------- */

/* The transpose of a matrix. That of a transpose is the matrix it was made from, so that a weight's gradient, which
 * comes as a transpose, can become its `.grad` without a copy. */
static PyObject *
transposed(PyObject *array)
{
    PyArrayObject *matrix = ARRAY(array);
    PyObject *base = PyArray_BASE(matrix);
    if (base != NULL && PyArray_CheckExact(base) && PyArray_NDIM(matrix) == 2 && PyArray_NDIM(ARRAY(base)) == 2
        && PyArray_DATA(ARRAY(base)) == PyArray_DATA(matrix) && PyArray_DESCR(ARRAY(base)) == PyArray_DESCR(matrix)
        && PyArray_DIM(ARRAY(base), 0) == PyArray_DIM(matrix, 1) && PyArray_DIM(ARRAY(base), 1) == PyArray_DIM(matrix, 0)
        && PyArray_STRIDE(ARRAY(base), 0) == PyArray_STRIDE(matrix, 1)
        && PyArray_STRIDE(ARRAY(base), 1) == PyArray_STRIDE(matrix, 0)) {
        return Py_NewRef(base);
    }
    return PyArray_Transpose(matrix, NULL);
}

RULE(rule_t)
{
    UNUSED_SAVED, UNUSED_WANTED;
    return PyArray_NDIM(ARRAY(g)) > 2 ? 0 : give(results, 0, transposed(g));
}

/* Reads a dimension, counted from the end if negative; -1 if it is no int or out of range. */
static int
read_dim(PyObject *object, int ndim)
{
    if (!PyLong_CheckExact(object)) {
        return -1;
    }
    const long dim = PyLong_AsLong(object);
    if (dim < -ndim || dim >= ndim) {
        PyErr_Clear();
        return -1;
    }
    return (int)(dim < 0 ? dim + ndim : dim);
}

RULE(rule_transpose)
{
    UNUSED_WANTED;
    const int ndim = PyArray_NDIM(ARRAY(g));
    const int first = read_dim(saved[0], ndim), second = read_dim(saved[1], ndim);
    if (first < 0 || second < 0 || first == second) {
        return 0;
    }
    return give(results, 0, PyArray_SwapAxes(ARRAY(g), first, second));
}

RULE(rule_view)
{
    UNUSED_WANTED;
    npy_intp shape[LARGEST_NDIM];
    const int ndim = read_shape(saved[0], shape);
    if (ndim < 0) {
        return 0;
    }
    PyArray_Dims dims = {shape, ndim};
    return give(results, 0, PyArray_Newshape(ARRAY(g), &dims, NPY_CORDER));
}

/* A view of one index of a dimension, without that dimension. */
static PyObject *
selected(PyObject *array, int dim, npy_intp index)
{
    const int ndim = PyArray_NDIM(ARRAY(array));
    npy_intp shape[LARGEST_NDIM], strides[LARGEST_NDIM];
    for (int axis = 0, place = 0; axis < ndim; axis++) {
        if (axis != dim) {
            shape[place] = PyArray_DIM(ARRAY(array), axis);
            strides[place++] = PyArray_STRIDE(ARRAY(array), axis);
        }
    }
    char *data = PyArray_BYTES(ARRAY(array)) + index * PyArray_STRIDE(ARRAY(array), dim);
    PyArray_Descr *dtype = PyArray_DESCR(ARRAY(array));
    Py_INCREF(dtype);
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim - 1, shape, strides, data,
                                          PyArray_FLAGS(ARRAY(array)) & NPY_ARRAY_WRITEABLE, NULL);
    if (view != NULL && PyArray_SetBaseObject(ARRAY(view), Py_NewRef(array)) < 0) {
        Py_CLEAR(view);
    }
    return view;
}

RULE(rule_select)
{
    /* saved: input_shape, dim, index */
    UNUSED_WANTED;
    npy_intp shape[LARGEST_NDIM];
    const int ndim = read_shape(saved[0], shape);
    if (ndim < 1 || !is_plain(g) || PyArray_NDIM(ARRAY(g)) != ndim - 1) {
        return 0;
    }
    const int dim = read_dim(saved[1], ndim);
    if (dim < 0 || !PyLong_CheckExact(saved[2])) {
        return 0;
    }
    npy_intp index = PyLong_AsSsize_t(saved[2]);
    index += index < 0 ? shape[dim] : 0;
    if (index < 0 || index >= shape[dim]) {
        PyErr_Clear();
        return 0;
    }
    PyArray_Descr *dtype = PyArray_DESCR(ARRAY(g));
    Py_INCREF(dtype);
    PyObject *made = PyArray_Zeros(ndim, shape, dtype, 0);
    PyObject *place = made == NULL ? NULL : selected(made, dim, index);
    if (place == NULL || !has_shape_of(place, g) || PyArray_CopyInto(ARRAY(place), ARRAY(g)) < 0) {
        const int failed = PyErr_Occurred() != NULL;
        Py_XDECREF(place);
        Py_XDECREF(made);
        return failed ? -1 : 0;
    }
    Py_DECREF(place);
    return give(results, 0, made);
}

RULE(rule_stack)
{
    /* saved: dim, tensors_shape */
    UNUSED_WANTED;
    const int dim = read_dim(saved[0], PyArray_NDIM(ARRAY(g)));
    if (dim < 0 || !PyTuple_CheckExact(saved[1]) || PyArray_NDIM(ARRAY(g)) > LARGEST_NDIM
        || PyTuple_GET_SIZE(saved[1]) != PyArray_DIM(ARRAY(g), dim)) {
        return 0;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(saved[1]);
    PyObject *holder = PyTuple_New(count);
    for (Py_ssize_t index = 0; holder != NULL && index < count; index++) {
        PyObject *part = selected(g, dim, index);
        if (part == NULL) {
            Py_CLEAR(holder);
            break;
        }
        PyTuple_SET_ITEM(holder, index, part);
    }
    if (holder == NULL) {
        return -1;
    }
    results->holder = holder;
    results->count = count;
    return 1;
}

/* The pieces of a split, put together again; `g` is a list of all of them. saved: input_shape, split_size, dim. */
RULE(rule_split)
{
    UNUSED_WANTED;
    npy_intp shape[LARGEST_NDIM], total = 0;
    const int ndim = read_shape(saved[0], shape);
    const int dim = ndim < 1 ? -1 : read_dim(saved[2], ndim);
    if (dim < 0 || ndim > 3 || !PyList_CheckExact(g)) {
        return 0;
    }
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(g); index++) {
        PyObject *piece = PyList_GET_ITEM(g, index);
        if (!is_plain(piece) || !PyArray_IS_C_CONTIGUOUS(ARRAY(piece)) || PyArray_NDIM(ARRAY(piece)) != ndim
            || PyArray_SIZE(ARRAY(piece)) == 0
            || PyArray_DESCR(ARRAY(piece)) != PyArray_DESCR(ARRAY(PyList_GET_ITEM(g, 0)))) {
            return 0;
        }
        total += PyArray_DIM(ARRAY(piece), dim);
    }
    if (total != shape[dim]) {
        return 0;
    }
    PyObject *whole = PyArray_Concatenate(g, dim);
    if (whole == NULL) {
        return -1;
    }
    if (!PyArray_IS_C_CONTIGUOUS(ARRAY(whole))) {
        Py_DECREF(whole);
        return 0;
    }
    return give(results, 0, whole);
}

/* ---- products ----------------------------------------------------------------------------------------------- */

/* A matrix that np.dot gives to the BLAS as it is: for others np.matmul's last bits are its own. */
static int
is_blas_matrix(PyObject *object)
{
    return is_plain(object) && PyArray_NDIM(ARRAY(object)) == 2;
}

/* Few rows times a large transposed weight goes another way in Python: see `matrix_product`. */
#define LARGE_WEIGHT (1 << 16)

/* A column times a row. np.matmul adds each product to a zero, so none of the results is a negative zero. */
#define LARGEST_OUTER 65536

#define OUTER(type)                                                \
    do {                                                           \
        const type *a = PyArray_DATA(ARRAY(left)), *b = PyArray_DATA(ARRAY(right)); \
        type *items = PyArray_DATA(ARRAY(result));                 \
        for (npy_intp row = 0; row < rows; row++) {                \
            for (npy_intp column = 0; column < columns; column++) { \
                items[row * columns + column] = 0 + a[row] * b[column]; \
            }                                                      \
        }                                                          \
    } while (0)

static PyObject *
outer_product(PyObject *left, PyObject *right)
{
    const npy_intp rows = PyArray_DIM(ARRAY(left), 0), columns = PyArray_DIM(ARRAY(right), 1);
    const npy_intp shape[2] = {rows, columns};
    PyObject *result = new_array(2, shape, PyArray_DESCR(ARRAY(left)));
    if (result != NULL && is_float64(left)) {
        OUTER(npy_float64);
    }
    else if (result != NULL) {
        OUTER(npy_float32);
    }
    return result;
}

static PyObject *
product(PyObject *left, PyObject *right)
{
    if (is_blas_matrix(left) && is_blas_matrix(right) && PyArray_DESCR(ARRAY(left)) == PyArray_DESCR(ARRAY(right))
        && PyArray_DIM(ARRAY(left), 1) == 1 && PyArray_DIM(ARRAY(right), 0) == 1
        && PyArray_SIZE(ARRAY(left)) * PyArray_SIZE(ARRAY(right)) <= LARGEST_OUTER) {
        return outer_product(left, right);
    }
    if (is_blas_matrix(left) && is_blas_matrix(right) && PyArray_DESCR(ARRAY(left)) == PyArray_DESCR(ARRAY(right))
        && PyArray_DIM(ARRAY(left), 1) == PyArray_DIM(ARRAY(right), 0)
        && PyArray_DIM(ARRAY(left), 1) > 1 /* for products of one term the sign of a zero differs */
        && PyArray_SIZE(ARRAY(right)) < LARGE_WEIGHT) {
        return PyArray_MatrixProduct2(left, right, NULL);
    }
    return call_two(raw_mm, left, right);
}

/* Whether a matrix with these strides lies column after column; -1 if they are no strides of a matrix. */
static int
by_columns(PyObject *strides)
{
    if (!PyTuple_CheckExact(strides) || PyTuple_GET_SIZE(strides) != 2) {
        return -1;
    }
    const npy_intp first = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, 0));
    const npy_intp second = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, 1));
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return -1;
    }
    return first < second;
}

/* transpose(left) @ right and the like: `turned` says which operands are transposed first, and the result. */
enum { LEFT = 1, RIGHT = 2, RESULT = 4 };

static PyObject *
turned_product(PyObject *left, PyObject *right, int turned)
{
    PyObject *first = turned & LEFT ? PyArray_Transpose(ARRAY(left), NULL) : Py_NewRef(left);
    PyObject *second = turned & RIGHT ? PyArray_Transpose(ARRAY(right), NULL) : Py_NewRef(right);
    PyObject *result = first == NULL || second == NULL ? NULL : product(first, second);
    Py_XDECREF(first);
    Py_XDECREF(second);
    if (result != NULL && (turned & RESULT)) {
        if (!PyArray_CheckExact(result)) {
            Py_DECREF(result);
            PyErr_SetString(PyExc_TypeError, "a product of arrays is no array");
            return NULL;
        }
        Py_SETREF(result, PyArray_Transpose(ARRAY(result), NULL));
    }
    return result;
}

/* `first_gradient` and `second_gradient` of a product of two matrices. */
static int
product_rule(PyObject *g, PyObject *first, PyObject *second, PyObject *first_strides, PyObject *second_strides, int place,
             Edges wanted, Results *results)
{
    const int first_by_columns = by_columns(first_strides), second_by_columns = by_columns(second_strides);
    if (first_by_columns < 0 || second_by_columns < 0 || !PyArray_CheckExact(g) || PyArray_NDIM(ARRAY(g)) != 2
        || (WANTS(place) && (!PyArray_CheckExact(second) || PyArray_NDIM(ARRAY(second)) != 2))
        || (WANTS(place + 1) && (!PyArray_CheckExact(first) || PyArray_NDIM(ARRAY(first)) != 2))) {
        return 0;
    }
    if (WANTS(place)) {
        PyObject *part
            = first_by_columns ? turned_product(second, g, RIGHT | RESULT) : turned_product(g, second, RIGHT);
        if (give(results, place, part) < 0) {
            return -1;
        }
    }
    if (WANTS(place + 1)) {
        PyObject *part = second_by_columns ? turned_product(g, first, LEFT | RESULT) : turned_product(first, g, LEFT);
        return give(results, place + 1, part);
    }
    return 1;
}

RULE(rule_mm)
{
    /* saved: mat2, input_strides, input, mat2_strides */
    return product_rule(g, saved[2], saved[0], saved[1], saved[3], 0, wanted, results);
}

RULE(rule_addmm)
{
    /* saved: beta, mat2, mat1_strides, alpha, mat1, mat2_strides */
    if (!is_one(saved[0]) || !is_one(saved[3])) {
        return 0;
    }
    const int done = product_rule(g, saved[4], saved[1], saved[2], saved[5], 1, wanted, results);
    if (done == 1 && WANTS(0)) {
        give(results, 0, Py_NewRef(g));
    }
    return done;
}

/* ---- the table ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *op, *saved_names;
    CompiledRule rule;
} rules[] = {
    {"mul", "other,input", rule_mul},
    {"add", "alpha", rule_add},
    {"sub", "alpha", rule_sub},
    {"rsub", "alpha", rule_rsub},
    {"div", "other,input", rule_div},
    {"neg", "", rule_neg},
    {"clone", "", rule_same},
    {"alias", "", rule_same},
    {"tanh", "out", rule_tanh},
    {"sigmoid", "out", rule_sigmoid},
    {"relu", "out", rule_relu},
    {"exp", "out", rule_exp},
    {"log", "input", rule_log},
    {"sqrt", "out", rule_sqrt},
    {"leaky_relu", "input,negative_slope", rule_leaky_relu},
    {"addcmul", "tensor2,value,tensor1", rule_addcmul},
    {"_pow_number", "input,exponent", rule_square},
    {"mse_loss", "input,target,reduction", rule_mse_loss},
    {"_sum_all", "input_shape", rule_sum_all},
    {"_mean_all", "input_shape", rule_mean_all},
    {"sum_to_size", "input_shape", rule_sum_to_size},
    {"log_softmax", "out,dim", rule_log_softmax},
    {"t", "", rule_t},
    {"transpose", "dim0,dim1", rule_transpose},
    {"view", "input_shape", rule_view},
    {"_unsafe_view", "input_shape", rule_view},
    {"_reshape_alias", "input_shape", rule_view},
    {"select", "input_shape,dim,index", rule_select},
    {"stack", "dim,tensors_shape", rule_stack},
    {"_split", "input_shape,split_size,dim", rule_split},
    {"_unsafe_split", "input_shape,split_size,dim", rule_split},
    {"mm", "mat2,input_strides,input,mat2_strides", rule_mm},
    {"addmm", "beta,mat2,mat1_strides,alpha,mat1,mat2_strides", rule_addmm},
    {NULL, NULL, NULL},
};

CompiledRule
find_compiled_rule(const char *op, const char *saved_names)
{
    for (int index = 0; rules[index].op != NULL; index++) {
        if (strcmp(rules[index].op, op) == 0 && strcmp(rules[index].saved_names, saved_names) == 0) {
            return rules[index].rule;
        }
    }
    return NULL;
}

static const Wanted rules_wanted[] = {
    {"RAW", &raw},
    {NULL, NULL},
};

static int
rules_start(void)
{
    const struct {
        PyObject **place;
        const char *name;
    } functions[] = {{&raw_mul, "mul"}, {&raw_div, "div"}, {&raw_neg, "neg"}, {&raw_mm, "mm"}, {&raw_exp, "exp"}};
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        Py_XSETREF(*functions[index].place, PyObject_GetAttrString(raw, functions[index].name));
        if (*functions[index].place == NULL) {
            return -1;
        }
    }
    return 0;
}

const Part rules_part = {.wanted = rules_wanted, .start = rules_start};
