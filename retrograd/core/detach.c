/* `x.detach()` and `x.data`: a new tensor of the same elements without history, `autograd.attributes`. */
#include "shortcut.h"

static PyObject *word_detach, *word_data, *word_dot_data;

/* A tensor that was made outside of inference mode, outside of rarer modes. */
static int
is_usual(PyObject *tensor)
{
    if (!is_tensor(tensor) || is_unusual()) {
        return 0;
    }
    PyObject *cell = SLOT(tensor, in_tensor.cell), *view = SLOT(tensor, in_tensor.view);
    PyObject *meta = SLOT(tensor, in_tensor.meta);
    return SLOT(tensor, in_tensor.array) != NULL && cell != NULL && view != NULL && meta != NULL
           && SLOT(tensor, in_tensor.cut) != NULL && SLOT(tensor, in_tensor.grad_fn) != NULL
           && (cell == Py_None || Py_TYPE(cell) == objects.VersionCell)
           && (view == Py_None || (Py_TYPE(view) == objects.ViewInfo && SLOT(view, in_view.base) != NULL))
           && (meta == Py_None || (Py_TYPE(meta) == objects.TensorMeta && SLOT(meta, in_meta.inference) == Py_False));
}

/* Where the path to the new tensor was cut: here, or before. */
static PyObject *
cut_here(PyObject *tensor, PyObject *kind, PyObject *operation)
{
    PyObject *code, *instruction;
    if (!requires_grad(tensor)) {
        return Py_NewRef(SLOT(tensor, in_tensor.cut));
    }
    if (user_site(&code, &instruction) < 0) {
        return NULL;
    }
    PyObject *cut = new_cut(kind, operation, code, instruction);
    Py_DECREF(code);
    Py_DECREF(instruction);
    if (cut != NULL && note_leaves(cut, &tensor, 1) < 0) {
        Py_CLEAR(cut);
    }
    return cut;
}

static PyObject *
without_history(PyObject *tensor, PyObject *kind, PyObject *operation, PyObject *cell)
{
    PyObject *cut = cut_here(tensor, kind, operation);
    PyObject *made = cut == NULL ? NULL : new_tensor(SLOT(tensor, in_tensor.array));
    if (made != NULL) {
        slot_set(made, in_tensor.cell, cell);
        slot_set(made, in_tensor.cut, cut);
    }
    Py_XDECREF(cut);
    return made;
}

/* detach(self) */
static PyObject *
detach_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 1 || names != NULL || !is_usual(arguments[0])) {
        return NULL;
    }
    PyObject *cell = source_cell(arguments[0]);
    return cell == NULL ? NULL : without_history(arguments[0], word_detach, word_detach, cell);
}

/* data(self) */
static PyObject *
data_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (count != 1 || names != NULL || !is_usual(arguments[0])) {
        return NULL;
    }
    return without_history(arguments[0], word_data, word_dot_data, Py_None);
}

SHORTCUT_METHOD(detach, 0)
SHORTCUT_METHOD(data, 0)

static int
add(PyObject *Py_UNUSED(module))
{
    word_detach = PyUnicode_InternFromString("detach");
    word_data = PyUnicode_InternFromString("data");
    word_dot_data = PyUnicode_InternFromString(".data");
    return word_detach == NULL || word_data == NULL || word_dot_data == NULL ? -1 : 0;
}

#define ENTRY(name, text) {#name, (PyCFunction)(void (*)(void))core_##name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    ENTRY(detach, "detach(function): x.detach() outside of inference mode."),
    ENTRY(data, "data(function): x.data outside of inference mode."),
    {NULL, NULL, 0, NULL},
};

const Part detach_part = {.methods = methods, .add = add};
