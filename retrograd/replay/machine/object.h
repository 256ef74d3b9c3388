/* The machine as an object, and what its memory is in a run. */
#ifndef RETROGRAD_MACHINE_OBJECT_H
#define RETROGRAD_MACHINE_OBJECT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL retrograd_machine_arrays
#ifndef IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "machine.h"

#define MOST_ARGUMENTS 24
#define ARRAY(object) ((PyArrayObject *)(object))

/* ---- what a machine is made of ---------------------------------------------------------------------------------- */

/* FROM_CALL: what a kernel gave in this run, as it is. */
enum { FROM_INPUT, FROM_CONSTANT, FROM_ARENA, FROM_OUTPUT, FROM_CALL, BUFFER_KINDS };

typedef struct {
    int kind;
    ptrdiff_t size, place; /* of an arena's part: where it begins */
    PyObject *owner; /* of its memory: a constant always, an input, an output and what a call gave while it runs */
    int whole;       /* of an output: the view that covers all of it, or -1 */
    PyObject *kept;  /* of a small output: what it was in the last run; it is again, if nobody else has it */
    int first;         /* of its views, or -1 */
    int leaves, there; /* of a call's: it is an output; an instruction that was read makes it, and none has let it go */
} Buffer;

typedef struct {
    int buffer, written;
    ptrdiff_t offset;
    int dims;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    PyArray_Descr *dtype;
    PyObject *array; /* made when it is asked for */
    int next;        /* of the views of its buffer, or -1 */
} View;

/* A function called with views and constants; what it gives goes to views. `fallback` where it gives None. */
typedef struct {
    PyObject *function, *fallback, *names; /* names: of the last arguments, or NULL */
    PyObject *constants;                   /* a tuple of all arguments; those that are views have a number */
    int arguments, results;
    int *argument, *result; /* views, -1 for a constant or for what nobody wants */
} Kernel;

enum { RUN_CHAIN, RUN_PRODUCT, RUN_KERNEL, RUN_ROWS };

typedef struct {
    int what, number, small, is_long;
    ptrdiff_t register_bytes; /* of a chain */
    union { /* by `what`: plans of thousands of instructions should stay in the caches */
        Chain chain;
        Product product;
        Kernel kernel;
        Rows rows;
    };
    int *released, releases; /* buffers of calls that nobody needs any more */
} Instruction;

typedef struct {
    PyObject_HEAD
    int buffers, views, inputs, outputs, instructions, running;
    Buffer *buffer;
    char **base; /* where each buffer begins */
    View *view;
    int *input, *output; /* views */
    int *fleeting, *leaving, *taken; /* views of one run; buffers of outputs, and of calls */
    int fleetings, leavings, takings;
    Instruction *instruction;
    PyObject *arena; /* an array of bytes */
    void *registers;
    double *totals;
} Machine;

/* module.c */
int fail(const char *message);
void *zeros(Py_ssize_t count, size_t size);
int read_numbers(PyObject *tuple, int *numbers, int below);

/* memory.c: arrays of views, and the memory of outputs and of what calls give. */
PyObject *view_array(Machine *self, View *view);
int make_outputs(Machine *self);
int take_result(Machine *self, int number, PyObject *value, int alone);
void release(Machine *self, const Instruction *instruction);
void let_go(Machine *self);

/* calls.c: kernels that are called. */
int read_kernel(Machine *self, PyObject *facts, Kernel *kernel);
int run_kernel(Machine *self, const Kernel *kernel);
void free_kernel(Kernel *kernel);
int visit_kernel(const Kernel *kernel, visitproc visit, void *arg);

#endif
