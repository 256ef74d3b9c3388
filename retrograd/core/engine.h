/* What the files of the compiled engine share: running a node, accumulating at a leaf, walking the graph. */
#ifndef RETROGRAD_ENGINE_H
#define RETROGRAD_ENGINE_H

#include "core.h"

/* ---- chain.c ------------------------------------------------------------------------------------------------ */

/* The steps that a walk has put off. Arrays that they will compute are *promised*: they have no memory yet. */
typedef struct {
    struct Steps *steps; /* NULL: none so far */
} Chain;

int chain_waits(const Chain *chain);                         /* whether there are any */
int chain_promised(const Chain *chain, PyObject *array);     /* whether one of them will compute this array */
int chain_do(Chain *chain);                                  /* does them all; -1 with an error set */
PyObject *chain_sum(Chain *chain, PyObject *left, PyObject *right); /* promised; NULL without an error: not a case for it */
void chain_close(Chain *chain);                              /* at the end: nobody needs what still waits */

/* Every promised array gets its values. To be called before anything but the rules that know about chains sees one, and
 * before any code that is not the walk's own runs. */
static inline int
chain_settle(Chain *chain)
{
    return chain != NULL && chain->steps != NULL && chain_waits(chain) ? chain_do(chain) : 0;
}

/* ---- results of a node -------------------------------------------------------------------------------------- */

/* What a node computed, one part for each edge. Either the parts are owned here, one by one, or a tuple that a
 * Python function returned holds them. NULL and None mean that no gradient goes along that edge. */
#define FEW_PARTS 8

typedef struct {
    Py_ssize_t count;
    PyObject *parts[FEW_PARTS];
    PyObject *holder; /* a tuple or list, or NULL */
    int spare;        /* nobody but the walk has the gradient, so the last part may be computed in its memory */
    Chain *chain;     /* takes steps on large arrays, to be done later; NULL: everything is done at once */
} Results;

static inline void
results_clear(Results *results)
{
    if (results->holder != NULL) {
        Py_CLEAR(results->holder);
    }
    else {
        for (Py_ssize_t index = 0; index < results->count; index++) {
            Py_CLEAR(results->parts[index]);
        }
    }
    results->count = 0;
}

/* A part as a new reference, taken out where it is owned; NULL where there is none. */
static inline PyObject *
results_take(Results *results, Py_ssize_t index)
{
    if (index >= results->count) {
        return NULL;
    }
    if (results->holder == NULL) {
        PyObject *part = results->parts[index];
        results->parts[index] = NULL;
        return part;
    }
    PyObject *part = PySequence_Fast_GET_ITEM(results->holder, index);
    return part == Py_None ? NULL : Py_NewRef(part);
}

/* A set of edges: those whose gradient somebody waits for. Nodes with more edges than bits are run by Python. */
typedef unsigned long long Edges;
#define MOST_EDGES 64

/* ---- rules.c ------------------------------------------------------------------------------------------------ */

/* A rule on arrays: from the gradient of the output and the saved values to those of the inputs.
 * 1: done, 0: not a case for it (nothing was done, the Python rules are), -1 with an error set. */
typedef int (*CompiledRule)(PyObject *gradient, PyObject **saved, Edges wanted, Results *results);

/* One op's rule. `saved_names` are the names of what it saves, in the order of the saved values: a declaration that
 * saves something else has no compiled rule. */
typedef struct {
    const char *op, *saved_names;
    CompiledRule rule;
    int chains; /* it reads the gradient's values in steps only, which may be put off, or settles the chain first */
} NamedRule;

#define CHAINS 1

/* The rule of an op whose saved values have exactly these names ("other,input"); NULL if there is none. */
const NamedRule *find_compiled_rule(const char *op, const char *saved_names);

/* ---- run.c -------------------------------------------------------------------------------------------------- */

extern PyTypeObject RunType;

/* Run a node on arrays (or on Tensors, recorded): 1, 0 or -1 as above. Releases what was saved if `freeing` is a
 * call. `run` is a `Run` object. */
int run_node(PyObject *run, PyObject *node, PyObject *gradient, Edges wanted, PyObject *freeing, int recorded,
             Results *results);

/* Applies one of an op's rules to an array, and `values` as the op saves them. The part is NULL where the rule gives None. */
int run_rule(PyObject *run, int edge, PyObject *gradient, PyObject **values, PyObject **part);

/* ---- accumulate.c ------------------------------------------------------------------------------------------- */

/* Adds an array to the `.grad` of an accumulator's leaf; takes the array over if it is the only owner, and then
 * empties the place. 1, 0 or -1 as above. */
int accumulate(PyObject *node, PyObject **gradient);

extern PyObject *accumulate_run; /* `AccumulateGrad.run_raw` */

/* ---- walk.c ------------------------------------------------------------------------------------------------- */

/* Walks the graph behind `root` for a call: what arrived at the inputs, as a list (empty if `inputs` is None); NULL
 * with an error set; NotImplemented, before anything was done, where the graph is not a case for C. Takes over the
 * reference to the gradient. `inputs` is None or a list of (node, number) and None. */
PyObject *walk_graph(PyObject *root, PyObject *gradient, PyObject *call, PyObject *inputs, int as_tensors);

/* ---- arrays ------------------------------------------------------------------------------------------------- */

/* Both are the layout of a contiguous array; one that has both is contiguous in either order. */
#define LAYOUT (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)

/* A float32 or float64 array of NumPy's own class, aligned and contiguous in either order. */
static inline int
is_plain(PyObject *object)
{
    if (!PyArray_CheckExact(object)) {
        return 0;
    }
    const int flags = PyArray_FLAGS(ARRAY(object));
    const PyArray_Descr *dtype = PyArray_DESCR(ARRAY(object));
    return (flags & LAYOUT) && (flags & NPY_ARRAY_ALIGNED) && (dtype == objects.F32 || dtype == objects.F64);
}

static inline int
has_shape_of(PyObject *first, PyObject *second)
{
    return PyArray_NDIM(ARRAY(first)) == PyArray_NDIM(ARRAY(second))
           && PyArray_CompareLists(PyArray_DIMS(ARRAY(first)), PyArray_DIMS(ARRAY(second)), PyArray_NDIM(ARRAY(first)));
}

/* Two plain arrays of one dtype, shape and layout: element by element they lie alike. */
static inline int
are_alike(PyObject *first, PyObject *second)
{
    return is_plain(first) && is_plain(second) && PyArray_DESCR(ARRAY(first)) == PyArray_DESCR(ARRAY(second))
           && (PyArray_FLAGS(ARRAY(first)) & LAYOUT) == (PyArray_FLAGS(ARRAY(second)) & LAYOUT)
           && has_shape_of(first, second);
}

/* Whether the shape of an array is that tuple. */
static inline int
shape_is(PyObject *array, PyObject *shape)
{
    const int ndim = PyArray_NDIM(ARRAY(array));
    if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != ndim) {
        return 0;
    }
    for (int axis = 0; axis < ndim; axis++) {
        PyObject *size = PyTuple_GET_ITEM(shape, axis);
        if (!PyLong_CheckExact(size) || PyLong_AsSsize_t(size) != PyArray_DIM(ARRAY(array), axis)) {
            PyErr_Clear(); /* a size that fits no array */
            return 0;
        }
    }
    return 1;
}

/* target += other where both are alike, and the target is the engine's to write; 0 if they are not. */
int add_alike(PyObject *target, PyObject *other);

extern const Part run_part, rules_part, accumulate_part, walk_part, backward_part;

#endif
