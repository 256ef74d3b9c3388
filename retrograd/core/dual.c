/* Forward mode where one dual level is the only rare mode: the tangent of a result, computed beside it.
 *
 * `transforms.forward_elementwise` is the definition. Here are elementwise ops on arrays whose derivatives nobody
 * records: the op's rules, which are those of its nodes, run on the tangents of the operands. For every other call that
 * something moves in, the result is handed to the Python function, which gives it its tangent.
 */
#include "caller.h"
#include "engine.h"

static PyObject *level, *holders;  /* the only level of the process, and its dictionary of tangents; or NULL */
static unsigned long level_thread; /* whose it is */

static PyTypeObject *tangents_type, *origin_type;    /* transforms.forward, with what follows */
static PyObject *tangents_of, *finish; /* `finish` gives a result its tangents, in all cases */
static PyObject *blank_meta, *name_enabled, *name_tangents;

int
is_dual_call(const CallPlan *plan)
{
    return level != NULL && plan->form == FORM_SINGLE && !plan->is_view
           && PyDict_GetItemWithError(objects.HOT, objects.name_UNUSUAL) == objects.one
           && level_thread == PyThread_get_thread_ident();
}

/* ---- tangents of operands ----------------------------------------------------------------------------------- */

/* Whether a tensor is a dual one itself: what it is a view of has no say in its tangents. */
static int
is_origin(PyObject *view, PyObject *held)
{
    PyObject *last = SLOT(view, in_view.last);
    PyObject *options = last != NULL && PyTuple_CheckExact(last) && PyTuple_GET_SIZE(last) > 1 ? PyTuple_GET_ITEM(last, 1) : NULL;
    if (options == NULL || !PyTuple_CheckExact(options) || PyTuple_GET_SIZE(options) != 1
        || Py_TYPE(PyTuple_GET_ITEM(options, 0)) != origin_type) {
        return 0;
    }
    PyObject *own = PyObject_GetAttr(PyTuple_GET_ITEM(options, 0), name_tangents);
    PyErr_Clear();
    Py_XDECREF(own);
    return own == held;
}

/* All tangents of a tensor: `forward.tangents_of`. A new reference; None: it has none; NULL with an error set. */
static PyObject *
held_by(PyObject *tensor)
{
    PyObject *meta = SLOT(tensor, in_tensor.meta), *view = SLOT(tensor, in_tensor.view);
    PyObject *held = Py_TYPE(meta) == objects.TensorMeta ? SLOT(meta, in_meta.tangents) : Py_None;
    if (view != Py_None && !(held != Py_None && is_origin(view, held))) {
        return PyObject_CallOneArg(tangents_of, tensor);
    }
    return Py_NewRef(held);
}

/* The tangents that operands have, new references in `moving`; how many they are, -1 with an error set. */
static int
find_moving(const Call *call, PyObject **moving)
{
    int count = 0;
    for (int index = 0; index < call->plan->tensor_count; index++) {
        PyObject *value = call->values[call->plan->tensor_places[index]];
        if (!is_tensor(value) || (SLOT(value, in_tensor.meta) == Py_None && SLOT(value, in_tensor.view) == Py_None)) {
            continue;
        }
        PyObject *held = held_by(value);
        if (held == NULL) {
            return -1;
        }
        if (Py_TYPE(held) == tangents_type) {
            moving[index] = Py_XNewRef(PyDict_GetItemWithError(held, level));
            count += moving[index] != NULL;
        }
        Py_DECREF(held);
    }
    return PyErr_Occurred() ? -1 : count;
}

/* Whether rules on arrays are enough: no derivative of the tangent is wanted. */
static int
is_plain_tangent(const Call *call, int index, PyObject *tangent)
{
    if (!is_tensor(tangent) || (call->enabled && (call->needs[index] || SLOT(tangent, in_tensor.requires_grad) != Py_False))) {
        return 0;
    }
    PyObject *meta = SLOT(tangent, in_tensor.meta), *array = SLOT(tangent, in_tensor.array);
    return PyArray_CheckExact(array) && PyArray_DESCR(ARRAY(array)) == PyArray_DESCR(ARRAY(call->arrays[index]))
           && (meta == Py_None || !slot_given(meta, in_meta.tangents));
}

/* ---- rules -------------------------------------------------------------------------------------------------- */

/* What the rules read, new references. */
static int
read_values(const Call *call, PyObject *result, PyObject **values)
{
    const CallPlan *plan = call->plan;
    for (int index = 0; index < plan->save_count; index++) {
        const Save *save = &plan->saves[index];
        values[index] = save->kind == SAVES_OUTPUT   ? Py_NewRef(result)
                        : save->kind == SAVES_INPUT  ? Py_NewRef(call->arrays[save->source])
                        : save->kind == SAVES_OPTION ? Py_NewRef(call->values[save->source])
                                                     : fact_of(save->source < 0 ? result : call->arrays[save->source], save->kind);
        if (values[index] == NULL) {
            return -1;
        }
    }
    return 0;
}

