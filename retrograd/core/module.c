/* The module `_core`: taking the library's objects, and the list of parts it is made of. */
#define RETROGRAD_CORE_MODULE
#include "caller.h"
#include "engine.h"

#include "../backend/kernels/sources.h"

#include <structmember.h>

static const Part *const parts[] = {
    &blocks_part, &detach_part, &short_choices_part, &modes_part, &writes_part, &draws_part, &brackets_part, &shapes_part, &short_sums_part,
    &site_part,          &caller_part,     &dual_part, &batched_part,      &kernel_part,
    &record_part,        &short_kernels_part, &short_rows_part, &short_arithmetic_part, &composites_part,
    &shortcut_part, &arithmetic_part, &steps_part, &gradients_part, &release_part, &reuse_part, &layers_part,
    &run_part,    &rules_part,      &accumulate_part, &walk_part, &backward_part, &guards_part, &leaving_part, &replayed_part,
};

#define PART_COUNT (sizeof parts / sizeof *parts)

Objects objects;
int core_ready = 0;
int core_calls_python = 0;
TensorSlots in_tensor;
MetaSlots in_meta;
CellSlots in_cell;
ViewSlots in_view;
CutSlots in_cut;
NodeSlots in_node;
CallSlots in_call;

/* ---- objects by name ---------------------------------------------------------------------------------------- */

static const Wanted wanted[] = {
    {"Tensor", (PyObject **)&objects.Tensor},
    {"Parameter", (PyObject **)&objects.Parameter},
    {"TensorMeta", (PyObject **)&objects.TensorMeta},
    {"VersionCell", (PyObject **)&objects.VersionCell},
    {"ViewInfo", (PyObject **)&objects.ViewInfo},
    {"Node", (PyObject **)&objects.Node},
    {"BackwardCall", (PyObject **)&objects.BackwardCall},
    {"Cut", (PyObject **)&objects.Cut},
    {"HOT", &objects.HOT},
    {"STATE", &objects.STATE},
    {"TRANSFORMS", &objects.TRANSFORMS},
    {"INFERENCE_CELL", &objects.INFERENCE_CELL},
    {"numbers", &objects.numbers},
    {"refresh", &objects.refresh},
    {"accumulator", &objects.accumulator},
    {"edge_of", &objects.edge_of},
    {"QUIET", &objects.QUIET},
    {"enter_quiet", &objects.enter_quiet},
    {"leave_quiet", &objects.leave_quiet},
    {"F32", (PyObject **)&objects.F32},
    {"F64", (PyObject **)&objects.F64},
    {"I64", (PyObject **)&objects.I64},
    {"B8", (PyObject **)&objects.B8},
    {NULL, NULL},
};

static int
take_objects(PyObject *given, const Wanted *table)
{
    for (; table != NULL && table->name != NULL; table++) {
        PyObject *found = PyDict_GetItemString(given, table->name);
        if (found == NULL) {
            PyErr_Format(PyExc_KeyError, "the core was not given %s", table->name);
            return -1;
        }
        Py_XSETREF(*table->place, Py_NewRef(found));
    }
    return 0;
}

static int
make_names(void)
{
    const struct {
        PyObject **place;
        const char *text;
    } names[] = {
        {&objects.name_UNUSUAL, "UNUSUAL"},
        {&objects.name_NO_GRAD, "NO_GRAD"},
        {&objects.name_grad_enabled, "grad_enabled"},
        {&objects.name_cut, "cut"},
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        Py_XSETREF(*names[index].place, PyUnicode_InternFromString(names[index].text));
        if (*names[index].place == NULL) {
            return -1;
        }
    }
    Py_XSETREF(objects.zero, PyLong_FromLong(0));
    Py_XSETREF(objects.one, PyLong_FromLong(1));
    return objects.zero == NULL || objects.one == NULL ? -1 : 0;
}

/* ---- slots -------------------------------------------------------------------------------------------------- */

