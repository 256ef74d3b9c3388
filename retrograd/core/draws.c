/* Random numbers without history, `x.normal_()`, `torch.randn(2, 3)`, `torch.rand_like(x)`: what `ops.random` does with
 * the common call. A compiled kernel draws them, or gives None before it has drawn anything. */
#include "caller.h"
#include "shortcut.h"

#define MOST_NUMBERS 2

static PyObject *name_generator, *name_float, *name_numpy;

static inline PyObject *
given(const Shortcut *self, Py_ssize_t index)
{
    return PyTuple_GET_ITEM(self->given, index);
}

/* What a kernel made; NULL, without an error, where that is None. */
static PyObject *
drawn_by(PyObject *kernel, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *made = PyObject_Vectorcall(kernel, arguments, (size_t)count, NULL);
    if (made == Py_None) {
        Py_CLEAR(made);
    }
    return made;
}

/* ---- into a tensor ------------------------------------------------------------------------------------------ */

/* Draws into the target and counts the write. `call` has places for generator, array and dtype before the numbers. */
static PyObject *
write_drawn(PyObject *kernel, PyObject *target, PyObject *writer, PyObject **call, Py_ssize_t numbers)
{
    PyObject *array = SLOT(target, in_tensor.array);
    call[1] = array;
    call[2] = (PyObject *)PyArray_DESCR(ARRAY(array));
    PyObject *made = drawn_by(kernel, call, 3 + numbers);
    if (made == NULL) {
        return NULL;
    }
    Py_DECREF(made);
    return count_write_here(target, writer) < 0 ? NULL : Py_NewRef(target);
}

/* Puts a keyword's value in its place: 0 where Python has to look at it. */
static int
place_keyword(const Shortcut *self, PyObject *name, PyObject *value, PyObject **call)
{
    PyObject *names = given(self, 3);
    if (name == name_generator) {
        const int own = Py_TYPE(value) == Py_TYPE(call[0]);
        call[0] = own ? value : call[0];
        return own || value == Py_None;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(names); index++) {
        if (PyTuple_GET_ITEM(names, index) == name) {
            call[3 + index] = value;
            return 1;
        }
    }
    return 0;
}

/* The generator and the numbers of a call: 0 where Python has to look at it. */
static int
read_call(const Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names, PyObject **call)
{
    PyObject *defaults = given(self, 4);
    const Py_ssize_t numbers = PyTuple_GET_SIZE(defaults), keywords = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (numbers > MOST_NUMBERS || count - 1 > numbers) {
        return 0;
    }
    call[0] = given(self, 1);
    for (Py_ssize_t index = 0; index < numbers; index++) {
        call[3 + index] = index + 1 < count ? arguments[index + 1] : PyTuple_GET_ITEM(defaults, index);
    }
    for (Py_ssize_t index = 0; index < keywords; index++) {
        PyObject *name = PyTuple_GET_ITEM(names, index);
        for (Py_ssize_t place = 0; place < count - 1; place++) {
            if (PyTuple_GET_ITEM(given(self, 3), place) == name) {
                return 0; /* given twice */
            }
        }
        if (!place_keyword(self, name, arguments[count + index], call)) {
            return 0;
        }
    }
    return 1;
}

/* x.normal_(mean, std, generator=None); given: kernel, generator, method, names of the numbers, their defaults */
static PyObject *
draw_into_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *call[3 + MOST_NUMBERS], *made[MOST_NUMBERS] = {NULL}, *result = NULL;
    const Py_ssize_t numbers = PyTuple_GET_SIZE(given(self, 4));
    if (count < 1 || is_plain_target(arguments[0]) <= 0 || !read_call(self, arguments, count, names, call)) {
        return NULL;
    }
    Py_ssize_t index = 0;
    for (; index < numbers; index++) {
        PyObject *number = call[3 + index];
        if (PyLong_CheckExact(number)) {
            const double value = PyLong_AsDouble(number);
            made[index] = value == -1 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(value);
            call[3 + index] = made[index];
        }
        if (call[3 + index] == NULL || !PyFloat_CheckExact(call[3 + index])) {
            PyErr_Clear(); /* too large: Python says so */
            break;
        }
    }
    if (index == numbers) {
        result = write_drawn(given(self, 0), arguments[0], given(self, 2), call, numbers);
    }
    for (index = 0; index < numbers; index++) {
        Py_XDECREF(made[index]);
    }
    return result;
}

