/* What a call leaves behind: the node with its edges and saved values, the cut where there is none, the view. */
#include "caller.h"

static PyObject *accumulate_run;    /* what an accumulator does on arrays */
static PyObject *accumulate_number; /* its sequence number: newer than any op's */
static PyObject *nondifferentiable, *no_grad, *multi, *nothing;

/* ---- edges -------------------------------------------------------------------------------------------------- */

/* The leaf's accumulator if a graph holds one; a new reference, NULL without an error set if not. */
static PyObject *
held_accumulator(PyObject *meta)
{
    PyObject *reference = SLOT(meta, in_meta.accumulator), *node = NULL;
    if (reference != NULL && PyWeakref_CheckRefExact(reference)) {
#if PY_VERSION_HEX >= 0x030D0000
        if (PyWeakref_GetRef(reference, &node) < 0) {
            PyErr_Clear();
        }
#else
        node = PyWeakref_GET_OBJECT(reference);
        node = node == Py_None ? NULL : Py_NewRef(node);
#endif
    }
    return node;
}

/* A new accumulator, as `accumulate.accumulator` makes it. */
static PyObject *
new_accumulator(PyObject *tensor, PyObject *meta)
{
    PyObject *array = SLOT(tensor, in_tensor.array);
    PyObject *node = objects.Node->tp_alloc(objects.Node, 0);
    if (node == NULL) {
        return NULL;
    }
    slot_fill(node, in_node.run, accumulate_run);
    slot_fill(node, in_node.sequence, accumulate_number);
    slot_fill(node, in_node.dtype, (PyObject *)PyArray_DESCR(ARRAY(array)));
    slot_fill(node, in_node.edges, nothing);
    slot_fill(node, in_node.edge_numbers, Py_None);
    slot_fill(node, in_node.code, Py_None);
    slot_fill(node, in_node.extra, Py_None);
    slot_fill(node, in_node.freed, Py_None);
    slot_fill(node, in_node.visit, objects.zero);
    PyObject *cell = SLOT(tensor, in_tensor.cell); /* where others keep an instruction: the version of the leaf */
    const int is_counted = cell != NULL && Py_TYPE(cell) == objects.VersionCell;
    slot_fill(node, in_node.lasti, is_counted ? SLOT(cell, in_cell.version) : objects.zero);
    PyObject *saved = SLOT(node, in_node.saved) = own_tuple(1);
    if (saved != NULL) {
        PyTuple_SET_ITEM(saved, 0, Py_NewRef(tensor));
    }
    SLOT(node, in_node.shape) = shape_of(array);
    PyObject *reference = PyWeakref_NewRef(node, NULL);
    if (reference == NULL || saved == NULL || SLOT(node, in_node.shape) == NULL) {
        Py_XDECREF(reference);
        Py_DECREF(node);
        return NULL;
    }
    PyObject *other = held_accumulator(meta); /* making objects may have run anything */
    if (other != NULL) {
        Py_DECREF(reference);
        Py_DECREF(node);
        return other;
    }
    slot_set(meta, in_meta.accumulator, reference);
    Py_DECREF(reference);
    return node;
}

static PyObject *
accumulator(PyObject *tensor)
{
    PyObject *meta = SLOT(tensor, in_tensor.meta), *array = SLOT(tensor, in_tensor.array);
    if (meta == NULL || Py_TYPE(meta) != objects.TensorMeta || array == NULL || !PyArray_CheckExact(array)
        || SLOT(meta, in_meta.grad_dtype) != Py_Ellipsis) {
        return PyObject_CallOneArg(objects.accumulator, tensor);
    }
    PyObject *held = held_accumulator(meta);
    return held != NULL ? held : new_accumulator(tensor, meta);
}

PyObject *
edge_to(PyObject *tensor)
{
    PyObject *node = SLOT(tensor, in_tensor.grad_fn);
    if (node != NULL && node != Py_None) {
        return Py_NewRef(node);
    }
    if (SLOT(tensor, in_tensor.view) == Py_None) {
        return accumulator(tensor);
    }
    return PyObject_CallOneArg(objects.edge_of, tensor);
}