static const Slot tensor_slots[] = {
    {"_array", &in_tensor.array},
    {"_cell", &in_tensor.cell},
    {"_cut", &in_tensor.cut},
    {"_grad_fn", &in_tensor.grad_fn},
    {"_meta", &in_tensor.meta},
    {"_output_nr", &in_tensor.output_nr},
    {"_requires_grad", &in_tensor.requires_grad},
    {"_view", &in_tensor.view},
    {NULL, NULL},
};

static const Slot meta_slots[] = {
    {"accumulator", &in_meta.accumulator},
    {"grad", &in_meta.grad},
    {"grad_dtype", &in_meta.grad_dtype},
    {"hooks", &in_meta.hooks},
    {"inference", &in_meta.inference},
    {"post_accumulate_hooks", &in_meta.post_accumulate_hooks},
    {"relaid", &in_meta.relaid},
    {"retains_grad", &in_meta.retains_grad},
    {"tangents", &in_meta.tangents},
    {NULL, NULL},
};

static const Slot cell_slots[] = {
    {"code", &in_cell.code},       {"detached", &in_cell.detached}, {"lasti", &in_cell.lasti},
    {"version", &in_cell.version}, {"writer", &in_cell.writer},     {NULL, NULL},
};

static const Slot view_slots[] = {
    {"at", &in_view.at},     {"base", &in_view.base}, {"creation", &in_view.creation},
    {"last", &in_view.last}, {"own", &in_view.own},   {NULL, NULL},
};

static const Slot cut_slots[] = {
    {"code", &in_cut.code},
    {"kind", &in_cut.kind},
    {"lasti", &in_cut.lasti},
    {"leaves", &in_cut.leaves},
    {"operation", &in_cut.operation},
    {NULL, NULL},
};

static const Slot node_slots[] = {
    {"_reached_code", &in_node.reached_code},
    {"_reached_lasti", &in_node.reached_lasti},
    {"buffer", &in_node.buffer},
    {"code", &in_node.code},
    {"cuts", &in_node.cuts},
    {"dtype", &in_node.dtype},
    {"edge_numbers", &in_node.edge_numbers},
    {"edges", &in_node.edges},
    {"extra", &in_node.extra},
    {"freed", &in_node.freed},
    {"lasti", &in_node.lasti},
    {"owned", &in_node.owned},
    {"pending", &in_node.pending},
    {"run", &in_node.run},
    {"saved", &in_node.saved},
    {"sequence", &in_node.sequence},
    {"shape", &in_node.shape},
    {"visit", &in_node.visit},
    {NULL, NULL},
};

static const Slot call_slots[] = {
    {"callbacks", &in_call.callbacks},
    {"code", &in_call.code},
    {"create_graph", &in_call.create_graph},
    {"interrupted_by", &in_call.interrupted_by},
    {"kept", &in_call.kept},
    {"kind", &in_call.kind},
    {"lasti", &in_call.lasti},
    {"need", &in_call.need},
    {"node", &in_call.node},
    {"nodes_run", &in_call.nodes_run},
    {"number", &in_call.number},
    {"ordinal", &in_call.ordinal},
    {"recomputed", &in_call.recomputed},
    {"restricted", &in_call.restricted},
    {"retain_graph", &in_call.retain_graph},
    {"root_nodes", &in_call.root_nodes},
    {"roots", &in_call.roots},
    {NULL, NULL},
};

int
find_slots(PyTypeObject *type, const Slot *slots)
{
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "a class of the core is no class");
        return -1;
    }
    for (; slots->name != NULL; slots++) {
        PyObject *found = PyObject_GetAttrString((PyObject *)type, slots->name);
        if (found == NULL || Py_TYPE(found) != &PyMemberDescr_Type
            || ((PyMemberDescrObject *)found)->d_member->type != T_OBJECT_EX) {
            Py_XDECREF(found);
            PyErr_Format(PyExc_TypeError, "%s has no slot %s", type->tp_name, slots->name);
            return -1;
        }
        *slots->offset = ((PyMemberDescrObject *)found)->d_member->offset;
        Py_DECREF(found);
    }
    return 0;
}

