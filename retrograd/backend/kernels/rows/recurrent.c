/* The steps of LSTM and GRU layers, and single steps.
 *
 * The products over all steps at once (the input's share of the gates, the gradients of the weights) are the caller's; of a
 * single step all are, since laying out the weight would cost more than it gains. Results are None where the arrays are none that are taken: another dtype or shape, no elements.
 */
#include "arrays.h"

#define MOST_HELD 12
#define ALIGNMENT 64

/* One call: its arrays, which are let go together. */
typedef struct {
    RecurrentWork work;
    int number, type, gates, held;
    PyObject *holds[MOST_HELD];
    void *memory; /* of the panels */
} Call;

static PyObject *
hold(Call *call, PyObject *object)
{
    if (object != NULL) {
        call->holds[call->held++] = object;
    }
    return object;
}

/* The result of a call, if there is one, and the end of it. */
static PyObject *
let_go(Call *call, PyObject *result)
{
    while (call->held > 0) {
        Py_DECREF(call->holds[--call->held]);
    }
    PyMem_RawFree(call->memory);
    return result == NULL && !PyErr_Occurred() ? Py_NewRef(Py_None) : result;
}

/* Whether an object is an array of that shape and of the call's type. */
static int
has_shape(const Call *call, PyObject *object, int dimensions, npy_intp first, npy_intp second, npy_intp third)
{
    const npy_intp shape[3] = {first, second, third};
    return type_number(object) == call->number && PyArray_NDIM(ARRAY(object)) == dimensions
           && PyArray_CompareLists(PyArray_DIMS(ARRAY(object)), (npy_intp *)shape, dimensions);
}

/* Its elements row by row, maybe those of a copy; NULL with an error set. */
static void *
elements(Call *call, PyObject *array)
{
    PyObject *rows = hold(call, PyArray_FromArray(ARRAY(array), NULL, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED));
    return rows == NULL ? NULL : PyArray_DATA(ARRAY(rows));
}

static void *
new_elements(Call *call, int dimensions, npy_intp first, npy_intp second, npy_intp third, PyObject **made)
{
    npy_intp shape[3] = {first, second, third};
    *made = hold(call, PyArray_SimpleNew(dimensions, shape, call->type));
    return *made == NULL ? NULL : PyArray_DATA(ARRAY(*made));
}

/* Read the gates, (steps, batch, gates * width) or without steps, which are plain and, where they are written to, writable. */
static int
read_gates(Call *call, PyObject *gates, int dimensions, int written)
{
    call->number = type_number(gates);
    const int last = dimensions - 1;
    if (call->number < 0 || PyArray_NDIM(ARRAY(gates)) != dimensions || !is_plain(gates) || PyArray_SIZE(ARRAY(gates)) == 0
        || PyArray_DIM(ARRAY(gates), last) % call->gates != 0 || (written && !PyArray_ISWRITEABLE(ARRAY(gates)))) {
        return 0;
    }
    call->type = PyArray_TYPE(ARRAY(gates));
    call->work.steps = dimensions == 2 ? 1 : PyArray_DIM(ARRAY(gates), 0);
    call->work.batch = PyArray_DIM(ARRAY(gates), last - 1);
    call->work.width = PyArray_DIM(ARRAY(gates), last) / call->gates;
    call->work.gates = PyArray_DATA(ARRAY(gates));
    return 1;
}

/* Whether there are two biases that fit, or none. */
static int
fit_biases(const Call *call, PyObject *bias, PyObject *other)
{
    const npy_intp all = call->gates * call->work.width;
    return (bias == Py_None && other == Py_None)
           || (has_shape(call, bias, 1, all, 0, 0) && has_shape(call, other, 1, all, 0, 0));
}

static int
fits_weight(const Call *call, PyObject *weight, PyObject *bias, PyObject *other)
{
    const npy_intp width = call->work.width;
    return has_shape(call, weight, 2, call->gates * width, width, 0) && fit_biases(call, bias, other);
}

