/* What the files of the compiled core share: the slots of the library's classes, arrays, modes, call sites.
 *
 * The core is an accelerator in the manner of `_heapq`: the Python code is the definition. A function here does
 * what the Python function of the same purpose does, for the common case, and calls that Python function for
 * everything else. It decides before it has changed anything, so the two never do half of the work each.
 *
 * Tensors, nodes and their kin are ordinary Python objects whose classes declare `__slots__`. A slot is a pointer
 * at a fixed place in the object; the places are read from the classes' member descriptors once, by `setup`.
 *
 * How a file adds to the module: it defines a `Part` (its methods, the Python objects it needs, a function that
 * runs once when they are there), declares it below, and module.c lists it.
 */
#ifndef RETROGRAD_CORE_H
#define RETROGRAD_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#ifndef RETROGRAD_CORE_MODULE
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#define PY_ARRAY_UNIQUE_SYMBOL retrograd_core_array_api
#define PY_UFUNC_UNIQUE_SYMBOL retrograd_core_ufunc_api
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "../backend/kernels/threads.h"

#define ARRAY(object) ((PyArrayObject *)(object))

/* ---- parts of the module ------------------------------------------------------------------------------------ */

/* A Python object that `setup` is given by name; `place` gets a reference of its own. */
typedef struct {
    const char *name;
    PyObject **place;
} Wanted;

typedef struct {
    PyMethodDef *methods; /* ends with an empty entry; NULL: none */
    const Wanted *wanted; /* ends with an empty entry; NULL: none */
    int (*add)(PyObject *module);   /* when the module is made: types; NULL: nothing; -1 with an error set */
    int (*start)(void);             /* when all objects are there; NULL: nothing to do; -1 with an error set */
} Part;

extern const Part blocks_part, leaving_part, replayed_part, detach_part, modes_part, writes_part, draws_part, brackets_part, shapes_part;
extern const Part site_part, shortcut_part, arithmetic_part, steps_part, gradients_part, release_part, reuse_part, layers_part, guards_part;

/* This thread's `vmap` call, of so many examples, is the only one anywhere; -1: that is not so. */
void only_batch(Py_ssize_t size);

/* This thread's dual level, with the dictionary of its holders, is the only one anywhere; NULL: that is not so. */
void only_level(PyObject *level, PyObject *holders);

/* ---- the library's objects ---------------------------------------------------------------------------------- */

typedef struct {
    PyTypeObject *Tensor, *Parameter, *TensorMeta, *VersionCell, *ViewInfo, *Node, *BackwardCall, *Cut;
    PyObject *HOT, *STATE, *TRANSFORMS, *INFERENCE_CELL;
    PyObject *numbers;                            /* the counter of nodes and backward calls */
    PyObject *refresh, *accumulator, *edge_of;    /* engine.views, engine.accumulate */
    PyObject *QUIET, *enter_quiet, *leave_quiet;  /* backend.quiet */
    PyObject *zero, *one;                         /* made here, as are the names below */
    PyObject *name_UNUSUAL, *name_NO_GRAD, *name_grad_enabled, *name_cut;
    PyArray_Descr *F32, *F64, *I64, *B8;
} Objects;

extern Objects objects;
extern int core_ready; /* `setup` was run: before, every caller calls its Python function */
extern int core_calls_python; /* all callers do: function modes, which are in the Python functions' code, are on */

typedef struct {
    Py_ssize_t array, cell, cut, grad_fn, meta, output_nr, requires_grad, view;
} TensorSlots;

typedef struct {
    Py_ssize_t accumulator, grad, grad_dtype, hooks, inference, post_accumulate_hooks, relaid, retains_grad, tangents;
} MetaSlots;

typedef struct {
    Py_ssize_t code, detached, lasti, version, writer;
} CellSlots;

typedef struct {
    Py_ssize_t at, base, creation, last, own;
} ViewSlots;

typedef struct {
    Py_ssize_t code, kind, lasti, leaves, operation;
} CutSlots;

typedef struct {
    Py_ssize_t reached_code, reached_lasti, buffer, code, cuts, dtype, edge_numbers, edges, extra, freed, lasti, owned, pending,
        run, saved, sequence, shape, visit;
} NodeSlots;

typedef struct {
    Py_ssize_t callbacks, code, create_graph, interrupted_by, kept, kind, lasti, need, node, nodes_run, number, ordinal,
        recomputed, restricted, retain_graph, root_nodes, roots;
} CallSlots;

/* A slot of a class by name, and where its place is kept. */
typedef struct {
    const char *name;
    Py_ssize_t *offset;
} Slot;

/* module.c: finds the places of slots, up to an empty entry; -1 with an error set. */
int find_slots(PyTypeObject *type, const Slot *slots);

extern TensorSlots in_tensor;
extern MetaSlots in_meta;
extern CellSlots in_cell;
extern ViewSlots in_view;
extern CutSlots in_cut;
extern NodeSlots in_node;
extern CallSlots in_call;

/* ---- slots -------------------------------------------------------------------------------------------------- */

/* A slot as a place: NULL in it means that the attribute was deleted, or never set. */
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* Gives an empty slot of a new object its value. */
static inline void
slot_fill(PyObject *object, Py_ssize_t offset, PyObject *value)
{
    SLOT(object, offset) = Py_NewRef(value);
}

/* Replaces a slot's value. What was there goes last: its end may run any code. */
static inline void
slot_set(PyObject *object, Py_ssize_t offset, PyObject *value)
{
    PyObject *before = SLOT(object, offset);
    SLOT(object, offset) = Py_NewRef(value);
    Py_XDECREF(before);
}

