/* The common call of a replayed step, and what a stretch of its instructions does to tensors: `replay`, whose
 * `Replay.__call__` and `segments.Segment` are the definitions. */
#include "shortcut.h"

#include <stddef.h>

/* ---- the call of a step ------------------------------------------------------------------------------------- */

static struct {
    Py_ssize_t plans, replayed;
} in_replay;

static struct {
    Py_ssize_t run, busy;
} in_plan;

static PyTypeObject *plan_type;
static PyObject *miss, *no_names;

static PyObject *
run_plan(PyObject *plan, PyObject *args, PyObject *kwargs)
{
    PyObject *given[3] = {NULL, args, kwargs};
    slot_set(plan, in_plan.busy, Py_True);
    PyObject *result = PyObject_Vectorcall(SLOT(plan, in_plan.run), given + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    slot_set(plan, in_plan.busy, Py_False);
    return result;
}

/* The arguments by name as a dictionary: one that stays where there are none. */
static PyObject *
named(PyObject *const *values, PyObject *names)
{
    if (names == NULL || PyTuple_GET_SIZE(names) == 0) {
        return Py_NewRef(no_names);
    }
    PyObject *found = PyDict_New();
    for (Py_ssize_t each = 0; found != NULL && each < PyTuple_GET_SIZE(names); each++) {
        if (PyDict_SetItem(found, PyTuple_GET_ITEM(names, each), values[each]) < 0) {
            Py_CLEAR(found);
        }
    }
    return found;
}

/* Replay.__call__(self, *args, **kwargs), where the first plan serves; others and everything else are Python's. */
static PyObject *
replayed_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (plan_type == NULL || count < 1) {
        return NULL;
    }
    PyObject *plans = SLOT(arguments[0], in_replay.plans);
    PyObject *plan = plans != NULL && PyList_CheckExact(plans) && PyList_GET_SIZE(plans) > 0 ? PyList_GET_ITEM(plans, 0) : NULL;
    if (plan == NULL || Py_TYPE(plan) != plan_type || SLOT(plan, in_plan.busy) != Py_False) {
        return NULL; /* busy: another thread runs it now, or an outer call */
    }
    PyObject *args = PyTuple_New(count - 1), *kwargs = args == NULL ? NULL : named(arguments + count, names);
    if (kwargs == NULL) {
        Py_XDECREF(args);
        return NULL;
    }
    for (Py_ssize_t each = 1; each < count; each++) {
        PyTuple_SET_ITEM(args, each - 1, Py_NewRef(arguments[each]));
    }
    Py_INCREF(plan);
    PyObject *result = run_plan(plan, args, kwargs);
    Py_DECREF(plan);
    Py_DECREF(args);
    Py_DECREF(kwargs);
    if (result == miss) {
        Py_CLEAR(result);
    }
    PyObject *before = SLOT(arguments[0], in_replay.replayed);
    if (result != NULL && before != NULL) {
        PyObject *after = PyNumber_Add(before, objects.one);
        if (after == NULL) {
            Py_CLEAR(result);
        }
        else {
            slot_set(arguments[0], in_replay.replayed, after);
            Py_DECREF(after);
        }
    }
    return result;
}

SHORTCUT_METHOD(replayed, 0)

static PyObject *
core_use_replay(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const Slot replay_slots[] = {{"plans", &in_replay.plans}, {"replayed", &in_replay.replayed}, {NULL, NULL}};
    const Slot plan_slots[] = {{"run", &in_plan.run}, {"busy", &in_plan.busy}, {NULL, NULL}};
    PyObject *replay, *plan, *missed;
    if (!PyArg_ParseTuple(arguments, "O!O!O", &PyType_Type, &replay, &PyType_Type, &plan, &missed)
        || find_slots((PyTypeObject *)replay, replay_slots) < 0 || find_slots((PyTypeObject *)plan, plan_slots) < 0) {
        return NULL;
    }
    Py_XSETREF(no_names, PyDict_New());
    if (no_names == NULL) {
        return NULL;
    }
    Py_XSETREF(miss, Py_NewRef(missed));
    Py_XSETREF(plan_type, (PyTypeObject *)Py_NewRef(plan));
    Py_RETURN_NONE;
}

/* ---- segments ----------------------------------------------------------------------------------------------- */

typedef struct {
    int operand;
    PyObject *count, *facts; /* facts: who wrote, and where */
} Write;

typedef struct {
    int output;
    PyObject *facts, *version;
} Made;