/* The node's edges and, where one leads to another output than the first, their numbers. */
static int
fill_edges(const Call *call, PyObject *node)
{
    const CallPlan *plan = call->plan;
    PyObject *edges = own_tuple(plan->edge_count);
    if (edges == NULL) {
        return -1;
    }
    SLOT(node, in_node.edges) = edges;
    int numbered = 0;
    for (int position = 0; position < plan->edge_count; position++) {
        const int index = plan->edges[position];
        PyObject *tensor = call->values[plan->tensor_places[index]];
        PyObject *edge = call->needs[index] ? edge_to(tensor) : Py_NewRef(Py_None);
        if (edge == NULL) {
            return -1;
        }
        PyTuple_SET_ITEM(edges, position, edge);
        numbered |= call->needs[index] && SLOT(tensor, in_tensor.output_nr) != objects.zero;
    }
    if (!numbered) {
        slot_fill(node, in_node.edge_numbers, Py_None);
        return 0;
    }
    PyObject *numbers = own_tuple(plan->edge_count);
    if (numbers == NULL) {
        return -1;
    }
    for (int position = 0; position < plan->edge_count; position++) {
        const int index = plan->edges[position];
        PyObject *number = SLOT(call->values[plan->tensor_places[index]], in_tensor.output_nr);
        PyTuple_SET_ITEM(numbers, position, Py_NewRef(call->needs[index] ? number : objects.zero));
    }
    SLOT(node, in_node.edge_numbers) = numbers;
    return 0;
}

/* ---- saved values ------------------------------------------------------------------------------------------- */

/* The shape, dtype or strides of an array; None for a number in its place. */
PyObject *
fact_of(PyObject *array, Saves kind)
{
    if (!PyArray_CheckExact(array)) {
        return Py_NewRef(Py_None);
    }
    if (kind == SAVES_DTYPE) {
        return Py_NewRef((PyObject *)PyArray_DESCR(ARRAY(array)));
    }
    if (kind == SAVES_SHAPE) {
        return shape_of(array);
    }
    return int_tuple(PyArray_NDIM(ARRAY(array)), PyArray_STRIDES(ARRAY(array)));
}

/* Whether a rule that will run reads the value. */
static int
is_read(const Save *save, PyObject *edges)
{
    if (save->always) {
        return 1;
    }
    for (Py_ssize_t position = 0; position < PyTuple_GET_SIZE(edges); position++) {
        if ((save->readers >> position & 1) && PyTuple_GET_ITEM(edges, position) != Py_None) {
            return 1;
        }
    }
    return 0;
}

/* An input and the version that it is at; None where no rule that runs will read it. */
static void
save_input(PyObject *saved, int start, PyObject *value)
{
    PyObject *version = objects.zero;
    PyObject *owner = value == Py_None ? NULL : owner_of_cell(value);
    if (owner != NULL) {
        PyObject *cell = SLOT(owner, in_tensor.cell);
        if (cell != NULL && Py_TYPE(cell) == objects.VersionCell) {
            version = SLOT(cell, in_cell.version);
        }
    }
    PyTuple_SET_ITEM(saved, start, Py_NewRef(value));
    PyTuple_SET_ITEM(saved, start + 1, Py_NewRef(version));
}

/* A result: its array, the version cell that the Tensor gets now, and its version. */
int
save_output(PyObject *saved, int start, PyObject *result, PyObject *tensor)
{
    PyObject *cell = new_cell();
    if (cell == NULL) {
        return -1;
    }
    slot_set(tensor, in_tensor.cell, cell);
    PyTuple_SET_ITEM(saved, start, Py_NewRef(result));
    PyTuple_SET_ITEM(saved, start + 1, cell);
    PyTuple_SET_ITEM(saved, start + 2, Py_NewRef(objects.zero));
    return 0;
}