/* Lay the weight out as the loops read it; 0 with an error set. */
static int
pack_weight(Call *call, PyObject *weight, PyObject *bias, PyObject *other, int turned)
{
    const void *from = elements(call, weight), *first = NULL, *second = NULL;
    if (bias != Py_None) {
        first = elements(call, bias);
        second = elements(call, other);
    }
    if (PyErr_Occurred()) {
        return 0;
    }
    const PackLoop pack = row_loops->pack[call->number];
    call->memory = PyMem_RawMalloc(pack(NULL, NULL, NULL, call->gates, turned, call->work.width, NULL) + ALIGNMENT);
    if (call->memory == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    call->work.panels = (void *)(((uintptr_t)call->memory + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
    pack(from, first, second, call->gates, turned, call->work.width, call->work.panels);
    return 1;
}

typedef struct {
    const RecurrentWork *work;
    RecurrentLoop loop;
} Share;

static void
do_share(void *context, npy_intp start, npy_intp stop)
{
    const Share *share = context;
    share->loop(share->work, start, stop);
}

/* All steps, for some sequences in each thread. A tile has four rows at most: fewer are slower. */
static void
run(Call *call, const RecurrentLoop *loop)
{
    const RecurrentWork *work = &call->work;
    Share share = {work, loop[call->number]};
    const npy_intp each = work->steps * work->width * (work->panels == NULL ? call->gates : work->width);
    const npy_intp grain = THREAD_GRAIN / each < 4 ? 4 : THREAD_GRAIN / each;
    WITHOUT_LOCK(each * work->batch, in_threads(row_pool, do_share, &share, work->batch, grain));
}

/* The states of all steps, the initial one first. */
static void *
new_states(Call *call, PyObject *initial, PyObject **made)
{
    const RecurrentWork *work = &call->work;
    void *found = new_elements(call, 3, work->steps + 1, work->batch, work->width, made);
    const void *first = found == NULL ? NULL : elements(call, initial);
    if (first == NULL) {
        return NULL;
    }
    memcpy(found, first, (size_t)(work->batch * work->width) * (call->number ? sizeof(double) : sizeof(float)));
    return found;
}

/* The states after each step, of an array that has the initial ones first. */
static void *
after_first(const Call *call, const void *states)
{
    return (char *)states + call->work.batch * call->work.width * (call->number ? sizeof(double) : sizeof(float));
}

/* lstm(gates, hidden, cell, weight, bias, other): the hidden and the cell states, (steps + 1, batch, width).
 *
 * `gates` is the input's share and becomes the gates. */
static PyObject *
rows_lstm(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 4};
    RecurrentWork *work = &call.work;
    PyObject *hidden, *cell;
    if (!has_count(count, 6, "lstm")) {
        return NULL;
    }
    if (!read_gates(&call, arguments[0], 3, 1) || !has_shape(&call, arguments[1], 2, work->batch, work->width, 0)
        || !has_shape(&call, arguments[2], 2, work->batch, work->width, 0)
        || !fits_weight(&call, arguments[3], arguments[4], arguments[5])) {
        Py_RETURN_NONE;
    }
    work->hidden = new_states(&call, arguments[1], &hidden);
    work->cell = work->hidden == NULL ? NULL : new_states(&call, arguments[2], &cell);
    if (work->cell == NULL || !pack_weight(&call, arguments[3], arguments[4], arguments[5], 0)) {
        return let_go(&call, NULL);
    }
    work->next_hidden = after_first(&call, work->hidden);
    work->next_cell = after_first(&call, work->cell);
    run(&call, row_loops->lstm);
    return let_go(&call, PyTuple_Pack(2, hidden, cell));
}

/* gru(gates, hidden, weight, bias, other): the hidden states, and the hidden state's share of the candidates. */
static PyObject *
rows_gru(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 3};
    RecurrentWork *work = &call.work;
    PyObject *hidden, *own;
    if (!has_count(count, 5, "gru")) {
        return NULL;
    }
    if (!read_gates(&call, arguments[0], 3, 1) || !has_shape(&call, arguments[1], 2, work->batch, work->width, 0)
        || !fits_weight(&call, arguments[2], arguments[3], arguments[4])) {
        Py_RETURN_NONE;
    }
    work->hidden = new_states(&call, arguments[1], &hidden);
    work->own = work->hidden == NULL ? NULL : new_elements(&call, 3, work->steps, work->batch, work->width, &own);
    if (work->own == NULL || !pack_weight(&call, arguments[2], arguments[3], arguments[4], 0)) {
        return let_go(&call, NULL);
    }
    work->next_hidden = after_first(&call, work->hidden);
    run(&call, row_loops->gru);
    return let_go(&call, PyTuple_Pack(2, hidden, own));
}

/* The gradient of the hidden states of all steps: in any layout whose last dimension is dense, else a copy. */
static int
read_of_hidden(Call *call, PyObject *array)
{
    RecurrentWork *work = &call->work;
    const npy_intp *strides = PyArray_STRIDES(ARRAY(array)), size = PyArray_ITEMSIZE(ARRAY(array));
    if (PyArray_ISALIGNED(ARRAY(array)) && (strides[2] == size || work->width == 1) && strides[0] % size == 0
        && strides[1] % size == 0) {
        work->of_hidden = PyArray_DATA(ARRAY(array));
        work->of_step = strides[0] / size;
        work->of_row = strides[1] / size;
        return 1;
    }
    work->of_hidden = elements(call, array);
    work->of_row = work->width;
    work->of_step = work->batch * work->width;
    return work->of_hidden != NULL;
}

/* lstm_gradients(gates, cell, weight, of_hidden, of_cell): of the input's share, of the first hidden and of the first cell
 * state. */
static PyObject *
rows_lstm_gradients(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 4};
    RecurrentWork *work = &call.work;
    PyObject *of_gates, *of_first, *of_cell;
    if (!has_count(count, 5, "lstm_gradients")) {
        return NULL;
    }
    if (!read_gates(&call, arguments[0], 3, 0) || !fits_weight(&call, arguments[2], Py_None, Py_None)
        || !has_shape(&call, arguments[1], 3, work->steps + 1, work->batch, work->width)
        || !has_shape(&call, arguments[3], 3, work->steps, work->batch, work->width)
        || !has_shape(&call, arguments[4], 2, work->batch, work->width, 0)) {
        Py_RETURN_NONE;
    }
    of_cell = hold(&call, PyArray_NewCopy(ARRAY(arguments[4]), NPY_CORDER));
    work->carried = of_cell == NULL ? NULL : PyArray_DATA(ARRAY(of_cell));
    work->cell = work->carried == NULL ? NULL : elements(&call, arguments[1]);
    if (work->cell == NULL || !read_of_hidden(&call, arguments[3])
        || !pack_weight(&call, arguments[2], Py_None, Py_None, 1)) {
        return let_go(&call, NULL);
    }
    work->next_cell = after_first(&call, work->cell);
    work->of_gates = new_elements(&call, 3, work->steps, work->batch, 4 * work->width, &of_gates);
    work->of_first = new_elements(&call, 2, work->batch, work->width, 0, &of_first);
    if (PyErr_Occurred()) {
        return let_go(&call, NULL);
    }
    run(&call, row_loops->lstm_gradients);
    return let_go(&call, PyTuple_Pack(3, of_gates, of_first, of_cell));
}