typedef struct {
    int operand, made; /* -1: None */
} Grad;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *run, *operands; /* operands: tensors, None for one that is given at each call */
    PyObject *kept;           /* what the entries below refer to */
    int givens, inputs, writes, mades, grads, leavings;
    int *input, *leaving;
    Write *write;
    Made *made;
    Grad *grad;
} Segment;

/* A tensor's array, borrowed; an array is one itself. */
static PyObject *
array_of(PyObject *operand)
{
    if (PyArray_CheckExact(operand)) {
        return operand;
    }
    PyObject *array = PyObject_TypeCheck(operand, objects.Tensor) ? SLOT(operand, in_tensor.array) : NULL;
    if (array == NULL) {
        PyErr_SetString(PyExc_TypeError, "a segment takes tensors and arrays");
    }
    return array;
}

/* Counts writes, and says who made the last. */
static int
count_writes(PyObject *tensor, const Write *write)
{
    PyObject *const *facts = ((PyTupleObject *)write->facts)->ob_item;
    if (!PyObject_TypeCheck(tensor, objects.Tensor) || SLOT(tensor, in_tensor.cell) == NULL) {
        PyErr_SetString(PyExc_TypeError, "a segment writes to tensors");
        return -1;
    }
    PyObject *cell = SLOT(tensor, in_tensor.cell);
    cell = cell == Py_None ? new_cell() : Py_NewRef(cell);
    if (cell == NULL || SLOT(cell, in_cell.version) == NULL) {
        Py_XDECREF(cell);
        return -1;
    }
    slot_set(tensor, in_tensor.cell, cell);
    PyObject *version = PyNumber_Add(SLOT(cell, in_cell.version), write->count);
    if (version != NULL) {
        slot_set(cell, in_cell.version, version);
        slot_set(cell, in_cell.writer, facts[0]);
        slot_set(cell, in_cell.code, facts[1]);
        slot_set(cell, in_cell.lasti, facts[2]);
        Py_DECREF(version);
    }
    Py_DECREF(cell);
    return version == NULL ? -1 : 0;
}

static PyObject *
make_tensor(const Made *made, PyObject *array)
{
    PyObject *tensor = new_tensor(array), *const *facts = ((PyTupleObject *)made->facts)->ob_item;
    if (tensor == NULL) {
        return NULL;
    }
    if (facts[0] != Py_False || facts[1] != Py_None || facts[3] != Py_None) {
        slot_set(tensor, in_tensor.requires_grad, facts[0]);
        slot_set(tensor, in_tensor.grad_fn, facts[1]);
        slot_set(tensor, in_tensor.output_nr, facts[2]);
        slot_set(tensor, in_tensor.cut, facts[3]);
    }
    if (made->version != objects.zero) {
        PyObject *cell = new_cell();
        if (cell == NULL) {
            Py_DECREF(tensor);
            return NULL;
        }
        slot_set(cell, in_cell.version, made->version);
        slot_set(tensor, in_tensor.cell, cell);
        Py_DECREF(cell);
    }
    return tensor;
}

/* What was made of the outputs: writes are counted, gradients set; the tuple of what leaves. */
static PyObject *
leave(const Segment *self, PyObject *const *operands, PyObject *outputs, PyObject **made)
{
    for (int each = 0; each < self->writes; each++) {
        if (count_writes(operands[self->write[each].operand], self->write + each) < 0) {
            return NULL;
        }
    }
    for (int each = 0; each < self->mades; each++) {
        if (self->made[each].output >= PyList_GET_SIZE(outputs)) {
            PyErr_SetString(PyExc_ValueError, "a segment has fewer outputs than it was told");
            return NULL;
        }
        made[each] = make_tensor(self->made + each, PyList_GET_ITEM(outputs, self->made[each].output));
        if (made[each] == NULL) {
            return NULL;
        }
    }
    for (int each = 0; each < self->grads; each++) {
        PyObject *tensor = operands[self->grad[each].operand];
        PyObject *meta = PyObject_TypeCheck(tensor, objects.Tensor) ? SLOT(tensor, in_tensor.meta) : NULL;
        if (meta == NULL || Py_TYPE(meta) != objects.TensorMeta) {
            PyErr_SetString(PyExc_TypeError, "a segment sets a gradient of what has none");
            return NULL;
        }
        slot_set(meta, in_meta.grad, self->grad[each].made < 0 ? Py_None : made[self->grad[each].made]);
    }
    PyObject *found = PyTuple_New(self->leavings);
    for (int each = 0; found != NULL && each < self->leavings; each++) {
        const int number = self->leaving[each];
        if (number >= PyList_GET_SIZE(outputs)) {
            PyErr_SetString(PyExc_ValueError, "a segment has fewer outputs than it was told");
            Py_CLEAR(found);
            break;
        }
        PyTuple_SET_ITEM(found, each, Py_NewRef(number < 0 ? made[-1 - number] : PyList_GET_ITEM(outputs, number)));
    }
    return found;
}