/* An array in the shape of another, which it broadcasts to; a new reference. */
static PyObject *
spread(PyObject *array, PyObject *like)
{
    if (has_shape_of(array, like)) {
        return Py_NewRef(array);
    }
    const int ndim = PyArray_NDIM(ARRAY(like)), lead = ndim - PyArray_NDIM(ARRAY(array));
    npy_intp strides[NPY_MAXDIMS];
    for (int axis = 0; axis < ndim; axis++) {
        const int repeated = axis < lead || PyArray_DIM(ARRAY(array), axis - lead) == 1;
        strides[axis] = repeated ? 0 : PyArray_STRIDE(ARRAY(array), axis - lead);
    }
    PyArray_Descr *dtype = PyArray_DESCR(ARRAY(array));
    Py_INCREF(dtype); /* the call below takes this reference */
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, PyArray_DIMS(ARRAY(like)), strides,
                                          PyArray_BYTES(ARRAY(array)), 0, NULL);
    if (view != NULL && PyArray_SetBaseObject(ARRAY(view), Py_NewRef(array)) < 0) {
        Py_CLEAR(view);
    }
    return view;
}

/* An array that nobody else has, made of one that may be another's. Takes the reference, gives one. */
static PyObject *
own(PyObject *array)
{
    if (array == NULL || (Py_REFCNT(array) == 1 && PyArray_BASE(ARRAY(array)) == NULL)) {
        return array;
    }
    PyObject *copy = PyArray_NewCopy(ARRAY(array), NPY_CORDER);
    Py_DECREF(array);
    return copy;
}

/* Adds a part to a sum, NULL before the first. Takes both references, gives one. */
static PyObject *
add_part(PyObject *total, PyObject *part)
{
    if (total == NULL) {
        return as_plain_array(part);
    }
    if (PyArray_CheckExact(part)) {
        total = own(total);
        if (total == NULL || add_alike(total, part)) {
            Py_DECREF(part);
            return total;
        }
    }
    PyObject *sum = as_plain_array(PyNumber_Add(total, part));
    Py_DECREF(total);
    Py_DECREF(part);
    return sum;
}

/* The tangent of a result: the sum over the operands that move. 1 (`total` is NULL where none of them has a rule), 0 where
 * it is Python's, -1 with an error set. */
static int
sum_parts(const Call *call, PyObject *result, PyObject *const *moving, PyObject **values, PyObject **total)
{
    for (int edge = 0; edge < call->plan->edge_count; edge++) {
        PyObject *tangent = moving[call->plan->edges[edge]], *part = NULL;
        if (tangent == NULL) {
            continue;
        }
        PyObject *direction = spread(SLOT(tangent, in_tensor.array), result);
        if (direction == NULL) {
            return -1;
        }
        const int done = run_rule(call->plan->run, edge, direction, values, &part);
        if (done != 1 || part == NULL) { /* no part: there may be none at all, and zeros are Python's */
            Py_DECREF(direction);
            return done < 0 ? -1 : 0;
        }
        *total = add_part(*total, part);
        Py_DECREF(direction);
        if (*total == NULL) {
            return -1;
        }
    }
    *total = own(*total);
    return *total == NULL && PyErr_Occurred() ? -1 : 1;
}

/* ---- the tangent of a result -------------------------------------------------------------------------------- */

/* Gives a new tensor its tangent at the level: `Tangents.put`. */
static int
put(PyObject *tensor, PyObject *array)
{
    PyObject *tangent = new_tensor(array), *holder = PyObject_CallNoArgs((PyObject *)tangents_type);
    PyObject *meta = objects.TensorMeta->tp_alloc(objects.TensorMeta, 0);
    PyObject *key = PyLong_FromVoidPtr(holder), *reference = holder == NULL ? NULL : PyWeakref_NewRef(holder, NULL);
    const int failed = tangent == NULL || meta == NULL || key == NULL || reference == NULL
                       || PyDict_SetItem(holder, level, tangent) < 0 || PyDict_SetItem(holders, key, reference) < 0;
    if (!failed) {
        for (Py_ssize_t place = sizeof(PyObject); place < objects.TensorMeta->tp_basicsize; place += sizeof(PyObject *)) {
            SLOT(meta, place) = Py_XNewRef(SLOT(blank_meta, place));
        }
        slot_set(meta, in_meta.tangents, holder);
        slot_set(tensor, in_tensor.meta, meta);
    }
    Py_XDECREF(tangent);
    Py_XDECREF(holder);
    Py_XDECREF(meta);
    Py_XDECREF(key);
    Py_XDECREF(reference);
    return failed ? -1 : 0;
}

