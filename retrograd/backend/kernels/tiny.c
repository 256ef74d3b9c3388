/* Elementwise arithmetic on small arrays, without the ufunc machinery.
 *
 * A NumPy ufunc call costs a few hundred nanoseconds before it touches the first element. The functions here
 * stand in for the ufuncs an autograd engine calls most. Each one has a fast path for small plain arrays and
 * hands every other call, arguments untouched, to the ufunc itself, so results and errors are NumPy's.
 *
 * What the fast path promises:
 *   - the same bits as NumPy. Only operations that IEEE 754 rounds exactly are computed here; exp, log and the
 *     like go to NumPy, whose vectorised versions cannot be reproduced. (Where both operands are nan, which of
 *     the two survives is open, as it is in NumPy.)
 *   - an array, always: where NumPy answers with a scalar, the caller gets a 0-d array.
 *   - no warning on division by zero, overflow or nan. The processor's status flags are left as they fall:
 *     NumPy clears them before it looks.
 *
 * The module keeps no state but references to NumPy functions, which are set once at import. Its other files are numbers.c,
 * draws.c and threads.c: with more than one thread, large dense arrays are taken here too, since NumPy has none.
 */
#include "tiny.h"
#include "stream.h"

#include <numpy/ufuncobject.h>

#include "tiny_loops.h"
#include "sources.h"
#include "threads.h"

/* From here on a sum lets other threads run. */
#define LONG_SUM 65536

static PyArray_Descr *descriptors[2]; /* by Kind */

/* ---- operands --------------------------------------------------------------------------------------------- */

static Kind
descriptor_kind(PyArray_Descr *descriptor)
{
    if (descriptor == descriptors[FLOAT32]) {
        return FLOAT32;
    }
    if (descriptor == descriptors[FLOAT64]) {
        return FLOAT64;
    }
    /* A dtype that was pickled or copied is another object. One with metadata is NumPy's to propagate. */
    if (!PyDataType_ISNOTSWAPPED(descriptor) || PyDataType_METADATA(descriptor) != NULL) {
        return NOT_PLAIN;
    }
    return descriptor->type_num == NPY_FLOAT32   ? FLOAT32
           : descriptor->type_num == NPY_FLOAT64 ? FLOAT64
                                                 : NOT_PLAIN;
}

Kind
plain_kind(PyObject *object, npy_intp largest_size)
{
    if (!PyArray_CheckExact(object)) {
        return NOT_PLAIN;
    }
    PyArrayObject *array = ARRAY(object);
    const int flags = PyArray_FLAGS(array);
    if (!(flags & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)) || !(flags & NPY_ARRAY_ALIGNED)
        || PyArray_NDIM(array) > LARGEST_NDIM || PyArray_SIZE(array) > largest_size) {
        return NOT_PLAIN;
    }
    return descriptor_kind(PyArray_DESCR(array));
}

typedef union {
    npy_float32 float32;
    npy_float64 float64;
} Number;

/* A Python float or int takes the array's dtype (NEP 50). Returns 0 if it is neither, or an int that a double
 * cannot hold; bool and the NumPy scalars, which are subclasses or follow other rules, are neither. */
static int
weak_number(PyObject *object, Kind kind, Number *number)
{
    double value;
    if (PyFloat_CheckExact(object)) {
        value = PyFloat_AS_DOUBLE(object);
    }
    else if (PyLong_CheckExact(object)) {
        int overflow;
        const long long integer = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow || integer > (1LL << 53) || integer < -(1LL << 53)) {
            return 0;
        }
        value = (double)integer;
    }
    else {
        return 0;
    }
    if (kind == FLOAT32) {
        number->float32 = (npy_float32)value;
    }
    else {
        number->float64 = value;
    }
    return 1;
}

PyObject *
new_array(int ndim, const npy_intp *shape, Kind kind, int fortran_order)
{
    Py_INCREF(descriptors[kind]); /* the call below takes this reference */
    return PyArray_NewFromDescr(&PyArray_Type, descriptors[kind], ndim, shape, NULL, NULL,
                                fortran_order ? NPY_ARRAY_F_CONTIGUOUS : 0, NULL);
}

static PyObject *
new_like(PyArrayObject *array, Kind kind)
{
    return new_array(PyArray_NDIM(array), PyArray_DIMS(array), kind, !PyArray_IS_C_CONTIGUOUS(array));
}

static int
same_layout(PyArrayObject *left, PyArrayObject *right)
{
    return (PyArray_FLAGS(left) & PyArray_FLAGS(right) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)) != 0;
}

/* ---- NumPy's own functions -------------------------------------------------------------------------------- */

typedef enum {
    UFUNC_ADD,
    UFUNC_SUBTRACT,
    UFUNC_MULTIPLY,
    UFUNC_DIVIDE,
    UFUNC_MAXIMUM,
    UFUNC_MINIMUM,
    UFUNC_NEGATIVE,
    UFUNC_SQUARE,
    UFUNC_SQRT,
    UFUNC_EXP,
    UFUNC_LOG,
    UFUNC_TANH,
    UFUNC_SIN,
    UFUNC_COS,
    UFUNC_MATMUL,
    FUNCTION_FULL,
    FUNCTION_COUNT
} Function;

static const char *const function_names[FUNCTION_COUNT] = {
    "add",  "subtract", "multiply", "divide", "maximum", "minimum", "negative", "square",
    "sqrt", "exp",      "log",      "tanh",   "sin",     "cos",     "matmul",   "full",
};
static PyObject *functions[FUNCTION_COUNT];
static PyObject *add_reduce;
static PyObject *axis_keyword; /* ("axis",) */

/* Takes over the reference to `result`. */
static PyObject *
as_array(PyObject *result)
{
    if (result == NULL || !PyArray_IsScalar(result, Generic)) {
        return result;
    }
    PyObject *array = PyArray_FromScalar(result, NULL);
    Py_DECREF(result);
    return array;
}