/* gru_gradients(gates, own, hidden, weight, of_hidden): of the input's and of the hidden state's share, and of the first
 * hidden state. */
static PyObject *
rows_gru_gradients(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 3};
    RecurrentWork *work = &call.work;
    PyObject *of_gates, *of_own, *of_first, *carried;
    if (!has_count(count, 5, "gru_gradients")) {
        return NULL;
    }
    if (!read_gates(&call, arguments[0], 3, 0) || !fits_weight(&call, arguments[3], Py_None, Py_None)
        || !has_shape(&call, arguments[1], 3, work->steps, work->batch, work->width)
        || !has_shape(&call, arguments[2], 3, work->steps + 1, work->batch, work->width)
        || !has_shape(&call, arguments[4], 3, work->steps, work->batch, work->width)) {
        Py_RETURN_NONE;
    }
    work->own = elements(&call, arguments[1]);
    work->hidden = work->own == NULL ? NULL : elements(&call, arguments[2]);
    if (work->hidden == NULL || !read_of_hidden(&call, arguments[4])
        || !pack_weight(&call, arguments[3], Py_None, Py_None, 1)) {
        return let_go(&call, NULL);
    }
    work->of_gates = new_elements(&call, 3, work->steps, work->batch, 3 * work->width, &of_gates);
    work->of_own = new_elements(&call, 3, work->steps, work->batch, 3 * work->width, &of_own);
    work->of_first = new_elements(&call, 2, work->batch, work->width, 0, &of_first);
    npy_intp shape[2] = {work->batch, work->width};
    carried = hold(&call, PyArray_ZEROS(2, shape, call.type, 0));
    if (PyErr_Occurred()) {
        return let_go(&call, NULL);
    }
    work->carried = PyArray_DATA(ARRAY(carried));
    run(&call, row_loops->gru_gradients);
    return let_go(&call, PyTuple_Pack(3, of_gates, of_own, of_first));
}

