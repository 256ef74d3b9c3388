/* Work on large arrays in several threads: the pool lives in `_tiny`, the other compiled parts find it by a capsule. */
#ifndef RETROGRAD_THREADS_H
#define RETROGRAD_THREADS_H

#include <Python.h>
#include <numpy/npy_common.h>

/* Does the elements (rows, images, ...) from `start` to `stop`. It must not call Python. */
typedef void (*ThreadWork)(void *context, npy_intp start, npy_intp stop);

typedef struct {
    /* All of `total`, in pieces of at least `grain`; which thread does a piece, and in which order, is open. Where the pool
     * is busy, as with the work of another Python thread, the caller does it alone. */
    void (*run)(ThreadWork work, void *context, npy_intp total, npy_intp grain);
    int (*count)(void); /* how many threads there may be, the caller's included */
} ThreadPool;

extern const ThreadPool *const thread_pool; /* within `_tiny` */

#define THREADS_CAPSULE "retrograd.backend.kernels._tiny.threads"

/* So many elements are worth another thread: waking one takes as long as some ten thousand additions. */
#define THREAD_GRAIN 32768

/* NULL where `_tiny` is not built or switched off; no error is set then. */
static inline const ThreadPool *
find_thread_pool(void)
{
    const ThreadPool *found = PyCapsule_Import(THREADS_CAPSULE, 0);
    PyErr_Clear();
    return found;
}

static inline void
in_threads(const ThreadPool *pool, ThreadWork work, void *context, npy_intp total, npy_intp grain)
{
    if (pool == NULL || total < 2 * grain) {
        work(context, 0, total);
    }
    else {
        pool->run(work, context, total, grain);
    }
}

#endif