static int
fill_saved(const Call *call, PyObject *node, PyObject *const *results, PyObject *const *tensors)
{
    const CallPlan *plan = call->plan;
    PyObject *saved = own_tuple(plan->saved_length), *edges = SLOT(node, in_node.edges);
    if (saved == NULL) {
        return -1;
    }
    SLOT(node, in_node.saved) = saved;
    int start = 0;
    for (int index = 0; index < plan->save_count; index++) {
        const Save *save = &plan->saves[index];
        if (save->kind == SAVES_OUTPUT) {
            if (tensors == NULL) { /* in place: the target is saved once it was written */
                PyTuple_SET_ITEM(saved, start, Py_NewRef(Py_None));
                PyTuple_SET_ITEM(saved, start + 1, Py_NewRef(Py_None));
                PyTuple_SET_ITEM(saved, start + 2, Py_NewRef(objects.zero));
            }
            else if (save_output(saved, start, results[save->source], tensors[save->source]) < 0) {
                return -1;
            }
            start += 3;
        }
        else if (save->kind == SAVES_INPUT) {
            save_input(saved, start, is_read(save, edges) ? call->values[plan->tensor_places[save->source]] : Py_None);
            start += 2;
        }
        else {
            PyObject *value = save->kind == SAVES_OPTION
                                  ? Py_NewRef(call->values[save->source])
                                  : fact_of(save->source < 0 ? results[0] : call->arrays[save->source], save->kind);
            if (value == NULL) {
                return -1;
            }
            PyTuple_SET_ITEM(saved, start++, value);
        }
    }
    return 0;
}

/* ---- nodes -------------------------------------------------------------------------------------------------- */

PyObject *
new_node(const CallPlan *plan, PyObject *shape, PyObject *dtype)
{
    PyObject *node = shape == NULL || dtype == NULL ? NULL : objects.Node->tp_alloc(objects.Node, 0);
    if (node == NULL) {
        Py_XDECREF(shape);
        Py_XDECREF(dtype);
        return NULL;
    }
    SLOT(node, in_node.shape) = shape;
    SLOT(node, in_node.dtype) = dtype;
    slot_fill(node, in_node.run, plan->run);
    slot_fill(node, in_node.extra, Py_None);
    slot_fill(node, in_node.freed, Py_None);
    slot_fill(node, in_node.visit, objects.zero);
    SLOT(node, in_node.sequence) = next_sequence();
    if (SLOT(node, in_node.sequence) == NULL
        || user_site(&SLOT(node, in_node.code), &SLOT(node, in_node.lasti)) < 0) {
        Py_DECREF(node);
        return NULL;
    }
    return node;
}

int
fill_node(const Call *call, PyObject *node, PyObject *const *results, PyObject *const *tensors)
{
    const CallPlan *plan = call->plan;
    for (int index = 0; index < plan->tensor_count; index++) {
        if (!call->needs[index] && note_cut(node, call->values[plan->tensor_places[index]]) < 0) {
            return -1;
        }
    }
    return fill_edges(call, node) < 0 ? -1 : fill_saved(call, node, results, tensors);
}

/* ---- cuts --------------------------------------------------------------------------------------------------- */

PyObject *
cut_by(const CallPlan *plan, PyObject *code, PyObject *instruction)
{
    return new_cut(nondifferentiable, plan->label, code, instruction);
}

/* What the operands of a call that cuts paths were computed from. */
static int
note_operands(const Call *call, PyObject *cut)
{
    const CallPlan *plan = call->plan;
    PyObject *operands[MOST_TENSORS];
    int count = 0;
    for (int index = 0; index < plan->tensor_count; index++) {
        PyObject *value = call->values[plan->tensor_places[index]];
        if (is_tensor(value)) {
            operands[count++] = value;
        }
    }
    return note_leaves(cut, operands, count);
}

/* Where the path to a result without history was cut: here, or before an operand. */
PyObject *
cut_of(const Call *call)
{
    const CallPlan *plan = call->plan;
    if (call->wanted && !call->enabled) {
        return PyObject_GetAttr(objects.STATE, objects.name_cut);
    }
    if (call->wanted) {
        PyObject *code, *instruction;
        if (user_site(&code, &instruction) < 0) {
            return NULL;
        }
        PyObject *cut = cut_by(plan, code, instruction);
        Py_DECREF(code);
        Py_DECREF(instruction);
        if (cut != NULL && note_operands(call, cut) < 0) {
            Py_CLEAR(cut);
        }
        return cut;
    }
    for (int index = 0; index < plan->tensor_count; index++) {
        PyObject *value = call->values[plan->tensor_places[index]];
        if (is_tensor(value) && slot_given(value, in_tensor.cut)) {
            return Py_NewRef(SLOT(value, in_tensor.cut));
        }
    }
    return Py_NewRef(Py_None);
}