static int
find_all_slots(void)
{
    return find_slots(objects.Tensor, tensor_slots) < 0 || find_slots(objects.TensorMeta, meta_slots) < 0
                   || find_slots(objects.Cut, cut_slots) < 0
                   || find_slots(objects.VersionCell, cell_slots) < 0 || find_slots(objects.ViewInfo, view_slots) < 0
                   || find_slots(objects.Node, node_slots) < 0 || find_slots(objects.BackwardCall, call_slots) < 0
               ? -1
               : 0;
}

/* ---- what several files use --------------------------------------------------------------------------------- */

int
grad_is_enabled(void)
{
    if (count_is_zero(objects.name_NO_GRAD)) {
        return 1;
    }
    PyObject *enabled = PyObject_GetAttr(objects.STATE, objects.name_grad_enabled);
    if (enabled == NULL) {
        return -1;
    }
    const int answer = PyObject_IsTrue(enabled);
    Py_DECREF(enabled);
    return answer;
}

PyObject *
new_tensor(PyObject *array)
{
    PyObject *tensor = objects.Tensor->tp_alloc(objects.Tensor, 0);
    if (tensor != NULL) {
        slot_fill(tensor, in_tensor.array, array);
        slot_fill(tensor, in_tensor.requires_grad, Py_False);
        slot_fill(tensor, in_tensor.grad_fn, Py_None);
        slot_fill(tensor, in_tensor.output_nr, objects.zero);
        slot_fill(tensor, in_tensor.cell, Py_None);
        slot_fill(tensor, in_tensor.view, Py_None);
        slot_fill(tensor, in_tensor.cut, Py_None);
        slot_fill(tensor, in_tensor.meta, Py_None);
    }
    return tensor;
}

PyObject *
new_cell(void)
{
    PyObject *cell = objects.VersionCell->tp_alloc(objects.VersionCell, 0);
    if (cell != NULL) {
        slot_fill(cell, in_cell.version, objects.zero);
        slot_fill(cell, in_cell.detached, objects.zero);
        slot_fill(cell, in_cell.writer, Py_None);
        slot_fill(cell, in_cell.code, Py_None);
        slot_fill(cell, in_cell.lasti, objects.zero);
        if (PyObject_IS_GC(cell)) {
            PyObject_GC_UnTrack(cell);
        }
    }
    return cell;
}

#define KEPT_LENGTH 4
#define KEPT_TUPLES 1024 /* a power of two */

static struct {
    PyObject *tuple; /* NULL: nothing is kept here */
    int length;
    npy_intp numbers[KEPT_LENGTH];
} kept_tuples[KEPT_TUPLES];

PyObject *
int_tuple(int length, const npy_intp *numbers)
{
    if (length == 0 || length > KEPT_LENGTH) { /* of no dimensions there may be no address */
        return PyArray_IntTupleFromIntp(length, numbers);
    }
    size_t place = (size_t)length;
    for (int index = 0; index < length; index++) {
        place = place * 1000003 + (size_t)numbers[index];
    }
    place = (place ^ place >> 10) & (KEPT_TUPLES - 1);
    if (kept_tuples[place].tuple == NULL || kept_tuples[place].length != length
        || memcmp(kept_tuples[place].numbers, numbers, length * sizeof *numbers) != 0) {
        PyObject *tuple = PyArray_IntTupleFromIntp(length, numbers);
        if (tuple == NULL) {
            return NULL;
        }
        if (PyObject_GC_IsTracked(tuple)) {
            PyObject_GC_UnTrack(tuple);
        }
        memcpy(kept_tuples[place].numbers, numbers, length * sizeof *numbers);
        kept_tuples[place].length = length;
        Py_XSETREF(kept_tuples[place].tuple, tuple);
    }
    return Py_NewRef(kept_tuples[place].tuple);
}

