/* What a replayed step leaves behind: new tensors and their version cells; `replay.binding`. */
#include "shortcut.h"

static int
is_cell(PyObject *object)
{
    return Py_TYPE(object) == objects.VersionCell && SLOT(object, in_cell.version) != NULL;
}

/* made(array, facts, cell) */
static PyObject *
made_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 3 || names != NULL || !PyArray_CheckExact(arguments[0]) || !PyTuple_CheckExact(arguments[1])
        || PyTuple_GET_SIZE(arguments[1]) != 4 || (arguments[2] != Py_None && !is_cell(arguments[2]))) {
        return NULL;
    }
    PyObject *tensor = new_tensor(arguments[0]), *const *facts = ((PyTupleObject *)arguments[1])->ob_item;
    if (tensor != NULL) {
        slot_set(tensor, in_tensor.requires_grad, facts[0]);
        slot_set(tensor, in_tensor.grad_fn, facts[1]);
        slot_set(tensor, in_tensor.output_nr, facts[2]);
        slot_set(tensor, in_tensor.cut, facts[3]);
        slot_set(tensor, in_tensor.cell, arguments[2]);
    }
    return tensor;
}

/* cell_at(version) */
static PyObject *
cell_at_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 1 || names != NULL || !PyLong_CheckExact(arguments[0])) {
        return NULL;
    }
    PyObject *cell = new_cell();
    if (cell != NULL) {
        slot_set(cell, in_cell.version, arguments[0]);
    }
    return cell;
}

SHORTCUT_METHOD(made, 0)
SHORTCUT_METHOD(cell_at, 0)

#define ENTRY(name, text) {#name, (PyCFunction)(void (*)(void))core_##name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    ENTRY(made, "made(function): a tensor of a replayed step for somebody outside."),
    ENTRY(cell_at, "cell_at(function): a version cell that has counted some writes."),
    {NULL, NULL, 0, NULL},
};

const Part leaving_part = {.methods = methods};