/* ---- views -------------------------------------------------------------------------------------------------- */

PyObject *
options_of(const Call *call)
{
    const CallPlan *plan = call->plan;
    PyObject *options = PyTuple_New(plan->option_count);
    for (int index = 0; options != NULL && index < plan->option_count; index++) {
        PyTuple_SET_ITEM(options, index, Py_NewRef(call->values[plan->option_places[index]]));
    }
    return options;
}

PyObject *
source_cell(PyObject *tensor)
{
    if (SLOT(tensor, in_tensor.cell) == Py_None) {
        PyObject *cell = new_cell();
        if (cell == NULL) {
            return NULL;
        }
        if (SLOT(tensor, in_tensor.cell) == Py_None) { /* still */
            slot_set(tensor, in_tensor.cell, cell);
        }
        Py_DECREF(cell);
    }
    return SLOT(tensor, in_tensor.cell);
}

/* Whether nothing in a tuple can be part of a cycle. */
static int
holds_plain_values(PyObject *tuple)
{
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(tuple); index++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, index);
        if (item != Py_None && !PyLong_Check(item) && !(PyTuple_CheckExact(item) && !PyObject_GC_IsTracked(item))) {
            return 0;
        }
    }
    return 1;
}

/* Makes `view` a view of the first operand's base: `views.link_view`. Takes the reference to `options`. */
int
make_view(const Call *call, PyObject *view, PyObject *number, PyObject *options)
{
    PyObject *source = call->values[call->plan->tensor_places[0]], *before = SLOT(source, in_tensor.view);
    PyObject *cell = source_cell(source), *info = NULL;
    PyObject *last = options == NULL || cell == NULL ? NULL : PyTuple_New(4);
    if (last != NULL) {
        info = objects.ViewInfo->tp_alloc(objects.ViewInfo, 0);
    }
    if (info == NULL) {
        Py_XDECREF(options);
        Py_XDECREF(last);
        return -1;
    }
    PyObject *base = before == Py_None ? source : SLOT(before, in_view.base);
    PyObject *creation = before == Py_None ? Py_None : SLOT(before, in_view.creation);
    PyTuple_SET_ITEM(last, 0, Py_NewRef(call->plan->op));
    PyTuple_SET_ITEM(last, 1, options);
    PyTuple_SET_ITEM(last, 2, Py_NewRef(number));
    PyTuple_SET_ITEM(last, 3, Py_NewRef(before == Py_None ? Py_None : SLOT(before, in_view.last)));
    SLOT(info, in_view.last) = last;
    if (holds_plain_values(options) && !PyObject_GC_IsTracked(PyTuple_GET_ITEM(last, 3))) {
        PyObject_GC_UnTrack(options);
        PyObject_GC_UnTrack(last);
    }
    slot_fill(info, in_view.base, base);
    slot_fill(info, in_view.at, SLOT(cell, in_cell.version));
    slot_fill(info, in_view.creation, !call->enabled ? no_grad : number == Py_None ? creation : multi);
    slot_fill(info, in_view.own, Py_False);
    slot_set(view, in_tensor.cell, cell);
    slot_set(view, in_tensor.view, info);
    Py_DECREF(info);
    if (SLOT(base, in_tensor.requires_grad) == Py_True) {
        slot_set(view, in_tensor.requires_grad, Py_True); /* without history a view follows its base */
    }
    return 0;
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

static int
start(void)
{
    Py_XSETREF(nondifferentiable, PyUnicode_InternFromString("nondifferentiable"));
    Py_XSETREF(no_grad, PyUnicode_InternFromString("no_grad"));
    Py_XSETREF(multi, PyUnicode_InternFromString("multi"));
    Py_XSETREF(nothing, PyTuple_New(0));
    return nondifferentiable == NULL || no_grad == NULL || multi == NULL || nothing == NULL ? -1 : 0;
}

static const Wanted wanted[] = {
    {"accumulate_run", &accumulate_run},
    {"accumulate_number", &accumulate_number},
    {NULL, NULL},
};

const Part record_part = {.wanted = wanted, .start = start};