/* ---- single steps --------------------------------------------------------------------------------------------- */

/* Both shares and the biases of a step: gates, share, ..., bias, other. 0: not taken, or an error is set. */
static int
read_step(Call *call, PyObject *const *arguments, PyObject *bias, PyObject *other)
{
    RecurrentWork *work = &call->work;
    if (!read_gates(call, arguments[0], 2, 1)
        || !has_shape(call, arguments[1], 2, work->batch, call->gates * work->width, 0)
        || !has_shape(call, arguments[2], 2, work->batch, work->width, 0) || !fit_biases(call, bias, other)) {
        return 0;
    }
    const void *first = bias == Py_None ? NULL : elements(call, bias);
    const void *second = first == NULL ? NULL : elements(call, other);
    work->share = elements(call, arguments[1]);
    call->memory = PyMem_RawMalloc((size_t)(4 * work->width) * sizeof(double));
    if (call->memory == NULL) {
        PyErr_NoMemory();
    }
    if (PyErr_Occurred()) {
        return 0;
    }
    row_loops->add_biases[call->number](first, second, call->gates, work->width, call->memory);
    work->added = call->memory;
    return 1;
}

/* lstm_step(gates, share, cell, bias, other): the hidden and the cell state; `gates` becomes the gates. */
static PyObject *
rows_lstm_step(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 4};
    RecurrentWork *work = &call.work;
    PyObject *hidden, *cell;
    if (!has_count(count, 5, "lstm_step")) {
        return NULL;
    }
    if (!read_step(&call, arguments, arguments[3], arguments[4])) {
        return let_go(&call, NULL);
    }
    work->cell = elements(&call, arguments[2]);
    work->next_hidden = new_elements(&call, 2, work->batch, work->width, 0, &hidden);
    work->next_cell = new_elements(&call, 2, work->batch, work->width, 0, &cell);
    if (PyErr_Occurred()) {
        return let_go(&call, NULL);
    }
    run(&call, row_loops->lstm);
    return let_go(&call, PyTuple_Pack(2, hidden, cell));
}

/* gru_step(gates, share, hidden, bias, other): the hidden state, and its share of the candidate before. */
static PyObject *
rows_gru_step(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 3};
    RecurrentWork *work = &call.work;
    PyObject *hidden, *own;
    if (!has_count(count, 5, "gru_step")) {
        return NULL;
    }
    if (!read_step(&call, arguments, arguments[3], arguments[4])) {
        return let_go(&call, NULL);
    }
    work->hidden = elements(&call, arguments[2]);
    work->next_hidden = new_elements(&call, 2, work->batch, work->width, 0, &hidden);
    work->own = new_elements(&call, 2, work->batch, work->width, 0, &own);
    if (PyErr_Occurred()) {
        return let_go(&call, NULL);
    }
    run(&call, row_loops->gru);
    return let_go(&call, PyTuple_Pack(2, hidden, own));
}

/* A gradient of a state, row by row: None is zeros. NULL: not taken, or an error is set. */
static PyObject *
copied_gradient(Call *call, PyObject *gradient)
{
    npy_intp shape[2] = {call->work.batch, call->work.width};
    if (gradient == Py_None) {
        return hold(call, PyArray_ZEROS(2, shape, call->type, 0));
    }
    return has_shape(call, gradient, 2, shape[0], shape[1], 0) ? hold(call, PyArray_NewCopy(ARRAY(gradient), NPY_CORDER))
                                                               : NULL;
}

/* lstm_step_gradients(gates, cell, next_cell, of_hidden, of_cell): of both shares, which have the same, and of the cell
 * state before. A gradient may be None. */
