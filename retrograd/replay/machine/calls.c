/* Kernels that are called: compiled functions where there is one for the op, else those of Python. */
#include "object.h"

/* Views that a kernel names must have memory by then. */
static int
are_there(const Machine *self, const int *views, int count)
{
    for (int each = 0; each < count; each++) {
        if (views[each] >= 0) {
            const Buffer *buffer = self->buffer + self->view[views[each]].buffer;
            if (buffer->kind == FROM_CALL && !buffer->there) {
                return fail("a kernel reads what no call has given");
            }
        }
    }
    return 1;
}

/* (function, fallback or None, arguments, their views, names of the last, views of the results) */
int
read_kernel(Machine *self, PyObject *facts, Kernel *kernel)
{
    PyObject *function, *fallback, *constants, *views, *names, *results;
    if (!PyArg_ParseTuple(facts, "OOO!O!O!O!", &function, &fallback, &PyTuple_Type, &constants, &PyTuple_Type, &views,
                          &PyTuple_Type, &names, &PyTuple_Type, &results)) {
        return 0;
    }
    kernel->function = Py_NewRef(function);
    kernel->fallback = fallback == Py_None ? NULL : Py_NewRef(fallback);
    kernel->constants = Py_NewRef(constants);
    kernel->names = PyTuple_GET_SIZE(names) == 0 ? NULL : Py_NewRef(names);
    kernel->arguments = (int)PyTuple_GET_SIZE(constants);
    kernel->results = (int)PyTuple_GET_SIZE(results);
    kernel->argument = zeros(kernel->arguments, sizeof(int));
    kernel->result = zeros(kernel->results, sizeof(int));
    if (kernel->argument == NULL || kernel->result == NULL) {
        return 0;
    }
    if (!PyCallable_Check(function) || PyTuple_GET_SIZE(views) != kernel->arguments
        || PyTuple_GET_SIZE(names) > kernel->arguments || kernel->arguments > MOST_ARGUMENTS) {
        return fail("a kernel has bad arguments");
    }
    if (!read_numbers(views, kernel->argument, self->views) || !read_numbers(results, kernel->result, self->views)
        || !are_there(self, kernel->argument, kernel->arguments)) {
        return 0;
    }
    for (int each = 0; each < kernel->results; each++) {
        if (kernel->result[each] >= 0) {
            const View *view = self->view + kernel->result[each];
            Buffer *buffer = self->buffer + view->buffer;
            if (buffer->kind == FROM_CALL && (buffer->there || view->offset != 0)) {
                return fail("a call gives what another gave, or a part of it");
            }
            buffer->there = 1;
        }
    }
    return 1;
}

/* Hands the arrays in nested results to the views, one after the other. */
static int
take_results(Machine *self, const Kernel *kernel, PyObject *found, int *next, int alone)
{
    if (!PyTuple_Check(found) && !PyList_Check(found)) {
        const int at = (*next)++;
        return at >= kernel->results || kernel->result[at] < 0
               || take_result(self, kernel->result[at], found, alone);
    }
    alone &= Py_REFCNT(found) == 1;
    for (Py_ssize_t each = 0; each < PySequence_Fast_GET_SIZE(found); each++) {
        if (!take_results(self, kernel, PySequence_Fast_GET_ITEM(found, each), next, alone)) {
            return 0;
        }
    }
    return 1;
}

int
run_kernel(Machine *self, const Kernel *kernel)
{
    PyObject *given[MOST_ARGUMENTS + 1], **arguments = given + 1, *found = NULL;
    int count = 0, next = 0;
    for (; count < kernel->arguments; count++) {
        const int view = kernel->argument[count];
        arguments[count] = view < 0 ? Py_NewRef(PyTuple_GET_ITEM(kernel->constants, count))
                                    : view_array(self, self->view + view);
        if (arguments[count] == NULL) {
            break;
        }
    }
    if (count == kernel->arguments) {
        const size_t positional =
            (size_t)(count - (kernel->names == NULL ? 0 : (int)PyTuple_GET_SIZE(kernel->names)));
        found = PyObject_Vectorcall(kernel->function, arguments, positional | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                    kernel->names);
        if (found == Py_None && kernel->fallback != NULL) {
            Py_DECREF(found);
            found = PyObject_Vectorcall(kernel->fallback, arguments, positional | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                        kernel->names);
        }
    }
    while (count > 0) {
        Py_DECREF(arguments[--count]);
    }
    const int done = found != NULL && take_results(self, kernel, found, &next, 1);
    Py_XDECREF(found);
    return done;
}

void
free_kernel(Kernel *kernel)
{
    Py_XDECREF(kernel->function);
    Py_XDECREF(kernel->fallback);
    Py_XDECREF(kernel->names);
    Py_XDECREF(kernel->constants);
    PyMem_Free(kernel->argument);
    PyMem_Free(kernel->result);
}

int
visit_kernel(const Kernel *kernel, visitproc visit, void *arg)
{
    Py_VISIT(kernel->function);
    Py_VISIT(kernel->fallback);
    Py_VISIT(kernel->constants);
    return 0;
}