static PyObject *
run_segment(const Segment *self, PyObject **operands)
{
    PyObject *arrays = PyTuple_New(self->inputs), *outputs = NULL, *found = NULL;
    int count = 0;
    for (; arrays != NULL && count < self->inputs; count++) {
        PyObject *array = array_of(operands[self->input[count]]);
        if (array == NULL) {
            break;
        }
        PyTuple_SET_ITEM(arrays, count, Py_NewRef(array));
    }
    if (arrays != NULL && count == self->inputs) {
        outputs = PyObject_CallOneArg(self->run, arrays);
    }
    Py_XDECREF(arrays);
    if (outputs != NULL && !PyList_CheckExact(outputs)) {
        PyErr_SetString(PyExc_TypeError, "an executor gives a list of arrays");
        Py_CLEAR(outputs);
    }
    PyObject *few[64] = {NULL}, **made = self->mades > 64 ? PyMem_Calloc((size_t)self->mades, sizeof *made) : few;
    if (outputs != NULL) {
        found = made == NULL ? PyErr_NoMemory() : leave(self, operands, outputs, made);
        Py_DECREF(outputs);
    }
    for (int each = 0; made != NULL && each < self->mades; each++) {
        Py_XDECREF(made[each]);
    }
    if (made != few) {
        PyMem_Free(made);
    }
    return found;
}

static PyObject *
segment_call(PyObject *object, PyObject *const *given, size_t flagged, PyObject *names)
{
    Segment *self = (Segment *)object;
    const Py_ssize_t count = PyTuple_GET_SIZE(self->operands);
    if (PyVectorcall_NARGS(flagged) != self->givens || names != NULL || self->run == NULL) {
        PyErr_SetString(PyExc_TypeError, "a segment is given other operands than it was told");
        return NULL;
    }
    PyObject *few[64], **operands = count > 64 ? PyMem_New(PyObject *, count) : few;
    if (operands == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t each = 0; each < count; each++) {
        PyObject *fixed = PyTuple_GET_ITEM(self->operands, each);
        operands[each] = fixed == Py_None ? *given++ : fixed;
    }
    PyObject *found = run_segment(self, operands);
    if (operands != few) {
        PyMem_Free(operands);
    }
    return found;
}

/* ---- making one --------------------------------------------------------------------------------------------- */

static int
in_range(int number, Py_ssize_t low, Py_ssize_t high)
{
    if (number < low || number >= high) {
        PyErr_SetString(PyExc_ValueError, "a segment names what is not there");
        return 0;
    }
    return 1;
}

static int
read_numbers(PyObject *tuple, int **numbers, int *count)
{
    *count = (int)PyTuple_GET_SIZE(tuple);
    *numbers = PyMem_Calloc((size_t)*count + 1, sizeof(int));
    for (int each = 0; *numbers != NULL && each < *count; each++) {
        (*numbers)[each] = (int)PyLong_AsLong(PyTuple_GET_ITEM(tuple, each));
    }
    return *numbers != NULL && !PyErr_Occurred();
}

static int
read_writes(Segment *self, PyObject *tuple, Py_ssize_t operands)
{
    self->write = PyMem_Calloc((size_t)PyTuple_GET_SIZE(tuple) + 1, sizeof(Write));
    for (; self->write != NULL && self->writes < PyTuple_GET_SIZE(tuple); self->writes++) {
        Write *write = self->write + self->writes;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, self->writes), "iO!O!", &write->operand, &PyLong_Type, &write->count,
                              &PyTuple_Type, &write->facts)
            || !in_range(write->operand, 0, operands) || !in_range((int)PyTuple_GET_SIZE(write->facts), 3, 4)) {
            return 0;
        }
    }
    return self->write != NULL;
}