/* Whether a slot holds a value other than None. */
static inline int
slot_given(PyObject *object, Py_ssize_t offset)
{
    PyObject *value = SLOT(object, offset);
    return value != NULL && value != Py_None;
}

/* A tensor of the library's own two classes: a subclass may have another idea of everything. */
static inline int
is_tensor(PyObject *object)
{
    return Py_TYPE(object) == objects.Tensor || Py_TYPE(object) == objects.Parameter;
}

extern const ThreadPool *shared_threads; /* NULL where there is none: the caller does all work itself */

/* Whether gradients flow to a tensor, whose slots are filled: the property `requires_grad`. */
static inline int
requires_grad(PyObject *tensor)
{
    PyObject *view = SLOT(tensor, in_tensor.view), *flag = SLOT(tensor, in_tensor.requires_grad);
    if (view != Py_None && SLOT(tensor, in_tensor.grad_fn) == Py_None && SLOT(view, in_view.own) != Py_True) {
        flag = SLOT(SLOT(view, in_view.base), in_tensor.requires_grad);
    }
    return flag != Py_False;
}

/* The `__dict__` of an object, borrowed: its owner must stay. NULL, without an error, if it has none. */
static inline PyObject *
borrowed_dict(PyObject *object)
{
    PyObject *found = PyObject_GenericGetDict(object, NULL);
    if (found == NULL) {
        PyErr_Clear();
        return NULL;
    }
    Py_DECREF(found);
    return found;
}

/* ---- modes -------------------------------------------------------------------------------------------------- */

/* Whether the count of that name in HOT is 0. Anything odd reads as "not 0": the Python path looks again. */
static inline int
count_is_zero(PyObject *name)
{
    return PyDict_GetItemWithError(objects.HOT, name) == objects.zero;
}

/* A rarer mode is on somewhere: everything goes the general way. */
static inline int
is_unusual(void)
{
    return !count_is_zero(objects.name_UNUSUAL);
}

/* Whether this thread records gradients: 1 or 0; -1 with an error set. */
int grad_is_enabled(void);

/* The number of a new node or backward call; a new reference. */
static inline PyObject *
next_sequence(void)
{
    return Py_TYPE(objects.numbers)->tp_iternext(objects.numbers);
}

/* ---- call sites (site.c) ------------------------------------------------------------------------------------ */

/* The user's line: code object (or None) and instruction, both new references; -1 with an error set. */
int user_site(PyObject **code, PyObject **instruction);

/* ---- arrays ------------------------------------------------------------------------------------------------- */

/* Copies sizes or strides; of no dimensions there may be no address. */
static inline void
copy_numbers(npy_intp *to, const npy_intp *from, size_t count)
{
    if (count > 0) {
        memcpy(to, from, count * sizeof *to);
    }
}

/* A tuple of ints; a new reference. Shapes come again and again: for each that was made before it is the same one, which
 * the collector of garbage does not know. */
PyObject *int_tuple(int length, const npy_intp *numbers);

/* The shape as a tuple of ints; a new reference. */
static inline PyObject *
shape_of(PyObject *array)
{
    return int_tuple(PyArray_NDIM(ARRAY(array)), PyArray_DIMS(ARRAY(array)));
}

/* A new array of the same shape and layout (row by row unless the other is column by column). */
static inline PyObject *
new_array_like(PyObject *array)
{
    PyArray_Descr *dtype = PyArray_DESCR(ARRAY(array));
    Py_INCREF(dtype); /* the call below takes this reference */
    return PyArray_NewFromDescr(&PyArray_Type, dtype, PyArray_NDIM(ARRAY(array)), PyArray_DIMS(ARRAY(array)), NULL, NULL,
                                PyArray_IS_C_CONTIGUOUS(ARRAY(array)) ? 0 : NPY_ARRAY_F_CONTIGUOUS, NULL);
}

/* ---- new objects (module.c) --------------------------------------------------------------------------------- */

/* A Tensor around an array without history: `tensor.wrap`. */
PyObject *new_tensor(PyObject *array);

/* ---- memory (reuse.c, release.c) ---------------------------------------------------------------------------- */

/* Whether an object has no attributes but its slots, and no weak references that Python keeps before it. */
int is_blank(PyObject *object);

/* The end of an object whose values are gone: its memory is kept for the next of its class, or given back. */
void free_object(PyObject *object);

/* A tuple that a node alone will hold, as its edges or saved values; the collector sees it through the node. */
PyObject *own_tuple(Py_ssize_t size);

/* A version cell at version 0. It refers to nothing that could refer back, so the collector need not know it. */
PyObject *new_cell(void);

/* Where a path that could have carried a gradient was cut. */
PyObject *new_cut(PyObject *kind, PyObject *operation, PyObject *code, PyObject *instruction);

/* lineage.c: notes on a cut which leaves are behind tensors and nodes; entries may be NULL. */
int note_leaves(PyObject *cut, PyObject *const *roots, Py_ssize_t count);

/* lineage.c: notes on a node where the path to an operand was cut. */
int add_cut(PyObject *node, PyObject *cut);

/* A tensor's version cell, borrowed; made now if there was none (record.c). */
PyObject *source_cell(PyObject *tensor);

/* Counts one write to a tensor's storage, by `writer` at a call site; -1 with an error set. */
int count_write(PyObject *tensor, PyObject *writer, PyObject *code, PyObject *instruction);

#endif
