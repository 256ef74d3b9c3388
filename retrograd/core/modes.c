/* Grad modes on their way in and out: what `engine.grad_mode` does, outside of inference mode. */
#include "shortcut.h"

static PyObject *name_dict, *name_inference, *name_prev, *name_before, *name_mode, *name_asked, *no_grad, *set_false;

/* What this thread has set of `STATE`, a new reference; NULL with an error set. What is not in it has its default. */
static PyObject *
thread_modes(void)
{
    PyObject *modes = PyObject_GetAttr(objects.STATE, name_dict);
    if (modes != NULL && !PyDict_CheckExact(modes)) {
        Py_CLEAR(modes);
    }
    return modes;
}

/* A borrowed reference. */
static PyObject *
mode_of(PyObject *modes, PyObject *name, PyObject *initial)
{
    PyObject *found = PyDict_GetItemWithError(modes, name);
    return found == NULL ? initial : found;
}

/* `state.set_grad_mode`: the mode and its count in one stretch, which no other thread can interrupt. */
static int
set_grad_mode(PyObject *modes, PyObject *enabled, PyObject *cut)
{
    if (mode_of(modes, objects.name_grad_enabled, Py_True) != enabled) {
        PyObject *count = PyDict_GetItemWithError(objects.HOT, objects.name_NO_GRAD);
        if (count == NULL) {
            return -1;
        }
        count = enabled == Py_True ? PyNumber_Subtract(count, objects.one) : PyNumber_Add(count, objects.one);
        const int failed = count == NULL || PyDict_SetItem(modes, objects.name_grad_enabled, enabled) < 0
                           || PyDict_SetItem(objects.HOT, objects.name_NO_GRAD, count) < 0;
        Py_XDECREF(count);
        if (failed) {
            return -1;
        }
    }
    return PyDict_SetItem(modes, objects.name_cut, cut);
}

/* Whether the grad mode is a plain one; in inference mode it is only remembered. */
static int
is_usual_mode(PyObject *modes)
{
    PyObject *enabled = mode_of(modes, objects.name_grad_enabled, Py_True);
    return mode_of(modes, name_inference, Py_False) == Py_False && (enabled == Py_True || enabled == Py_False);
}

/* Turns recording off, with a cut at the user's line; or on. */
static PyObject *
turn(PyObject *modes, int on, PyObject *operation)
{
    PyObject *code, *instruction;
    if (on) {
        return set_grad_mode(modes, Py_True, Py_None) < 0 ? NULL : Py_NewRef(Py_None);
    }
    if (user_site(&code, &instruction) < 0) {
        return NULL;
    }
    PyObject *cut = new_cut(no_grad, operation, code, instruction);
    Py_DECREF(code);
    Py_DECREF(instruction);
    const int failed = cut == NULL || set_grad_mode(modes, Py_False, cut) < 0;
    Py_XDECREF(cut);
    return failed ? NULL : Py_NewRef(Py_None);
}

static PyObject *
enter(PyObject *const *arguments, Py_ssize_t count, PyObject *names, int on)
{
    PyObject *modes = count == 1 && names == NULL ? thread_modes() : NULL, *result = NULL;
    if (modes == NULL) {
        return NULL;
    }
    if (is_usual_mode(modes)
        && PyObject_SetAttr(arguments[0], name_prev, mode_of(modes, objects.name_grad_enabled, Py_True)) == 0
        && PyObject_SetAttr(arguments[0], name_before, mode_of(modes, objects.name_cut, Py_None)) == 0) {
        result = turn(modes, on, no_grad);
    }
    Py_DECREF(modes);
    return result;
}

/* no_grad.__enter__(self) */
static PyObject *
enter_no_grad_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    return enter(arguments, count, names, 0);
}

/* enable_grad.__enter__(self) */
static PyObject *
enter_enable_grad_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    return enter(arguments, count, names, 1);
}

/* set_grad_enabled.__enter__(self): what was before, it knows since it was made */
static PyObject *
enter_set_grad_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *modes = count == 1 && names == NULL ? thread_modes() : NULL, *result = NULL;
    PyObject *mode = modes == NULL ? NULL : PyObject_GetAttr(arguments[0], name_mode);
    if (mode != NULL && PyBool_Check(mode) && is_usual_mode(modes)) {
        result = turn(modes, mode == Py_True, set_false);
    }
    Py_XDECREF(mode);
    Py_XDECREF(modes);
    return result;
}