/* The tangent of an elementwise op's result: `forward_elementwise.set_elementwise`. 1, 0 or -1 as above. */
static int
set_elementwise(const Call *call, PyObject *tensor, PyObject *const *moving)
{
    const CallPlan *plan = call->plan;
    PyObject *result = SLOT(tensor, in_tensor.array), *values[MOST_SAVES] = {NULL}, *total = NULL;
    if (!plan->is_elementwise || Py_TYPE(plan->run) != &RunType || SLOT(tensor, in_tensor.grad_fn) != Py_None
        || (PyArray_DESCR(ARRAY(result)) != objects.F32 && PyArray_DESCR(ARRAY(result)) != objects.F64)) {
        return 0;
    }
    for (int index = 0; index < plan->tensor_count; index++) {
        if (moving[index] != NULL && !is_plain_tangent(call, index, moving[index])) {
            return 0;
        }
    }
    PyObject *token = quiet_begin();
    int done = token == NULL || read_values(call, result, values) < 0 ? -1 : sum_parts(call, result, moving, values, &total);
    if (token != NULL && quiet_end(token) < 0) {
        done = -1;
    }
    if (done == 1 && total != NULL) {
        done = PyArray_DESCR(ARRAY(total)) == PyArray_DESCR(ARRAY(result)) && has_shape_of(total, result)
               && PyArray_IS_C_CONTIGUOUS(ARRAY(total)) && PyArray_IS_C_CONTIGUOUS(ARRAY(result));
        if (done && put(tensor, total) < 0) {
            done = -1;
        }
    }
    Py_XDECREF(total);
    for (int index = 0; index < plan->save_count; index++) {
        Py_XDECREF(values[index]);
    }
    return done;
}

/* The Python function gives the result its tangent. */
static int
call_finish(const Call *call, PyObject *tensor)
{
    const CallPlan *plan = call->plan;
    PyObject *arguments = PyTuple_New(plan->parameter_count), *operands = PyList_New(plan->tensor_count), *nothing = NULL;
    if (arguments != NULL && operands != NULL) {
        for (int place = 0; place < plan->parameter_count; place++) {
            PyTuple_SET_ITEM(arguments, place, Py_NewRef(call->values[place]));
        }
        for (int index = 0; index < plan->tensor_count; index++) {
            PyList_SET_ITEM(operands, index, Py_NewRef(call->values[plan->tensor_places[index]]));
        }
        nothing = PyObject_CallFunctionObjArgs(finish, plan->op, arguments, operands, tensor, NULL);
    }
    Py_XDECREF(arguments);
    Py_XDECREF(operands);
    Py_XDECREF(nothing);
    return nothing == NULL ? -1 : 0;
}

/* Whether this thread passes tangents on: 1 or 0; -1 with an error set. */
static int
passes_on(void)
{
    PyObject *enabled = PyObject_GetAttr(objects.STATE, name_enabled);
    Py_XDECREF(enabled);
    return enabled == NULL ? -1 : enabled == Py_True;
}

PyObject *
with_tangent(const Call *call, PyObject *tensor)
{
    PyObject *moving[MOST_TENSORS] = {NULL};
    int done = find_moving(call, moving);
    if (done > 0) {
        done = passes_on();
    }
    if (done > 0) {
        done = set_elementwise(call, tensor, moving);
        if (done == 0) {
            done = call_finish(call, tensor);
        }
    }
    for (int index = 0; index < call->plan->tensor_count; index++) {
        Py_XDECREF(moving[index]);
    }
    if (done < 0) {
        Py_CLEAR(tensor);
    }
    return tensor;
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

static PyObject *
core_use_forward(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *tangents, *origin, *of, *last;
    if (!PyArg_ParseTuple(arguments, "O!O!OO", &PyType_Type, &tangents, &PyType_Type, &origin, &of, &last)) {
        return NULL;
    }
    Py_XSETREF(tangents_type, (PyTypeObject *)Py_NewRef(tangents));
    Py_XSETREF(origin_type, (PyTypeObject *)Py_NewRef(origin));
    Py_XSETREF(tangents_of, Py_NewRef(of));
    Py_XSETREF(finish, Py_NewRef(last));
    Py_XSETREF(blank_meta, PyObject_CallNoArgs((PyObject *)objects.TensorMeta));
    Py_XSETREF(name_enabled, PyUnicode_InternFromString("passes_tangents"));
    Py_XSETREF(name_tangents, PyUnicode_InternFromString("tangents"));
    if (blank_meta == NULL || name_enabled == NULL || name_tangents == NULL) {
        return NULL;
    }
    Py_RETURN_NONE;
}

void
only_level(PyObject *only, PyObject *its_holders)
{
    const int is_one = only != NULL && finish != NULL && PyDict_CheckExact(its_holders);
    level_thread = PyThread_get_thread_ident();
    Py_XSETREF(holders, is_one ? Py_NewRef(its_holders) : NULL);
    Py_XSETREF(level, is_one ? Py_NewRef(only) : NULL);
}

static PyMethodDef methods[] = {
    {"use_forward", core_use_forward, METH_VARARGS, "use_forward(...): takes the objects of forward mode."},
    {NULL, NULL, 0, NULL},
};

const Part dual_part = {.methods = methods};