static PyObject *
rows_lstm_step_gradients(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 4};
    RecurrentWork *work = &call.work;
    PyObject *of_gates;
    if (!has_count(count, 5, "lstm_step_gradients")) {
        return NULL;
    }
    if (!read_gates(&call, arguments[0], 2, 0) || !has_shape(&call, arguments[1], 2, work->batch, work->width, 0)
        || !has_shape(&call, arguments[2], 2, work->batch, work->width, 0)) {
        Py_RETURN_NONE;
    }
    PyObject *of_hidden = copied_gradient(&call, arguments[3]);
    PyObject *of_cell = of_hidden == NULL ? NULL : copied_gradient(&call, arguments[4]);
    work->cell = of_cell == NULL ? NULL : elements(&call, arguments[1]);
    work->next_cell = work->cell == NULL ? NULL : elements(&call, arguments[2]);
    if (work->next_cell == NULL) {
        return let_go(&call, NULL);
    }
    work->carried = PyArray_DATA(ARRAY(of_cell));
    work->of_hidden = PyArray_DATA(ARRAY(of_hidden));
    work->of_row = work->width;
    work->of_gates = new_elements(&call, 2, work->batch, 4 * work->width, 0, &of_gates);
    if (work->of_gates == NULL) {
        return let_go(&call, NULL);
    }
    run(&call, row_loops->lstm_gradients);
    return let_go(&call, PyTuple_Pack(2, of_gates, of_cell));
}

/* gru_step_gradients(gates, own, hidden, of_hidden): of the input's and of the hidden state's share, and of the hidden
 * state before, past its share. */
static PyObject *
rows_gru_step_gradients(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Call call = {.gates = 3};
    RecurrentWork *work = &call.work;
    PyObject *of_gates, *of_own;
    if (!has_count(count, 4, "gru_step_gradients")) {
        return NULL;
    }
    if (!read_gates(&call, arguments[0], 2, 0) || !has_shape(&call, arguments[1], 2, work->batch, work->width, 0)
        || !has_shape(&call, arguments[2], 2, work->batch, work->width, 0)) {
        Py_RETURN_NONE;
    }
    PyObject *of_hidden = copied_gradient(&call, arguments[3]);
    PyObject *carried = of_hidden == NULL ? NULL : copied_gradient(&call, Py_None);
    work->own = carried == NULL ? NULL : elements(&call, arguments[1]);
    work->hidden = work->own == NULL ? NULL : elements(&call, arguments[2]);
    if (work->hidden == NULL) {
        return let_go(&call, NULL);
    }
    work->carried = PyArray_DATA(ARRAY(carried));
    work->of_hidden = PyArray_DATA(ARRAY(of_hidden));
    work->of_row = work->width;
    work->of_gates = new_elements(&call, 2, work->batch, 3 * work->width, 0, &of_gates);
    work->of_own = new_elements(&call, 2, work->batch, 3 * work->width, 0, &of_own);
    if (PyErr_Occurred()) {
        return let_go(&call, NULL);
    }
    run(&call, row_loops->gru_gradients);
    return let_go(&call, PyTuple_Pack(3, of_gates, of_own, carried));
}

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))rows_##name, METH_FASTCALL, text}

PyMethodDef recurrent_methods[] = {
    METHOD(lstm, "lstm(gates, hidden, cell, weight, bias, other): the states; `gates` becomes the gates"),
    METHOD(lstm_gradients, "lstm_gradients(gates, cell, weight, of_hidden, of_cell)"),
    METHOD(gru, "gru(gates, hidden, weight, bias, other): the states; `gates` becomes the gates"),
    METHOD(gru_gradients, "gru_gradients(gates, own, hidden, weight, of_hidden)"),
    METHOD(lstm_step, "lstm_step(gates, share, cell, bias, other): the states; `gates` becomes the gates"),
    METHOD(lstm_step_gradients, "lstm_step_gradients(gates, cell, next_cell, of_hidden, of_cell)"),
    METHOD(gru_step, "gru_step(gates, share, hidden, bias, other): the state; `gates` becomes the gates"),
    METHOD(gru_step_gradients, "gru_step_gradients(gates, own, hidden, of_hidden)"),
    {NULL, NULL, 0, NULL},
};
