/* The pool of threads that compiled kernels share.
 *
 * One piece of work at a time: it is cut into pieces, and the caller and the workers take one after the other, so a worker that
 * the system does not let run costs nothing but its piece. Nobody waits for the pool: who finds it busy works alone. The
 * workers know nothing of Python and never need its lock; signals go to other threads. They are started when they are first
 * needed. A child of `fork` has none of them and starts its own.
 */
#define NO_IMPORT_ARRAY
#include "tiny.h"

#include "threads.h"

#define MOST_THREADS 256

static int wanted = 1; /* threads, the caller's included */

#if defined(_WIN32)

static void
run_in_threads(ThreadWork work, void *context, npy_intp total, npy_intp Py_UNUSED(grain))
{
    work(context, 0, total);
}

static int
start_pool(void)
{
    return 0;
}

#else

#include <pthread.h>
#include <signal.h>

/* Pieces for each thread: some end sooner than others. */
#define PIECES_EACH 2
/* Pieces begin at multiples of this many elements, so that no two threads write to one cache line of a dense array. */
#define PIECE_STEP 64

static pthread_mutex_t entrance = PTHREAD_MUTEX_INITIALIZER; /* held for the length of one piece of work */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;     /* held while the fields below are read or written */
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER, ended = PTHREAD_COND_INITIALIZER;
static int started; /* workers */

static struct {
    ThreadWork work;
    void *context;
    npy_intp total, size; /* size: of a piece */
    npy_intp next, count; /* pieces */
    npy_intp left;        /* pieces that are not done */
} job;

/* Does pieces until none is left to begin. The lock is held before and after. */
static void
take_pieces(void)
{
    while (job.next < job.count) {
        const npy_intp start = job.next++ * job.size;
        const npy_intp stop = start + job.size < job.total ? start + job.size : job.total;
        const ThreadWork work = job.work;
        void *context = job.context;
        pthread_mutex_unlock(&lock);
        work(context, start, stop);
        pthread_mutex_lock(&lock);
        if (--job.left == 0) {
            pthread_cond_signal(&ended);
        }
    }
}

static void *
work_forever(void *Py_UNUSED(nothing))
{
    pthread_mutex_lock(&lock);
    for (;;) {
        take_pieces();
        pthread_cond_wait(&begun, &lock);
    }
    return NULL;
}

/* Starts what is missing of the workers; those that cannot be started are done without. */
static void
start_workers(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < wanted - 1) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work_forever, NULL) != 0) {
            break;
        }
        pthread_detach(thread);
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void
run_in_threads(ThreadWork work, void *context, npy_intp total, npy_intp grain)
{
    if (wanted < 2 || total < 2 * grain || pthread_mutex_trylock(&entrance) != 0) {
        work(context, 0, total);
        return;
    }
    npy_intp pieces = total / grain;
    if (pieces > (npy_intp)wanted * PIECES_EACH) {
        pieces = (npy_intp)wanted * PIECES_EACH;
    }
    npy_intp size = (total + pieces - 1) / pieces;
    if (grain >= PIECE_STEP) {
        size = (size + PIECE_STEP - 1) / PIECE_STEP * PIECE_STEP;
    }
    pthread_mutex_lock(&lock);
    start_workers();
    job.work = work;
    job.context = context;
    job.total = total;
    job.size = size;
    job.next = 0;
    job.left = job.count = (total + size - 1) / size;
    pthread_cond_broadcast(&begun);
    take_pieces();
    while (job.left > 0) {
        pthread_cond_wait(&ended, &lock);
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&entrance);
}

/* In a child there is one thread, whatever the others were doing. */
static void
begin_anew(void)
{
    const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    entrance = lock = mutex;
    begun = ended = condition;
    job.next = job.count = job.left = 0;
    started = 0;
}

static int
start_pool(void)
{
    if (pthread_atfork(NULL, NULL, begin_anew) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

#endif

static int
thread_count(void)
{
    return wanted;
}

static const ThreadPool the_pool = {run_in_threads, thread_count};
const ThreadPool *const thread_pool = &the_pool;

/* set_threads(count): how many threads large work is done in, the caller's included; the number that holds. */
PyObject *
tiny_set_threads(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (wrong_count("set_threads", count, 1, 1)) {
        return NULL;
    }
    const long number = PyLong_AsLong(arguments[0]);
    if (number == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (number < 1) {
        PyErr_SetString(PyExc_ValueError, "set_threads() takes a positive number");
        return NULL;
    }
    wanted = number > MOST_THREADS ? MOST_THREADS : (int)number;
    return PyLong_FromLong(wanted);
}

/* Gives the module what other compiled parts look for; -1 with an error set. */
int
add_threads(PyObject *module)
{
    PyObject *capsule = start_pool() < 0 ? NULL : PyCapsule_New((void *)&the_pool, THREADS_CAPSULE, NULL);
    if (capsule == NULL) {
        return -1;
    }
    const int failed = PyModule_AddObjectRef(module, "threads", capsule) < 0;
    Py_DECREF(capsule);
    return failed ? -1 : 0;
}