PyObject *
new_cut(PyObject *kind, PyObject *operation, PyObject *code, PyObject *instruction)
{
    PyObject *cut = objects.Cut->tp_alloc(objects.Cut, 0);
    if (cut != NULL) {
        slot_fill(cut, in_cut.kind, kind);
        slot_fill(cut, in_cut.operation, operation);
        slot_fill(cut, in_cut.code, code);
        slot_fill(cut, in_cut.lasti, instruction);
    }
    return cut;
}

int
count_write(PyObject *tensor, PyObject *writer, PyObject *code, PyObject *instruction)
{
    PyObject *cell = SLOT(tensor, in_tensor.cell);
    if (cell == NULL || cell == Py_None) {
        cell = new_cell();
        if (cell == NULL) {
            return -1;
        }
        slot_set(tensor, in_tensor.cell, cell);
        Py_DECREF(cell); /* the tensor has it */
    }
    PyObject *version = PyNumber_Add(SLOT(cell, in_cell.version), objects.one);
    if (version == NULL) {
        return -1;
    }
    slot_set(cell, in_cell.version, version);
    slot_set(cell, in_cell.writer, writer);
    slot_set(cell, in_cell.code, code);
    slot_set(cell, in_cell.lasti, instruction);
    Py_DECREF(version);
    return 0;
}

/* ---- module ------------------------------------------------------------------------------------------------- */

static PyObject *
core_setup(PyObject *Py_UNUSED(module), PyObject *given)
{
    if (!PyDict_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "setup() takes a dict of the library's objects");
        return NULL;
    }
    core_ready = 0;
    if (take_objects(given, wanted) < 0 || make_names() < 0 || find_all_slots() < 0) {
        return NULL;
    }
    if (!PyDict_Check(objects.HOT) || Py_TYPE(objects.numbers)->tp_iternext == NULL
        || !PyArray_DescrCheck((PyObject *)objects.F32) || !PyArray_DescrCheck((PyObject *)objects.F64)
        || !PyArray_DescrCheck((PyObject *)objects.I64) || !PyArray_DescrCheck((PyObject *)objects.B8)) {
        PyErr_SetString(PyExc_TypeError, "setup() was given an object of another type than it takes");
        return NULL;
    }
    for (size_t index = 0; index < PART_COUNT; index++) {
        if (take_objects(given, parts[index]->wanted) < 0) {
            return NULL;
        }
    }
    for (size_t index = 0; index < PART_COUNT; index++) {
        if (parts[index]->start != NULL && parts[index]->start() < 0) {
            return NULL;
        }
    }
    core_ready = 1;
    Py_RETURN_NONE;
}

/* Off, everything is done by the Python functions, as if there were no core; for tests that compare the two. */
static PyObject *
core_switch(PyObject *Py_UNUSED(module), PyObject *on)
{
    static int was_ready = 0;
    const int before = core_ready, wanted_on = PyObject_IsTrue(on);
    if (wanted_on < 0) {
        return NULL;
    }
    was_ready |= core_ready;
    core_ready = wanted_on && was_ready;
    return PyBool_FromLong(before);
}

static PyMethodDef methods[] = {
    {"switch", core_switch, METH_O, "switch(on): let Python do everything, or not; whether the core was on before."},
    {"setup", core_setup, METH_O, "setup(objects): take the library's objects by name; before, nothing is done here."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_core",
    .m_doc = "Calls of ops, the walk over the graph and optimizer steps in C; see retrograd.core.",
    .m_size = -1,
    .m_methods = methods,
};

const ThreadPool *shared_threads;

PyMODINIT_FUNC
PyInit__core(void)
{
    shared_threads = find_thread_pool();
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) {
        return NULL;
    }
    PyObject *module = with_sources(PyModule_Create(&module_definition));
    if (module == NULL) {
        return NULL;
    }
    for (size_t index = 0; index < PART_COUNT; index++) {
        const Part *part = parts[index];
        if ((part->methods != NULL && PyModule_AddFunctions(module, part->methods) < 0)
            || (part->add != NULL && part->add(module) < 0)) {
            Py_DECREF(module);
            return NULL;
        }
    }
    return module;
}