/* x.random_(to) and x.random_(from, to); given: kernel, generator, method */
static PyObject *
draw_whole_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (names != NULL || count < 2 || count > 3 || is_plain_target(arguments[0]) <= 0) {
        return NULL;
    }
    PyObject *call[5] = {given(self, 1), NULL, NULL, count == 2 ? objects.zero : arguments[1], arguments[count - 1]};
    return write_drawn(given(self, 0), arguments[0], given(self, 2), call, 2);
}

/* ---- a new tensor ------------------------------------------------------------------------------------------- */

static PyObject *
new_drawn(PyObject *kernel, PyObject *generator, PyObject *shape, PyObject *dtype)
{
    PyObject *const call[3] = {generator, shape, dtype};
    PyObject *array = shape == NULL || dtype == NULL ? NULL : drawn_by(kernel, call, 3);
    PyObject *tensor = array == NULL ? NULL : new_tensor(array);
    Py_XDECREF(array);
    return tensor;
}

/* randn(*size); given: kernel, generator, the default dtypes */
static PyObject *
draw_new_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (names != NULL || count < 1 || is_unusual()) {
        return NULL;
    }
    PyObject *kind = PyObject_GetAttr(given(self, 2), name_float);
    PyObject *dtype = kind == NULL ? NULL : PyObject_GetAttr(kind, name_numpy);
    PyObject *shape = PyTuple_New(count);
    for (Py_ssize_t index = 0; shape != NULL && index < count; index++) {
        PyTuple_SET_ITEM(shape, index, Py_NewRef(arguments[index]));
    }
    PyObject *tensor = new_drawn(given(self, 0), given(self, 1), shape, dtype);
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    Py_XDECREF(kind);
    return tensor;
}

/* randn_like(x); given: kernel, generator */
static PyObject *
draw_like_way(Shortcut *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    if (names != NULL || count != 1 || is_unusual() || !is_tensor(arguments[0])) {
        return NULL;
    }
    PyObject *array = SLOT(arguments[0], in_tensor.array);
    if (array == NULL || !PyArray_CheckExact(array) || !PyArray_IS_C_CONTIGUOUS(ARRAY(array))) {
        return NULL;
    }
    PyObject *shape = shape_of(array);
    PyObject *tensor = new_drawn(given(self, 0), given(self, 1), shape, (PyObject *)PyArray_DESCR(ARRAY(array)));
    Py_XDECREF(shape);
    return tensor;
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

SHORTCUT_METHOD(draw_into, 5)
SHORTCUT_METHOD(draw_whole, 3)
SHORTCUT_METHOD(draw_new, 3)
SHORTCUT_METHOD(draw_like, 2)

static int
add(PyObject *Py_UNUSED(module))
{
    name_generator = PyUnicode_InternFromString("generator");
    name_float = PyUnicode_InternFromString("float");
    name_numpy = PyUnicode_InternFromString("numpy");
    return name_generator == NULL || name_float == NULL || name_numpy == NULL ? -1 : 0;
}

#define ENTRY(name, text) {#name, (PyCFunction)(void (*)(void))core_##name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    ENTRY(draw_into, "draw_into(function, kernel, generator, method, names, defaults): x.normal_(mean, std)."),
    ENTRY(draw_whole, "draw_whole(function, kernel, generator, method): x.random_(to)."),
    ENTRY(draw_new, "draw_new(function, kernel, generator, defaults): randn(*size)."),
    ENTRY(draw_like, "draw_like(function, kernel, generator): randn_like(x)."),
    {NULL, NULL, 0, NULL},
};

const Part draws_part = {.methods = methods, .add = add};
