/* Memory that is used again: that of tensors, nodes and their kin.
 *
 * A training step makes thousands of them and lets all of them go. Python's garbage collector counts what is made
 * less what has gone, and looks at everything young whenever that is 700 more: many times a step, in vain, since
 * nothing of a graph is part of a cycle. Python's own answer, for tuples and lists, is to keep the memory of those that
 * have gone. So it is here; memory from this store is not counted. Where graphs do end up in cycles (a hook that holds
 * its own tensor) none of them comes back here, new ones are counted, and the collector runs as ever.
 *
 * Only memory is kept: the object was taken apart before (release.c).
 */
#include "core.h"

#ifdef Py_GIL_DISABLED
#define MOST_KEPT 0 /* the store has no lock */
#elif defined(__SANITIZE_ADDRESS__)
#define MOST_KEPT 0 /* memory that is kept is not watched */
#else
#define MOST_KEPT 8000 /* of each class */
#endif

/* ---- memory of objects -------------------------------------------------------------------------------------- */

typedef struct {
    PyTypeObject *type;
    int count;
    PyObject *kept[MOST_KEPT + 1];
} Store;

enum { TENSORS, NODES, CELLS, VIEWS, STORES };

static Store stores[STORES];

static inline Store *
store_of(PyTypeObject *type)
{
    for (int index = 0; index < STORES; index++) {
        if (stores[index].type == type) {
            return &stores[index];
        }
    }
    return NULL;
}

int
is_blank(PyObject *object)
{
    if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT)) {
        return 1;
    }
    void **before = (void **)object - 4; /* two words of Python's, then the collector's two */
    return before[0] == NULL && before[1] == NULL;
}

/* `tp_alloc`: as PyType_GenericAlloc, with memory from the store where there is some. */
static PyObject *
take(PyTypeObject *type, Py_ssize_t size)
{
    Store *store = store_of(type);
    if (store == NULL || store->count == 0) {
        return PyType_GenericAlloc(type, size);
    }
    PyObject *object = PyObject_Init(store->kept[--store->count], type);
    PyObject_GC_Track(object);
    return object;
}

void
free_object(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    Store *store = store_of(type);
    if (store != NULL && store->count < MOST_KEPT && is_blank(object)) {
        store->kept[store->count++] = object;
    }
    else {
        type->tp_free(object);
    }
}

/* ---- the part ----------------------------------------------------------------------------------------------- */

static int
start(void)
{
    PyTypeObject *types[STORES] = {objects.Tensor, objects.Node, objects.VersionCell, objects.ViewInfo};
    for (int index = 0; MOST_KEPT > 0 && index < STORES; index++) {
        if (stores[index].type == NULL && types[index]->tp_alloc == PyType_GenericAlloc) {
            stores[index].type = (PyTypeObject *)Py_NewRef((PyObject *)types[index]);
            types[index]->tp_alloc = take;
        }
    }
    return 0;
}

const Part reuse_part = {.start = start};