static int
read_mades(Segment *self, PyObject *tuple)
{
    self->made = PyMem_Calloc((size_t)PyTuple_GET_SIZE(tuple) + 1, sizeof(Made));
    for (; self->made != NULL && self->mades < PyTuple_GET_SIZE(tuple); self->mades++) {
        Made *made = self->made + self->mades;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, self->mades), "iO!O!", &made->output, &PyTuple_Type, &made->facts,
                              &PyLong_Type, &made->version)
            || !in_range(made->output, 0, INT_MAX) || !in_range((int)PyTuple_GET_SIZE(made->facts), 4, 5)) {
            return 0;
        }
    }
    return self->made != NULL;
}

static int
read_grads(Segment *self, PyObject *tuple, Py_ssize_t operands)
{
    self->grad = PyMem_Calloc((size_t)PyTuple_GET_SIZE(tuple) + 1, sizeof(Grad));
    for (; self->grad != NULL && self->grads < PyTuple_GET_SIZE(tuple); self->grads++) {
        Grad *grad = self->grad + self->grads;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, self->grads), "ii", &grad->operand, &grad->made)
            || !in_range(grad->operand, 0, operands) || !in_range(grad->made, -1, self->mades)) {
            return 0;
        }
    }
    return self->grad != NULL;
}

/* Segment(run, operands, inputs, writes, made, grads, leaving) */
static PyObject *
segment_new(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(keywords))
{
    PyObject *run, *operands, *inputs, *writes, *made, *grads, *leaving;
    if (!PyArg_ParseTuple(arguments, "OO!O!O!O!O!O!", &run, &PyTuple_Type, &operands, &PyTuple_Type, &inputs,
                          &PyTuple_Type, &writes, &PyTuple_Type, &made, &PyTuple_Type, &grads, &PyTuple_Type, &leaving)) {
        return NULL;
    }
    Segment *self = (Segment *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->call = segment_call;
    self->run = Py_NewRef(run);
    self->operands = Py_NewRef(operands);
    self->kept = Py_NewRef(arguments);
    const Py_ssize_t count = PyTuple_GET_SIZE(operands);
    for (Py_ssize_t each = 0; each < count; each++) {
        self->givens += PyTuple_GET_ITEM(operands, each) == Py_None;
    }
    int fits = read_numbers(inputs, &self->input, &self->inputs) && read_numbers(leaving, &self->leaving, &self->leavings)
               && read_writes(self, writes, count) && read_mades(self, made) && read_grads(self, grads, count);
    for (int each = 0; fits && each < self->inputs; each++) {
        fits = in_range(self->input[each], 0, count);
    }
    for (int each = 0; fits && each < self->leavings; each++) {
        fits = in_range(self->leaving[each], -self->mades, INT_MAX);
    }
    if (!fits) {
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static int
segment_traverse(Segment *self, visitproc visit, void *arg)
{
    Py_VISIT(self->run);
    Py_VISIT(self->operands);
    Py_VISIT(self->kept);
    return 0;
}

static int
segment_clear(Segment *self)
{
    Py_CLEAR(self->run);
    return 0;
}

static void
segment_dealloc(Segment *self)
{
    PyObject_GC_UnTrack(self);
    segment_clear(self);
    PyMem_Free(self->input);
    PyMem_Free(self->leaving);
    PyMem_Free(self->write);
    PyMem_Free(self->made);
    PyMem_Free(self->grad);
    Py_XDECREF(self->operands);
    Py_XDECREF(self->kept);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject SegmentType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "retrograd.core._core.Segment",
    .tp_basicsize = sizeof(Segment),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "Segment(run, operands, inputs, writes, made, grads, leaving)",
    .tp_new = segment_new,
    .tp_dealloc = (destructor)segment_dealloc,
    .tp_traverse = (traverseproc)segment_traverse,
    .tp_clear = (inquiry)segment_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Segment, call),
};

/* ---- the part ----------------------------------------------------------------------------------------------- */

static int
add(PyObject *module)
{
    return PyType_Ready(&SegmentType) < 0 ? -1 : PyModule_AddObjectRef(module, "Segment", (PyObject *)&SegmentType);
}

static PyMethodDef methods[] = {
    {"replayed", (PyCFunction)(void (*)(void))core_replayed, METH_FASTCALL,
     "replayed(function): `Replay.__call__`, where the first plan serves."},
    {"use_replay", core_use_replay, METH_VARARGS, "use_replay(Replay, Plan, MISS): takes the objects of replay."},
    {NULL, NULL, 0, NULL},
};

const Part replayed_part = {.methods = methods, .add = add};