/* set_grad_mode(enabled, cut=None) */
static PyObject *
set_grad_mode_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *modes = names == NULL && (count == 1 || count == 2) && PyBool_Check(arguments[0]) ? thread_modes() : NULL;
    if (modes == NULL) {
        return NULL;
    }
    const int failed = set_grad_mode(modes, arguments[0], count == 2 ? arguments[1] : Py_None) < 0;
    Py_DECREF(modes);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* no_grad.__exit__(self, *error) */
static PyObject *
leave_no_grad_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *modes = count >= 1 && names == NULL ? thread_modes() : NULL;
    if (modes == NULL) {
        return NULL;
    }
    PyObject *result = NULL, *enabled = NULL, *cut = NULL;
    enabled = PyObject_GetAttr(arguments[0], name_prev);
    cut = enabled == NULL ? NULL : PyObject_GetAttr(arguments[0], name_before);
    if (cut != NULL && PyBool_Check(enabled)) {
        const int failed = mode_of(modes, name_inference, Py_False) == Py_True
                               ? PyDict_SetItem(modes, name_asked, enabled)
                               : set_grad_mode(modes, enabled, cut);
        result = failed ? NULL : Py_NewRef(Py_None);
    }
    Py_XDECREF(enabled);
    Py_XDECREF(cut);
    Py_DECREF(modes);
    return result;
}

/* Whether `super().__new__` of a class is that of `object`, wherever it is called: one line of classes. */
static int
has_one_line(PyTypeObject *type)
{
    while (type->tp_base != NULL && type->tp_bases != NULL && PyTuple_GET_SIZE(type->tp_bases) == 1) {
        type = type->tp_base;
    }
    return type == &PyBaseObject_Type;
}

/* `__new__(cls)` of a context manager that is made without arguments: `object.__new__(cls)`. */
static PyObject *
bare_new_way(Shortcut *Py_UNUSED(self), PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    static PyObject *nothing;
    if (nothing == NULL) {
        nothing = PyTuple_New(0);
    }
    if (nothing == NULL || count != 1 || names != NULL || !PyType_Check(arguments[0])
        || !has_one_line((PyTypeObject *)arguments[0])) {
        return NULL;
    }
    return PyBaseObject_Type.tp_new((PyTypeObject *)arguments[0], nothing, NULL);
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

SHORTCUT_METHOD(enter_no_grad, 0)
SHORTCUT_METHOD(leave_no_grad, 0)
SHORTCUT_METHOD(enter_enable_grad, 0)
SHORTCUT_METHOD(enter_set_grad, 0)
SHORTCUT_METHOD(set_grad_mode, 0)
SHORTCUT_METHOD(bare_new, 0)

static int
add(PyObject *Py_UNUSED(module))
{
    const struct {
        PyObject **place;
        const char *text;
    } names[] = {
        {&name_dict, "__dict__"}, {&name_inference, "inference"}, {&name_prev, "prev"},
        {&name_before, "_cut"},   {&no_grad, "no_grad"},          {&name_mode, "mode"},
        {&name_asked, "asked"},   {&set_false, "set_grad_enabled(False)"},
    };
    for (size_t index = 0; index < Py_ARRAY_LENGTH(names); index++) {
        *names[index].place = PyUnicode_InternFromString(names[index].text);
        if (*names[index].place == NULL) {
            return -1;
        }
    }
    return 0;
}

#define ENTRY(name, text) {#name, (PyCFunction)(void (*)(void))core_##name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    ENTRY(enter_no_grad, "enter_no_grad(function): no_grad.__enter__ outside of inference mode."),
    ENTRY(leave_no_grad, "leave_no_grad(function): no_grad.__exit__."),
    ENTRY(enter_enable_grad, "enter_enable_grad(function): enable_grad.__enter__ outside of inference mode."),
    ENTRY(enter_set_grad, "enter_set_grad(function): set_grad_enabled.__enter__ outside of inference mode."),
    ENTRY(set_grad_mode, "set_grad_mode(function): state.set_grad_mode."),
    ENTRY(bare_new, "bare_new(function): a __new__ that is given the class alone."),
    {NULL, NULL, 0, NULL},
};

const Part modes_part = {.methods = methods, .add = add};