/* NumPy keeps its floating point error mode in a context variable. While it holds `quiet_mode`
   no warning is raised: an overflow is an infinity. Both are NULL where NumPy has no such name. */
static PyObject *error_mode_variable, *quiet_mode;

static PyObject *
call_quietly(PyObject *callable, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords)
{
    if (quiet_mode == NULL) {
        return PyObject_Vectorcall(callable, arguments, count, keywords);
    }
    PyObject *token = PyContextVar_Set(error_mode_variable, quiet_mode);
    if (token == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(callable, arguments, count, keywords);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int failed = PyContextVar_Reset(error_mode_variable, token);
    Py_DECREF(token);
    if (failed) {
        Py_XDECREF(result);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return NULL;
    }
    PyErr_Restore(type, value, traceback);
    return result;
}

/* Finds the two in NumPy; leaves them NULL, without an error, where they are not. */
static void
find_quiet_mode(void)
{
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    PyObject *make = umath ? PyObject_GetAttrString(umath, "_make_extobj") : NULL;
    error_mode_variable = umath ? PyObject_GetAttrString(umath, "_extobj_contextvar") : NULL;
    if (make != NULL && error_mode_variable != NULL) {
        PyObject *none = PyTuple_New(0);
        PyObject *all = Py_BuildValue("{s:s}", "all", "ignore");
        if (none != NULL && all != NULL) {
            quiet_mode = PyObject_Call(make, none, all);
        }
        Py_XDECREF(none);
        Py_XDECREF(all);
    }
    Py_XDECREF(make);
    Py_XDECREF(umath);
    PyErr_Clear();
}

/* ---- large arrays in several threads ------------------------------------------------------------------------ */

#define MOST_OPERANDS 3 /* two, and the result */

typedef struct {
    PyUFuncGenericFunction loop;
    void *data;
    char *operands[MOST_OPERANDS];
    npy_intp strides[MOST_OPERANDS];
    int count;
} Stretch;

static void
do_stretch(void *context, npy_intp start, npy_intp stop)
{
    const Stretch *whole = context;
    char *operands[MOST_OPERANDS];
    for (int index = 0; index < whole->count; index++) {
        operands[index] = whole->operands[index] + start * whole->strides[index];
    }
    const npy_intp length = stop - start;
    whole->loop(operands, &length, whole->strides, whole->data);
}

/* NumPy's loop for operands of one kind: the first that matches is the one that NumPy takes. */
static int
find_loop(Function function, Kind kind, Stretch *stretch)
{
    const PyUFuncObject *ufunc = (const PyUFuncObject *)functions[function];
    const char wanted = kind == FLOAT32 ? NPY_FLOAT32 : NPY_FLOAT64;
    const int count = stretch->count;
    if (!PyObject_TypeCheck(functions[function], &PyUFunc_Type) || ufunc->nargs != count || ufunc->nout != 1) {
        return 0;
    }
    for (int index = 0; index < ufunc->ntypes; index++) {
        int matches = 1;
        for (int place = 0; place < count; place++) {
            matches &= ufunc->types[index * count + place] == wanted;
        }
        if (matches) {
            stretch->loop = ufunc->functions[index];
            stretch->data = ufunc->data == NULL ? NULL : (void *)ufunc->data[index];
            return stretch->loop != NULL;
        }
    }
    return 0;
}

static int are_apart(PyArrayObject *one, PyArrayObject *other);

/* A ufunc of large dense arrays that lie alike, or of one and a number, in several threads: an element's bits do not depend
 * on its neighbours. `target` gets the result, if one is given. NotImplemented: NumPy's to do. */
static PyObject *
spread_over_threads(Function function, PyObject *const *operands, int count, PyObject *target)
{
    PyObject *first = NULL; /* the first array */
    Kind kind = NOT_PLAIN;
    Stretch stretch = {.count = count + 1};
    Number numbers[MOST_OPERANDS - 1];
    for (int index = 0; index < count; index++) {
        if (PyArray_CheckExact(operands[index]) && first == NULL) {
            first = operands[index];
            kind = plain_kind(first, NPY_MAX_INTP);
        }
    }
    if (kind == NOT_PLAIN || PyArray_SIZE(ARRAY(first)) < 2 * THREAD_GRAIN || !find_loop(function, kind, &stretch)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    const npy_intp item = PyArray_ITEMSIZE(ARRAY(first));
    PyObject *result = target;
    for (int index = 0; index <= count; index++) {
        PyObject *operand = index < count ? operands[index] : target;
        if (operand == NULL || (index < count && weak_number(operand, kind, &numbers[index]))) {
            stretch.operands[index] = operand == NULL ? NULL : (char *)&numbers[index];
            stretch.strides[index] = operand == NULL ? item : 0;
            continue;
        }
        if (plain_kind(operand, NPY_MAX_INTP) != kind || !PyArray_SAMESHAPE(ARRAY(operand), ARRAY(first))
            || !same_layout(ARRAY(operand), ARRAY(first))
            || (target != NULL && PyArray_DATA(ARRAY(operand)) != PyArray_DATA(ARRAY(target))
                && (!PyArray_CheckExact(target) || !are_apart(ARRAY(operand), ARRAY(target))))) {
            Py_RETURN_NOTIMPLEMENTED;
        }
        stretch.operands[index] = PyArray_DATA(ARRAY(operand));
        stretch.strides[index] = item;
    }
    if (target != NULL && !PyArray_ISWRITEABLE(ARRAY(target))) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    result = target == NULL ? new_like(ARRAY(first), kind) : Py_NewRef(target);
    if (result != NULL) {
        stretch.operands[count] = PyArray_DATA(ARRAY(result));
        Py_BEGIN_ALLOW_THREADS;
        thread_pool->run(do_stretch, &stretch, PyArray_SIZE(ARRAY(first)), THREAD_GRAIN);
        Py_END_ALLOW_THREADS;
    }
    return result;
}

/* ---- a large array beside a row or a column ----------------------------------------------------------------- */

/* How a smaller operand lies against a larger one of shape outer x middle x inner: it has `middle` elements,
 * each repeated `inner` times, the whole repeated `outer` times. */
typedef struct {
    npy_intp outer, middle, inner;
} Spread;

/* Finds the spread that makes `small` broadcast to the shape of `large`; 0 if there is none of that form. */
static int
find_spread(PyArrayObject *large, PyArrayObject *small, Spread *spread)
{
    const int missing = PyArray_NDIM(large) - PyArray_NDIM(small);
    const npy_intp *large_shape = PyArray_DIMS(large), *small_shape = PyArray_DIMS(small);
    int first = missing, last = PyArray_NDIM(large);
    if (missing < 0) {
        return 0;
    }
    while (first < last && small_shape[first - missing] == 1) {
        first++;
    }
    while (last > first && small_shape[last - 1 - missing] == 1) {
        last--;
    }
    *spread = (Spread){1, 1, 1};
    for (int axis = 0; axis < first; axis++) {
        spread->outer *= large_shape[axis];
    }
    for (int axis = first; axis < last; axis++) {
        if (large_shape[axis] != small_shape[axis - missing]) {
            return 0;
        }
        spread->middle *= large_shape[axis];
    }
    for (int axis = last; axis < PyArray_NDIM(large); axis++) {
        spread->inner *= large_shape[axis];
    }
    return 1;
}

/* A short row is repeated up to so many elements, so that calls of the loop do not cost more than its work. */
#define LONG_ROW 512

/* `runs` stretches of `length` elements, one after the other. What the small operand has for them are the same elements
 * (`step` is 0) or one element after the other, each for a whole stretch. */
typedef struct {
    Stretch stretch;
    npy_intp length, size, step, middle;
    int small; /* which operand that is */
} Runs;

static void
do_runs(void *context, npy_intp start, npy_intp stop)
{
    const Runs *all = context;
    const Stretch *stretch = &all->stretch;
    const npy_intp item = stretch->strides[2];
    for (npy_intp run = start; run < stop; run++) {
        const npy_intp first = run * all->length;
        const npy_intp length = all->size - first < all->length ? all->size - first : all->length;
        char *operands[MOST_OPERANDS];
        for (int index = 0; index < MOST_OPERANDS; index++) {
            const npy_intp skip = index == all->small ? run % all->middle * all->step : first * item;
            operands[index] = stretch->operands[index] + skip;
        }
        stretch->loop(operands, &length, stretch->strides, stretch->data);
    }
}

/* How the stretches lie; `repeated` gets memory to be freed where a short row was repeated. 0: NumPy's to do. */
static int
lay_out(Runs *all, PyArrayObject *large, PyArrayObject *small, char **repeated)
{
    Spread spread;
    *repeated = NULL;
    if (!PyArray_IS_C_CONTIGUOUS(large) || !PyArray_IS_C_CONTIGUOUS(small) || !find_spread(large, small, &spread)
        || PyArray_SIZE(large) == PyArray_SIZE(small)) {
        return 0;
    }
    const npy_intp item = PyArray_ITEMSIZE(large), row = spread.middle;
    all->size = PyArray_SIZE(large);
    all->stretch.operands[all->small] = PyArray_DATA(small);
    if (spread.inner > 1 || row == 1) { /* a column, or one element */
        all->length = row == 1 ? THREAD_GRAIN : spread.inner;
        all->step = row == 1 ? 0 : item;
        all->middle = row;
        all->stretch.strides[all->small] = 0;
        return all->length >= 16;
    }
    const npy_intp times = row < LONG_ROW ? LONG_ROW / row : 1;
    all->length = times * row;
    all->step = 0;
    all->middle = 1;
    all->stretch.strides[all->small] = item;
    if (times > 1) {
        *repeated = PyMem_Malloc((size_t)(all->length * item));
        for (npy_intp time = 0; *repeated != NULL && time < times; time++) {
            memcpy(*repeated + time * row * item, PyArray_DATA(small), (size_t)(row * item));
        }
        all->stretch.operands[all->small] = *repeated;
    }
    return times == 1 || *repeated != NULL;
}

/* A ufunc of a large array and one that is a row, a column or an element beside it: NumPy's own loop, without its
 * iterator, which takes as long as a thousand additions from one row to the next. NotImplemented: NumPy's to do. */
static PyObject *
beside_large(Function function, PyObject *const *operands, PyObject *target)
{
    const Kind kind = plain_kind(operands[0], NPY_MAX_INTP);
    if (kind == NOT_PLAIN || plain_kind(operands[1], NPY_MAX_INTP) != kind) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    const int small = PyArray_SIZE(ARRAY(operands[0])) > PyArray_SIZE(ARRAY(operands[1]));
    PyArrayObject *large = ARRAY(operands[!small]), *other = ARRAY(operands[small]);
    Runs all = {.stretch = {.count = MOST_OPERANDS}, .small = small};
    char *repeated;
    if (PyArray_SIZE(large) <= LARGEST_DIVIDE || !find_loop(function, kind, &all.stretch)
        || (target != NULL
            && (plain_kind(target, NPY_MAX_INTP) != kind || !PyArray_IS_C_CONTIGUOUS(ARRAY(target))
                || !PyArray_SAMESHAPE(ARRAY(target), large) || !PyArray_ISWRITEABLE(ARRAY(target))
                || !are_apart(ARRAY(target), other)
                || (PyArray_DATA(ARRAY(target)) != PyArray_DATA(large) && !are_apart(ARRAY(target), large))))
        || !lay_out(&all, large, other, &repeated)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject *result = target == NULL ? new_like(large, kind) : Py_NewRef(target);
    if (result != NULL) {
        const npy_intp item = PyArray_ITEMSIZE(large);
        all.stretch.operands[!small] = PyArray_DATA(large);
        all.stretch.operands[2] = PyArray_DATA(ARRAY(result));
        all.stretch.strides[!small] = all.stretch.strides[2] = item;
        Py_BEGIN_ALLOW_THREADS;
        in_threads(thread_pool, do_runs, &all, (all.size + all.length - 1) / all.length, THREAD_GRAIN / all.length + 1);
        Py_END_ALLOW_THREADS;
    }
    PyMem_Free(repeated);
    return result;
}

static PyObject *
forward(Function function, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords)
{
    const int operands = function < UFUNC_NEGATIVE ? 2 : 1;
    if (keywords == NULL && function < UFUNC_MATMUL && (count == operands || count == operands + 1)
        && thread_pool->count() > 1) {
        PyObject *result
            = spread_over_threads(function, arguments, operands, count > operands ? arguments[operands] : NULL);
        if (result != Py_NotImplemented) {
            return result;
        }
        Py_DECREF(result);
    }
    if (keywords == NULL && operands == 2 && (count == 2 || count == 3)) {
        PyObject *result = beside_large(function, arguments, count == 3 ? arguments[2] : NULL);
        if (result != Py_NotImplemented) {
            return result;
        }
        Py_DECREF(result);
    }
    return as_array(call_quietly(functions[function], arguments, count, keywords));
}

/* ---- binary operations ------------------------------------------------------------------------------------ */

static PyObject *
broadcast_binary(PyArrayObject *large, PyArrayObject *small, int swapped, Kind kind, BinaryLoop loop)
{
    Spread spread;
    if (!find_spread(large, small, &spread)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    /* A single number fits any layout; otherwise both must be stored row by row. */
    const int is_number = spread.middle == 1;
    if (!is_number && !(PyArray_IS_C_CONTIGUOUS(large) && PyArray_IS_C_CONTIGUOUS(small))) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject *result = new_like(large, kind);
    if (result == NULL) {
        return NULL;
    }
    if (is_number) {
        spread = (Spread){1, 1, PyArray_SIZE(large)};
    }
    const npy_intp item = PyArray_ITEMSIZE(ARRAY(result));
    const char *x = PyArray_DATA(large), *y = PyArray_DATA(small);
    char *out = PyArray_DATA(ARRAY(result));
    const int by_rows = spread.inner == 1 && !is_number;
    const npy_intp run = by_rows ? spread.middle : spread.inner;
    const npy_intp runs = by_rows ? spread.outer : spread.outer * spread.middle;
    for (npy_intp i = 0; i < runs; i++) {
        const char *part = by_rows ? y : y + (i % spread.middle) * item;
        if (swapped) {
            loop(part, by_rows, x, 1, out, run);
        }
        else {
            loop(x, 1, part, by_rows, out, run);
        }
        x += run * item;
        out += run * item;
    }
    return result;
}

/* The fast path of the binary operations. A new reference, NULL with an error, or NotImplemented to decline. */
static PyObject *
fast_binary(PyObject *left, PyObject *right, const BinaryOperation *operation)
{
    const Kind left_kind = plain_kind(left, operation->largest_size);
    const Kind right_kind = plain_kind(right, operation->largest_size);
    const BinaryLoop *loops = operation->loops;
    Number number;
    PyObject *result;
    if (left_kind != NOT_PLAIN && left_kind == right_kind) {
        PyArrayObject *x = ARRAY(left), *y = ARRAY(right);
        if (PyArray_SAMESHAPE(x, y)) {
            if (!same_layout(x, y)) {
                Py_RETURN_NOTIMPLEMENTED;
            }
            result = new_like(x, left_kind);
            if (result != NULL) {
                loops[left_kind](PyArray_DATA(x), 1, PyArray_DATA(y), 1, PyArray_DATA(ARRAY(result)), PyArray_SIZE(x));
            }
            return result;
        }
        if (PyArray_SIZE(x) >= PyArray_SIZE(y) && PyArray_NDIM(x) >= PyArray_NDIM(y)) {
            return broadcast_binary(x, y, 0, left_kind, loops[left_kind]);
        }
        return broadcast_binary(y, x, 1, left_kind, loops[left_kind]);
    }
    if (left_kind != NOT_PLAIN && weak_number(right, left_kind, &number)) {
        result = new_like(ARRAY(left), left_kind);
        if (result != NULL) {
            loops[left_kind](PyArray_DATA(ARRAY(left)), 1, &number, 0, PyArray_DATA(ARRAY(result)),
                             PyArray_SIZE(ARRAY(left)));
        }
        return result;
    }
    if (right_kind != NOT_PLAIN && weak_number(left, right_kind, &number)) {
        result = new_like(ARRAY(right), right_kind);
        if (result != NULL) {
            loops[right_kind](&number, 0, PyArray_DATA(ARRAY(right)), 1, PyArray_DATA(ARRAY(result)),
                              PyArray_SIZE(ARRAY(right)));
        }
        return result;
    }
    Py_RETURN_NOTIMPLEMENTED;
}

/* Whether the memory of two arrays is apart. */
static int
are_apart(PyArrayObject *one, PyArrayObject *other)
{
    const char *a = PyArray_BYTES(one), *b = PyArray_BYTES(other);
    return a + PyArray_NBYTES(one) <= b || b + PyArray_NBYTES(other) <= a;
}

/* Whether an operand can be read element by element while `out`, of that kind, is written: 1 where it lies as `out`
 * does, and is it or apart from it; 0 for a single number, which `number` gets; -1 otherwise. */
static int
stride_beside(PyArrayObject *out, PyObject *operand, Kind kind, Number *number)
{
    if (weak_number(operand, kind, number)) {
        return 0;
    }
    if (plain_kind(operand, PyArray_SIZE(out)) != kind) {
        return -1;
    }
    PyArrayObject *array = ARRAY(operand);
    if (PyArray_SAMESHAPE(array, out)) {
        const int fits = same_layout(array, out) && (PyArray_DATA(array) == PyArray_DATA(out) || are_apart(array, out));
        return fits ? 1 : -1;
    }
    if (PyArray_NDIM(array) != 0) {
        return -1;
    }
    memcpy(number, PyArray_DATA(array), (size_t)PyArray_NBYTES(array));
    return 0;
}

/* The fast path where an array to write to is given: whether that was done. */
static int
fast_binary_into(PyObject *left, PyObject *right, PyObject *out, const BinaryOperation *operation)
{
    const Kind kind = plain_kind(out, operation->largest_size);
    Number first, second;
    if (kind == NOT_PLAIN || !PyArray_ISWRITEABLE(ARRAY(out))) {
        return 0;
    }
    const int left_stride = stride_beside(ARRAY(out), left, kind, &first);
    const int right_stride = stride_beside(ARRAY(out), right, kind, &second);
    if (left_stride < 0 || right_stride < 0 || (left_stride == 0 && right_stride == 0)) {
        return 0;
    }
    operation->loops[kind](left_stride ? PyArray_DATA(ARRAY(left)) : &first, left_stride,
                           right_stride ? PyArray_DATA(ARRAY(right)) : &second, right_stride,
                           PyArray_DATA(ARRAY(out)), PyArray_SIZE(ARRAY(out)));
    return 1;
}

static PyObject *
binary(Function function, const BinaryOperation *operation, PyObject *const *arguments, Py_ssize_t count,
       PyObject *keywords)
{
    if (count == 2 && keywords == NULL) {
        PyObject *result = fast_binary(arguments[0], arguments[1], operation);
        if (result != Py_NotImplemented) {
            return result;
        }
        Py_DECREF(result);
    }
    if (count == 3 && keywords == NULL && function <= UFUNC_DIVIDE /* of others NumPy wants it by name */
        && fast_binary_into(arguments[0], arguments[1], arguments[2], operation)) {
        return Py_NewRef(arguments[2]);
    }
    return forward(function, arguments, count, keywords);
}

static PyObject *
unary(Function function, const UnaryOperation *operation, PyObject *const *arguments, Py_ssize_t count,
      PyObject *keywords)
{
    if (count == 1 && keywords == NULL) {
        const Kind kind = plain_kind(arguments[0], operation->largest_size);
        if (kind != NOT_PLAIN) {
            PyArrayObject *operand = ARRAY(arguments[0]);
            PyObject *result = new_like(operand, kind);
            if (result != NULL) {
                operation->loops[kind](PyArray_DATA(operand), PyArray_DATA(ARRAY(result)), PyArray_SIZE(operand));
            }
            return result;
        }
    }
    return forward(function, arguments, count, keywords);
}

#define METHOD(name, body)                                                                                 \
    static PyObject *tiny_##name(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count, \
                                 PyObject *keywords)                                                       \
    {                                                                                                      \
        return body;                                                                                       \
    }
#define BINARY_METHOD(name, function) METHOD(name, binary(function, &name##_operation, arguments, count, keywords))
#define UNARY_METHOD(name, function) METHOD(name, unary(function, &name##_operation, arguments, count, keywords))
#define FORWARD_METHOD(name, function) METHOD(name, forward(function, arguments, count, keywords))

BINARY_METHOD(add, UFUNC_ADD)
BINARY_METHOD(subtract, UFUNC_SUBTRACT)
BINARY_METHOD(multiply, UFUNC_MULTIPLY)
BINARY_METHOD(divide, UFUNC_DIVIDE)
BINARY_METHOD(maximum, UFUNC_MAXIMUM)
BINARY_METHOD(minimum, UFUNC_MINIMUM)
UNARY_METHOD(negative, UFUNC_NEGATIVE)
UNARY_METHOD(square, UFUNC_SQUARE)
UNARY_METHOD(sqrt, UFUNC_SQRT)
FORWARD_METHOD(exp, UFUNC_EXP)
FORWARD_METHOD(log, UFUNC_LOG)
FORWARD_METHOD(tanh, UFUNC_TANH)
FORWARD_METHOD(sin, UFUNC_SIN)
FORWARD_METHOD(cos, UFUNC_COS)

/* ---- the other functions ---------------------------------------------------------------------------------- */

int
wrong_count(const char *name, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most)
{
    if (count >= least && count <= most) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%s() takes %zd positional arguments but %zd were given", name,
                 count < least ? least : most, count);
    return 1;
}

/* Writing in order is safe where the operand is the target itself or lies wholly apart from it. */
static int
safe_to_write(PyArrayObject *target, PyArrayObject *operand)
{
    const char *x = PyArray_DATA(target), *y = PyArray_DATA(operand);
    const npy_intp bytes = PyArray_NBYTES(target);
    return PyArray_ISWRITEABLE(target) && (x == y || x + bytes <= y || y + bytes <= x);
}

#define ADD_INTO(type)                                                        \
    do {                                                                      \
        type *target_data = PyArray_DATA(ARRAY(target));                      \
        const type *other_data = PyArray_DATA(ARRAY(other));                  \
        const npy_intp size = PyArray_SIZE(ARRAY(target));                    \
        for (npy_intp i = 0; i < size; i++) {                                 \
            target_data[i] += other_data[i];                                  \
        }                                                                     \
    } while (0)

/* target += other where both are small, plain and alike; 0 if they are not, and nothing was done. */
static int
added_in_place(PyObject *target, PyObject *other)
{
    const Kind kind = plain_kind(target, LARGEST_SIZE);
    if (kind == NOT_PLAIN || kind != plain_kind(other, LARGEST_SIZE) || !PyArray_SAMESHAPE(ARRAY(target), ARRAY(other))
        || !same_layout(ARRAY(target), ARRAY(other)) || !safe_to_write(ARRAY(target), ARRAY(other))) {
        return 0;
    }
    if (kind == FLOAT32) {
        ADD_INTO(npy_float32);
    }
    else {
        ADD_INTO(npy_float64);
    }
    return 1;
}

static PyObject *
tiny_iadd(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (wrong_count("iadd", count, 2, 2)) {
        return NULL;
    }
    if (added_in_place(arguments[0], arguments[1])) {
        Py_RETURN_NONE;
    }
    PyObject *const operands[3] = {arguments[0], arguments[1], arguments[0]};
    PyObject *result = forward(UFUNC_ADD, operands, 3, NULL);
    if (result == NULL) {
        return NULL;
    }
    Py_DECREF(result);
    Py_RETURN_NONE;
}

/* add_matching(target, other): target += other if shapes, dtypes and layouts agree; whether it was done. */
static PyObject *
tiny_add_matching(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (wrong_count("add_matching", count, 2, 2)) {
        return NULL;
    }
    return PyBool_FromLong(added_in_place(arguments[0], arguments[1]));
}

/* The pairwise sum with its upper halves in several threads: the tree of additions is the same, and so are the bits. */
#define SUM_LEAVES 16

#define SUM_IN_THREADS(type)                                                                                \
    typedef struct {                                                                                        \
        const type *starts[SUM_LEAVES];                                                                     \
        npy_intp counts[SUM_LEAVES];                                                                        \
        type sums[SUM_LEAVES];                                                                              \
    } Leaves_##type;                                                                                        \
    static void do_leaves_##type(void *context, npy_intp start, npy_intp stop)                              \
    {                                                                                                       \
        Leaves_##type *leaves = context;                                                                    \
        for (npy_intp leaf = start; leaf < stop; leaf++) {                                                  \
            leaves->sums[leaf] = pairwise_sum_##type(leaves->starts[leaf], leaves->counts[leaf]);           \
        }                                                                                                   \
    }                                                                                                       \
    static type sum_in_threads_##type(const type *x, npy_intp count)                                        \
    {                                                                                                       \
        if (count < SUM_LEAVES * THREAD_GRAIN / 4 || thread_pool->count() < 2) {                            \
            return pairwise_sum_##type(x, count);                                                           \
        }                                                                                                   \
        Leaves_##type leaves = {.starts = {x}, .counts = {count}};                                          \
        for (int filled = 1; filled < SUM_LEAVES; filled *= 2) {                                            \
            for (int leaf = filled - 1; leaf >= 0; leaf--) { /* each becomes two, as in `pairwise_sum` */   \
                const npy_intp whole = leaves.counts[leaf], half = whole / 2 - whole / 2 % 8;               \
                const type *start = leaves.starts[leaf];                                                    \
                leaves.starts[2 * leaf] = start;                                                            \
                leaves.counts[2 * leaf] = half;                                                             \
                leaves.starts[2 * leaf + 1] = start + half;                                                 \
                leaves.counts[2 * leaf + 1] = whole - half;                                                 \
            }                                                                                               \
        }                                                                                                   \
        thread_pool->run(do_leaves_##type, &leaves, SUM_LEAVES, 1);                                         \
        for (int left = SUM_LEAVES / 2; left > 0; left /= 2) {                                              \
            for (int leaf = 0; leaf < left; leaf++) {                                                       \
                leaves.sums[leaf] = leaves.sums[2 * leaf] + leaves.sums[2 * leaf + 1];                      \
            }                                                                                               \
        }                                                                                                   \
        return leaves.sums[0];                                                                              \
    }

#define pairwise_sum_npy_float32 pairwise_sum_float32
#define pairwise_sum_npy_float64 pairwise_sum_float64
SUM_IN_THREADS(npy_float32)
SUM_IN_THREADS(npy_float64)

static PyObject *
tiny_sum_all(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (wrong_count("sum_all", count, 1, 1)) {
        return NULL;
    }
    const Kind kind = plain_kind(arguments[0], NPY_MAX_INTP);
    if (kind == NOT_PLAIN) {
        PyObject *const operands[2] = {arguments[0], Py_None};
        return as_array(call_quietly(add_reduce, operands, 1, axis_keyword));
    }
    PyArrayObject *operand = ARRAY(arguments[0]);
    PyObject *result = new_array(0, NULL, kind, 0);
    if (result == NULL) {
        return NULL;
    }
    const void *data = PyArray_DATA(operand);
    void *total = PyArray_DATA(ARRAY(result));
    const npy_intp size = PyArray_SIZE(operand);
    PyThreadState *released = size >= LONG_SUM ? PyEval_SaveThread() : NULL;
    /* NumPy starts from 0.0, so a sum of negative zeros is positive. */
    if (kind == FLOAT32) {
        *(npy_float32 *)total = 0.0f + sum_in_threads_npy_float32(data, size);
    }
    else {
        *(npy_float64 *)total = 0.0 + sum_in_threads_npy_float64(data, size);
    }
    if (released != NULL) {
        PyEval_RestoreThread(released);
    }
    return result;
}

/* sum_to(part, shape): the sum over the dimensions that broadcasting `shape` to the part's shape adds, or None
 * where it is not a small array summed over leading or over trailing dimensions. */
static PyObject *
tiny_sum_to(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (wrong_count("sum_to", count, 2, 2)) {
        return NULL;
    }
    const Kind kind = plain_kind(arguments[0], LARGEST_SIZE);
    if (kind == NOT_PLAIN || !PyArray_IS_C_CONTIGUOUS(ARRAY(arguments[0])) || !PyTuple_CheckExact(arguments[1])) {
        Py_RETURN_NONE;
    }
    PyArrayObject *part = ARRAY(arguments[0]);
    const int ndim = PyArray_NDIM(part);
    const int lead = ndim - (int)PyTuple_GET_SIZE(arguments[1]);
    if (lead < 0) {
        Py_RETURN_NONE;
    }
    npy_intp shape[LARGEST_NDIM + 1];
    npy_intp sizes[2] = {1, 1}; /* of the first run of dimensions that are treated alike, and of the second */
    int run = -1, first_is_summed = 0, current = 0;
    for (int i = 0; i < ndim; i++) {
        const npy_intp size = PyArray_DIM(part, i);
        int summed = 1;
        if (i >= lead) {
            PyObject *item = PyTuple_GET_ITEM(arguments[1], i - lead);
            const npy_intp wanted = PyLong_CheckExact(item) ? PyLong_AsSsize_t(item) : -1;
            if (wanted != size && wanted != 1) {
                PyErr_Clear();
                Py_RETURN_NONE;
            }
            shape[i - lead] = wanted;
            summed = wanted != size;
        }
        if (size == 1) {
            continue;
        }
        if (run < 0) {
            first_is_summed = summed;
        }
        if (run < 0 || summed != current) {
            if (++run > 1) {
                Py_RETURN_NONE;
            }
            current = summed;
        }
        sizes[run] *= size;
    }
    PyObject *result = new_array(ndim - lead, shape, kind, 0);
    if (result == NULL) {
        return NULL;
    }
    const int everything = first_is_summed && run < 1;
    const int by_rows = first_is_summed && !everything;
    const npy_intp rows = everything ? 1 : sizes[0], columns = everything ? sizes[0] : sizes[1];
    const void *data = PyArray_DATA(part);
    void *total = PyArray_DATA(ARRAY(result));
    if (kind == FLOAT32) {
        (by_rows ? sum_rows_float32 : sum_columns_float32)(data, rows, columns, total);
    }
    else {
        (by_rows ? sum_rows_float64 : sum_columns_float64)(data, rows, columns, total);
    }
    return result;
}

/* Reads a tuple of Python ints whose product is small; 0 if it is anything else. */
static int
small_shape(PyObject *object, npy_intp *shape)
{
    if (!PyTuple_CheckExact(object) || PyTuple_GET_SIZE(object) > LARGEST_NDIM) {
        return 0;
    }
    npy_intp size = 1;
    for (Py_ssize_t axis = 0; axis < PyTuple_GET_SIZE(object); axis++) {
        PyObject *length = PyTuple_GET_ITEM(object, axis);
        int overflow;
        if (!PyLong_CheckExact(length)) {
            return 0;
        }
        const long value = PyLong_AsLongAndOverflow(length, &overflow);
        if (overflow || value < 0 || value > LARGEST_SIZE) {
            return 0;
        }
        shape[axis] = value;
        size *= value; /* at most LARGEST_SIZE squared */
        if (size > LARGEST_SIZE) {
            return 0;
        }
    }
    return 1;
}

Kind
requested_kind(PyObject *dtype)
{
    if (PyArray_DescrCheck(dtype)) {
        return descriptor_kind((PyArray_Descr *)dtype);
    }
    return dtype == (PyObject *)&PyFloatArrType_Type    ? FLOAT32
           : dtype == (PyObject *)&PyDoubleArrType_Type ? FLOAT64
                                                        : NOT_PLAIN;
}

#define FILL(type, value)                                    \
    do {                                                     \
        type *data = PyArray_DATA(ARRAY(result));            \
        const type fill_value = (value);                     \
        const npy_intp size = PyArray_SIZE(ARRAY(result));   \
        for (npy_intp i = 0; i < size; i++) {                \
            data[i] = fill_value;                            \
        }                                                    \
    } while (0)

static PyObject *
tiny_filled(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (wrong_count("filled", count, 2, 3)) {
        return NULL;
    }
    PyObject *value = arguments[1];
    npy_intp shape[LARGEST_NDIM];
    Number number;
    const Kind value_kind = PyArray_CheckExact(value) && PyArray_NDIM(ARRAY(value)) == 0 ? plain_kind(value, 1) : NOT_PLAIN;
    const Kind kind = count == 3 && arguments[2] != Py_None ? requested_kind(arguments[2]) : value_kind;
    if (kind == NOT_PLAIN || !small_shape(arguments[0], shape)) {
        return PyObject_Vectorcall(functions[FUNCTION_FULL], arguments, count, NULL);
    }
    if (value_kind == kind) {
        if (kind == FLOAT32) {
            number.float32 = *(npy_float32 *)PyArray_DATA(ARRAY(value));
        }
        else {
            number.float64 = *(npy_float64 *)PyArray_DATA(ARRAY(value));
        }
    }
    else if (!weak_number(value, kind, &number)) {
        return PyObject_Vectorcall(functions[FUNCTION_FULL], arguments, count, NULL);
    }
    PyObject *result = new_array((int)PyTuple_GET_SIZE(arguments[0]), shape, kind, 0);
    if (result == NULL) {
        return NULL;
    }
    if (kind == FLOAT32) {
        FILL(npy_float32, number.float32);
    }
    else {
        FILL(npy_float64, number.float64);
    }
    return result;
}

#define EXTREMES(type, format)                                              \
    do {                                                                    \
        const type *x = PyArray_DATA(ARRAY(array));                         \
        type low = x[0], high = x[0];                                       \
        int odd = x[0] != x[0];                                             \
        for (npy_intp i = 1; i < size; i++) {                               \
            odd |= x[i] != x[i];                                            \
            low = x[i] < low ? x[i] : low;                                  \
            high = x[i] > high ? x[i] : high;                               \
        }                                                                   \
        result = odd ? NULL : Py_BuildValue("(" format ")", low, high);     \
    } while (0)

/* extremes(x): the smallest and the largest element as Python numbers; two nans where one is, or nothing to compare. */
static PyObject *
tiny_extremes(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (wrong_count("extremes", count, 1, 1)) {
        return NULL;
    }
    PyObject *result = NULL;
    const npy_intp size = PyArray_CheckExact(arguments[0]) ? PyArray_SIZE(ARRAY(arguments[0])) : 0;
    if (size > 0 && PyArray_ISNOTSWAPPED(ARRAY(arguments[0]))) {
        PyObject *array = (PyObject *)PyArray_GETCONTIGUOUS(ARRAY(arguments[0]));
        if (array == NULL) {
            return NULL;
        }
        switch (PyArray_TYPE(ARRAY(array))) {
            case NPY_FLOAT32: EXTREMES(npy_float32, "ff"); break;
            case NPY_FLOAT64: EXTREMES(npy_float64, "dd"); break;
            case NPY_INT64: EXTREMES(npy_int64, "LL"); break;
        }
        Py_DECREF(array);
    }
    return result == NULL && !PyErr_Occurred() ? Py_BuildValue("(dd)", Py_NAN, Py_NAN) : result;
}

/* Contiguous float matrices of any size. Others are refused: for them np.dot copies and calls the BLAS where
 * np.matmul runs a loop of its own, and the last bits differ. */
static int
is_blas_operand(PyObject *object, int least_ndim, int type_number)
{
    if (!PyArray_CheckExact(object)) {
        return 0;
    }
    PyArrayObject *array = ARRAY(object);
    return PyArray_TYPE(array) == type_number && PyArray_NDIM(array) >= least_ndim && PyArray_NDIM(array) <= 2
           && PyArray_ISBEHAVED_RO(array)
           && (PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array))
           && PyDataType_METADATA(PyArray_DESCR(array)) == NULL;
}

static PyObject *
tiny_matmul2d(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (wrong_count("matmul2d", count, 2, 2)) {
        return NULL;
    }
    PyObject *left = arguments[0], *right = arguments[1];
    if (PyArray_CheckExact(left)) {
        const int type_number = PyArray_TYPE(ARRAY(left));
        if ((type_number == NPY_FLOAT32 || type_number == NPY_FLOAT64) && is_blas_operand(left, 2, type_number)
            && is_blas_operand(right, 1, type_number)
            && PyArray_DIM(ARRAY(left), 1) == PyArray_DIM(ARRAY(right), 0)
            && PyArray_DIM(ARRAY(left), 1) > 1 /* for products of one term the sign of a zero differs */) {
            return PyArray_MatrixProduct2(left, right, NULL);
        }
    }
    return forward(UFUNC_MATMUL, arguments, count, NULL);
}

/* ---- module ----------------------------------------------------------------------------------------------- */

#define UFUNC_ENTRY(name) \
    {#name, (PyCFunction)(void (*)(void))tiny_##name, METH_FASTCALL | METH_KEYWORDS, "np." #name ", always as an array."}
#define PLAIN_ENTRY(name, text) {#name, (PyCFunction)(void (*)(void))tiny_##name, METH_FASTCALL, text}

#define DRAW_ENTRY(name, text) PLAIN_ENTRY(name, text),

static PyMethodDef methods[] = {
    UFUNC_ENTRY(add),
    UFUNC_ENTRY(subtract),
    UFUNC_ENTRY(multiply),
    UFUNC_ENTRY(divide),
    UFUNC_ENTRY(maximum),
    UFUNC_ENTRY(minimum),
    UFUNC_ENTRY(negative),
    UFUNC_ENTRY(square),
    UFUNC_ENTRY(sqrt),
    UFUNC_ENTRY(exp),
    UFUNC_ENTRY(log),
    UFUNC_ENTRY(tanh),
    UFUNC_ENTRY(sin),
    UFUNC_ENTRY(cos),
    PLAIN_ENTRY(iadd, "iadd(target, other): add `other` to `target` in place."),
    PLAIN_ENTRY(add_matching, "add_matching(target, other): target += other if they are alike; whether it was done."),
    PLAIN_ENTRY(sum_all, "sum_all(x): the sum of all elements, as a 0-d array."),
    PLAIN_ENTRY(sum_to, "sum_to(x, shape): the sum over what broadcasting adds to shape, or None."),
    PLAIN_ENTRY(extremes, "extremes(x): the smallest and the largest element, as numbers."),
    PLAIN_ENTRY(filled, "filled(shape, value, dtype=None): a new array that holds `value` everywhere."),
    PLAIN_ENTRY(from_numbers, "from_numbers(data, dtype, default): an array of nested lists of numbers, or None."),
    PLAIN_ENTRY(set_threads, "set_threads(count): how many threads work on large arrays, the caller's included."),
    PLAIN_ENTRY(matmul2d, "matmul2d(a, b): np.matmul, called by a shorter way for matrices."),
    DRAWS(DRAW_ENTRY)
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_tiny",
    .m_doc = "Elementwise arithmetic on small arrays; see retrograd.backend.kernels.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__tiny(void)
{
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) {
        return NULL;
    }
    start_draws();
    descriptors[FLOAT32] = PyArray_DescrFromType(NPY_FLOAT32);
    descriptors[FLOAT64] = PyArray_DescrFromType(NPY_FLOAT64);
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy == NULL) {
        return NULL;
    }
    for (int index = 0; index < FUNCTION_COUNT; index++) {
        functions[index] = PyObject_GetAttrString(numpy, function_names[index]);
        if (functions[index] == NULL) {
            Py_DECREF(numpy);
            return NULL;
        }
    }
    Py_DECREF(numpy);
    add_reduce = PyObject_GetAttrString(functions[UFUNC_ADD], "reduce");
    axis_keyword = Py_BuildValue("(s)", "axis");
    if (add_reduce == NULL || axis_keyword == NULL) {
        return NULL;
    }
    find_quiet_mode();
    PyObject *module = with_sources(PyModule_Create(&module_definition));
    if (module != NULL && (add_threads(module) < 0 || add_stream(module) < 0)) {
        Py_CLEAR(module);
    }
    return module;
}
