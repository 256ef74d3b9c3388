/* What the memory of a machine is in a run: arrays of views, new memory for outputs, and what calls give. */
#include "object.h"

static PyObject *
new_view(Machine *self, View *view)
{
    Buffer *buffer = self->buffer + view->buffer;
    if (buffer->owner == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "replay: an array is read before it is made");
        return NULL;
    }
    PyObject *made = PyArray_NewFromDescr(
        &PyArray_Type, (PyArray_Descr *)Py_NewRef(view->dtype), view->dims, view->shape, view->strides,
        self->base[view->buffer] + view->offset, NPY_ARRAY_WRITEABLE, NULL);
    if (made != NULL && PyArray_SetBaseObject(ARRAY(made), Py_NewRef(buffer->owner)) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* A new reference to the array of a view. */
PyObject *
view_array(Machine *self, View *view)
{
    if (view->array == NULL) {
        view->array = new_view(self, view);
    }
    return Py_XNewRef(view->array);
}

/* ---- outputs ------------------------------------------------------------------------------------------------------ */

#define SMALL_OUTPUT 4096 /* bytes: larger memory is given back between runs */

/* Whether an array of an earlier run is nobody's any more, and as it was made. */
static int
is_free(const View *view, PyObject *kept)
{
    if (kept == NULL || Py_REFCNT(kept) != 1 || !PyArray_ISCARRAY(ARRAY(kept)) || PyArray_NDIM(ARRAY(kept)) != view->dims
        || PyArray_DESCR(ARRAY(kept)) != view->dtype || PyArray_BASE(ARRAY(kept)) != NULL) {
        return 0;
    }
    return PyArray_CompareLists(PyArray_DIMS(ARRAY(kept)), view->shape, view->dims);
}

/* New memory for a buffer: an array as the caller will get it, where one view covers all of it. */
static int
make_buffer(Machine *self, int at)
{
    Buffer *buffer = self->buffer + at;
    PyObject *owner;
    if (buffer->whole >= 0) {
        View *view = self->view + buffer->whole;
        owner = is_free(view, buffer->kept) ? Py_NewRef(buffer->kept) : PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(view->dtype), view->dims, view->shape,
                                     NULL, NULL, 0, NULL);
        if (owner != NULL) {
            Py_XSETREF(view->array, Py_NewRef(owner));
        }
        if (owner != NULL && owner != buffer->kept && buffer->size <= SMALL_OUTPUT) {
            Py_XSETREF(buffer->kept, Py_NewRef(owner));
        }
    }
    else {
        npy_intp size = buffer->size;
        owner = PyArray_SimpleNew(1, &size, NPY_UINT8);
    }
    if (owner == NULL) {
        return 0;
    }
    Py_XSETREF(buffer->owner, owner);
    self->base[at] = PyArray_BYTES(ARRAY(owner));
    return 1;
}

int
make_outputs(Machine *self)
{
    for (int each = 0; each < self->leavings; each++) {
        if (!make_buffer(self, self->leaving[each])) {
            return 0;
        }
    }
    return 1;
}

/* ---- what calls give ---------------------------------------------------------------------------------------------- */

/* Whether nobody has an array but the caller and what it was found in, or the memory that it is a view of; `leaves`: and the memory is its own. */
static int
is_ours(PyObject *object, int leaves)
{
    PyArrayObject *array = ARRAY(object);
    if (Py_REFCNT(object) != 2 || !PyArray_ISBEHAVED(array)) {
        return 0;
    }
    PyObject *base = PyArray_BASE(array);
    if (base == NULL) {
        return PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
    }
    return !leaves && PyArray_CheckExact(base) && Py_REFCNT(base) == 1 && PyArray_BASE(ARRAY(base)) == NULL
           && PyArray_CHKFLAGS(ARRAY(base), NPY_ARRAY_OWNDATA);
}

static int
has_shape(const View *view, PyArrayObject *array)
{
    return PyArray_NDIM(array) == view->dims && PyArray_CompareLists(PyArray_DIMS(array), view->shape, view->dims)
           && PyArray_DESCR(array)->type_num == view->dtype->type_num && PyArray_ISNOTSWAPPED(array);
}

static int
has_strides(const View *view, PyArrayObject *array)
{
    for (int dim = 0; dim < view->dims; dim++) {
        if (PyArray_STRIDE(array, dim) != view->strides[dim] && view->shape[dim] > 1) {
            return 0;
        }
    }
    return 1;
}

/* Puts what a call gave into its place: the array itself where nobody else has it (`alone`: nor what it came in). */
int
take_result(Machine *self, int number, PyObject *value, int alone)
{
    View *view = self->view + number;
    Buffer *buffer = self->buffer + view->buffer;
    PyObject *found = PyArray_CheckExact(value) ? Py_NewRef(value) : PyArray_FromAny(value, NULL, 0, 0, 0, NULL);
    if (found == NULL) {
        return 0;
    }
    int done = 0;
    if (!has_shape(view, ARRAY(found))) {
        PyErr_SetString(PyExc_RuntimeError, "replay: an array is not as it was when recorded");
    }
    else if (buffer->kind == FROM_CALL && alone && found == value && has_strides(view, ARRAY(found))) {
        done = is_ours(found, buffer->leaves);
        if (done) {
            Py_XSETREF(buffer->owner, Py_NewRef(found));
            Py_XSETREF(view->array, Py_NewRef(found));
            self->base[view->buffer] = PyArray_BYTES(ARRAY(found));
        }
    }
    if (!done && !PyErr_Occurred() && (buffer->kind != FROM_CALL || make_buffer(self, view->buffer))) {
        PyObject *place = view_array(self, view);
        done = place != NULL && PyArray_CopyInto(ARRAY(place), ARRAY(found)) == 0;
        Py_XDECREF(place);
    }
    Py_DECREF(found);
    return done;
}

/* Lets go what calls gave and nobody needs after an instruction. */
void
release(Machine *self, const Instruction *instruction)
{
    for (int each = 0; each < instruction->releases; each++) {
        const int at = instruction->released[each];
        for (int view = self->buffer[at].first; view >= 0; view = self->view[view].next) {
            Py_CLEAR(self->view[view].array);
        }
        Py_CLEAR(self->buffer[at].owner);
        self->base[at] = NULL;
    }
}

/* What belongs to one run is let go. */
void
let_go(Machine *self)
{
    for (int at = 0; at < self->fleetings; at++) {
        Py_CLEAR(self->view[self->fleeting[at]].array);
        Py_CLEAR(self->buffer[self->view[self->fleeting[at]].buffer].owner);
    }
    for (int at = 0; at < self->leavings; at++) {
        Py_CLEAR(self->buffer[self->leaving[at]].owner);
    }
    for (int at = 0; at < self->takings; at++) {
        Py_CLEAR(self->buffer[self->taken[at]].owner);
        self->base[self->taken[at]] = NULL;
    }
}
