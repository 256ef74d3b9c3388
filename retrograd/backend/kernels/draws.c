/* Random numbers for arrays of any size: what `retrograd.random` makes with NumPy, word for word of the stream.
 *
 * A function here takes the words it needs from a generator (`random.generator.Generator`) and makes the numbers that the
 * Python function of the same purpose makes, bit for bit: the same operations in the same order, the C library's
 * functions where Python's `math` calls them. It gives None, before anything is drawn, for a call that is not its own.
 */
#define NO_IMPORT_ARRAY
#include "tiny.h"

#include <math.h>

static PyObject *name_words, *name_next, *name_stop, *name_lock, *name_acquire, *name_release, *name_random32,
    *name_cached_normal;

/* ---- words -------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject *owner; /* keeps the words */
    const npy_uint32 *words;
} Words;

static npy_intp
number_attribute(PyObject *object, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(object, name);
    const npy_intp number = found == NULL ? -1 : PyLong_AsSsize_t(found);
    Py_XDECREF(found);
    return number; /* -1 with an error set: no such number is negative */
}

/* Words of the generator's block, if there are enough of them: 1; 0 if not; -1 with an error set. */
static int
take_from_block(PyObject *generator, npy_intp count, Words *taken)
{
    const npy_intp next = number_attribute(generator, name_next), stop = number_attribute(generator, name_stop);
    if (next < 0 || stop < 0) {
        return -1;
    }
    if (count > stop - next) {
        return 0;
    }
    PyObject *block = PyObject_GetAttr(generator, name_words), *after = PyLong_FromSsize_t(next + count);
    if (block == NULL || after == NULL || PyObject_SetAttr(generator, name_next, after) < 0) {
        Py_XDECREF(block);
        Py_XDECREF(after);
        return -1;
    }
    Py_DECREF(after);
    taken->owner = block;
    taken->words = (const npy_uint32 *)PyArray_DATA(ARRAY(block)) + next;
    return 1;
}

/* The next words of the stream; -1 with an error set. The caller holds the generator's lock. */
static int
take_words(PyObject *generator, npy_intp count, Words *taken)
{
    const int found = take_from_block(generator, count, taken);
    if (found != 0) {
        return found < 0 ? -1 : 0;
    }
    PyObject *wanted = PyLong_FromSsize_t(count);
    taken->owner = wanted == NULL ? NULL : PyObject_CallMethodOneArg(generator, name_random32, wanted);
    Py_XDECREF(wanted);
    if (taken->owner == NULL) {
        return -1;
    }
    taken->words = PyArray_DATA(ARRAY(taken->owner));
    return 0;
}

/* Holds the generator's lock: another thread may be in the middle of a longer draw. NULL with an error set. */
static PyObject *
lock(PyObject *generator)
{
    PyObject *held = PyObject_GetAttr(generator, name_lock);
    PyObject *done = held == NULL ? NULL : PyObject_CallMethodNoArgs(held, name_acquire);
    if (done == NULL) {
        Py_CLEAR(held);
    }
    Py_XDECREF(done);
    return held;
}

/* Lets it go, and gives `result` unless that fails; an error that is set stays. */
static PyObject *
unlock(PyObject *held, PyObject *result)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *done = PyObject_CallMethodNoArgs(held, name_release);
    if (done == NULL || type != NULL) {
        Py_CLEAR(result);
    }
    if (done != NULL) {
        PyErr_Restore(type, value, traceback);
        Py_DECREF(done);
    }
    Py_DECREF(held);
    return result;
}

static inline npy_float32
uniform32(npy_uint32 word)
{
    return (npy_float32)(npy_int32)(word & 0xFFFFFF) * 0x1p-24f;
}

static inline npy_float64
uniform64(const npy_uint32 *words)
{
    return (npy_int32)(words[0] & 0x1FFFFF) * 0x1p-21 + words[1] * 0x1p-53;
}

/* ---- shapes and dtypes -------------------------------------------------------------------------------------- */

/* A Python int of 64 bits; 0 if it is none. */
static int
as_int64(PyObject *object, npy_int64 *number)
{
    int overflow = 1;
    *number = PyLong_CheckExact(object) ? PyLong_AsLongLongAndOverflow(object, &overflow) : 0;
    return !overflow;
}

/* Reads a tuple of ints as a shape; the number of elements, -1 if it is anything else. */
static npy_intp
read_shape(PyObject *object, int *ndim, npy_intp *shape)
{
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) > LARGEST_NDIM) {
        return -1;
    }
    npy_intp count = 1;
    *ndim = (int)PyTuple_GET_SIZE(object);
    for (int dim = 0; dim < *ndim; dim++) {
        PyObject *size = PyTuple_GET_ITEM(object, dim);
        int overflow;
        const long number = PyLong_CheckExact(size) ? PyLong_AsLongAndOverflow(size, &overflow) : -1;
        if (number < 0 || number > NPY_MAX_INT32 || count * number > NPY_MAX_INT32) {
            return -1;
        }
        shape[dim] = number;
        count *= number;
    }
    return count;
}

/* ---- normal numbers ----------------------------------------------------------------------------------------- */

#define GROUP 16 /* from so many on, numbers are made in groups of that size */
#define TWO_PI 6.283185307179586

/* float32 arithmetic fused as `random.box_muller` does it: in float64, then rounded. */
static inline npy_float32
fused(npy_float32 a, npy_float32 b, npy_float32 c)
{
    return (npy_float32)((npy_float64)a * b + c);
}

static inline npy_float32
radius32(npy_float32 u)
{
    static const npy_float32 terms[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                        -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                        2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    union {
        npy_float32 number;
        npy_int32 bits;
    } mantissa = {.number = u};
    const npy_int32 bits = mantissa.bits - 0x3F3504F3;
    const npy_float32 exponent = (npy_float32)(bits >> 23);
    mantissa.bits = (bits & 0x7FFFFF) + 0x3F3504F3;
    const npy_float32 x = mantissa.number - 1.0f, square = x * x;
    npy_float32 y = terms[0];
    for (int index = 1; index < 9; index++) {
        y = fused(y, x, terms[index]);
    }
    y = (npy_float32)((npy_float64)y * x);
    const npy_float32 low = exponent * -2.12194440e-4f;
    const npy_float32 correction = (npy_float32)((npy_float64)y * square + low) - square * 0.5f;
    return sqrtf(((x + correction) + exponent * 0.693359375f) * -2.0f);
}

static inline void
sin_and_cos32(npy_float32 angle, npy_float32 *sin_out, npy_float32 *cos_out)
{
    typedef union {
        npy_float32 number;
        npy_uint32 bits;
    } Bits;
    const npy_int32 octant = ((npy_int32)(angle * 1.27323954473516f) + 1) & ~1;
    const npy_float32 multiple = (npy_float32)octant;
    const npy_float32 x = (multiple * -0.78515625f + angle) + multiple * -2.4187564849853515625e-4f;
    const npy_float32 rest = (npy_float32)((npy_float64)multiple * -3.77489497744594108e-8f + x);
    const npy_float32 square = (npy_float32)((npy_float64)rest * rest);
    npy_float32 y = fused(fused(-1.9515295891e-4f, square, 8.3321608736e-3f), square, -1.6666654611e-1f);
    y = (npy_float32)((npy_float64)y * square);
    const Bits sine = {.number = fused(y, rest, rest)};
    y = fused(fused(2.443315711809948e-5f, square, -1.388731625493765e-3f), square, 4.166664568298827e-2f);
    y = (npy_float32)((npy_float64)y * square);
    const Bits cosine = {.number = (npy_float32)((npy_float64)y * square - square * 0.5) + 1.0f};
    const npy_uint32 exchange = (octant & 2 ? ~(npy_uint32)0 : 0) & (sine.bits ^ cosine.bits);
    const Bits first = {.bits = (sine.bits ^ exchange) ^ (npy_uint32)(octant & 4) << 29};
    const Bits second = {.bits = (cosine.bits ^ exchange) ^ (npy_uint32)((octant + 2) & 4) << 29};
    *sin_out = first.number;
    *cos_out = second.number;
}

/* Where the compiler can build a function for several processors, the loader chooses among them. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

FOR_EACH_PROCESSOR static void
group32(const npy_uint32 *words, npy_float32 *out)
{
    for (int lane = 0; lane < GROUP / 2; lane++) {
        const npy_float32 radius = radius32(1.0f - uniform32(words[lane]));
        npy_float32 sine, cosine;
        sin_and_cos32((npy_float32)TWO_PI * uniform32(words[lane + GROUP / 2]), &sine, &cosine);
        out[lane] = cosine * radius + 0.0f; /* no negative zero */
        out[lane + GROUP / 2] = sine * radius + 0.0f;
    }
}

static void
group64(const npy_uint32 *words, npy_float64 *out)
{
    for (int lane = 0; lane < GROUP / 2; lane++) {
        const npy_float64 radius = sqrt(-2.0 * log(1.0 - uniform64(words + 2 * lane)));
        const npy_float64 angle = TWO_PI * uniform64(words + 2 * lane + GROUP);
        out[lane] = radius * cos(angle) + 0.0;
        out[lane + GROUP / 2] = radius * sin(angle) + 0.0;
    }
}

/* Fills the target with `count` >= 16 numbers. If they are no whole groups, the last 16 are made anew from 16 more
 * uniforms; those of the incomplete group are drawn all the same. */
static int
fill_in_groups(PyObject *generator, npy_intp count, Kind kind, void *out)
{
    Words taken;
    const npy_intp rest = count % GROUP, each = kind == FLOAT32 ? 1 : 2;
    if (take_words(generator, each * (rest == 0 ? count : count + GROUP), &taken) < 0) {
        return -1;
    }
    for (npy_intp at = 0; at + GROUP <= count; at += GROUP) {
        if (kind == FLOAT32) {
            group32(taken.words + at, (npy_float32 *)out + at);
        }
        else {
            group64(taken.words + 2 * at, (npy_float64 *)out + at);
        }
    }
    if (rest != 0 && kind == FLOAT32) {
        group32(taken.words + count, (npy_float32 *)out + count - GROUP);
    }
    else if (rest != 0) {
        group64(taken.words + 2 * count, (npy_float64 *)out + count - GROUP);
    }
    Py_DECREF(taken.owner);
    return 0;
}

static void
put_number(void *out, npy_intp at, Kind kind, npy_float64 number)
{
    if (kind == FLOAT32) {
        ((npy_float32 *)out)[at] = (npy_float32)number;
    }
    else {
        ((npy_float64 *)out)[at] = number;
    }
}

/* Numbers made one by one, in pairs; the second half of the last pair may wait in the generator. */
static int
fill_one_by_one(PyObject *generator, npy_intp count, Kind kind, void *out)
{
    PyObject *waiting = PyObject_GetAttr(generator, name_cached_normal);
    if (waiting == NULL) {
        return -1;
    }
    npy_intp at = 0;
    if (waiting != Py_None) {
        put_number(out, at++, kind, PyFloat_AsDouble(waiting));
    }
    Py_DECREF(waiting);
    const npy_intp left = count - at, pairs = (left + 1) / 2;
    Words taken;
    if (take_words(generator, 4 * pairs, &taken) < 0) {
        return -1;
    }
    npy_float64 second = 0.0;
    for (npy_intp pair = 0; pair < pairs; pair++) {
        const npy_float64 turn = uniform64(taken.words + 4 * pair), tail = uniform64(taken.words + 4 * pair + 2);
        const npy_float64 radius = sqrt(-2.0 * log1p(-tail)), angle = TWO_PI * turn;
        put_number(out, at++, kind, radius * cos(angle));
        second = radius * sin(angle);
        if (at < count) {
            put_number(out, at++, kind, second);
        }
    }
    Py_DECREF(taken.owner);
    PyObject *kept = left % 2 ? PyFloat_FromDouble(second) : Py_NewRef(Py_None);
    const int failed = kept == NULL || PyObject_SetAttr(generator, name_cached_normal, kept) < 0;
    Py_XDECREF(kept);
    return failed ? -1 : 0;
}

/* ---- arrays of numbers ------------------------------------------------------------------------------- */

static int
fill_uniforms(PyObject *generator, npy_intp count, Kind kind, void *out, npy_float64 Py_UNUSED(option))
{
    Words taken;
    if (take_words(generator, kind == FLOAT32 ? count : 2 * count, &taken) < 0) {
        return -1;
    }
    for (npy_intp i = 0; i < count; i++) {
        if (kind == FLOAT32) {
            ((npy_float32 *)out)[i] = uniform32(taken.words[i]);
        }
        else {
            ((npy_float64 *)out)[i] = uniform64(taken.words + 2 * i);
        }
    }
    Py_DECREF(taken.owner);
    return 0;
}

/* Ones with the probability `option`, else zeros. */
static int
fill_ones(PyObject *generator, npy_intp count, Kind kind, void *out, npy_float64 option)
{
    Words taken;
    if (take_words(generator, 2 * count, &taken) < 0) {
        return -1;
    }
    for (npy_intp i = 0; i < count; i++) {
        put_number(out, i, kind, uniform64(taken.words + 2 * i) < option);
    }
    Py_DECREF(taken.owner);
    return 0;
}

static int
fill_normals(PyObject *generator, npy_intp count, Kind kind, void *out, npy_float64 Py_UNUSED(option))
{
    return count < GROUP ? fill_one_by_one(generator, count, kind, out) : fill_in_groups(generator, count, kind, out);
}

typedef int (*Fill)(PyObject *generator, npy_intp count, Kind kind, void *out, npy_float64 option);

/* Where numbers go: an array that is given and lies in C order, or a new one of a shape, which may be wrapped in a tuple
 * as `f((2, 3))` has it. None if it is neither; NULL with an error set. */
static PyObject *
target_for(PyObject *place, PyObject *dtype)
{
    int ndim;
    npy_intp shape[LARGEST_NDIM];
    if (PyArray_CheckExact(place)) {
        const int ours = plain_kind(place, NPY_MAX_INT32) != NOT_PLAIN && PyArray_IS_C_CONTIGUOUS(ARRAY(place))
                         && PyArray_ISWRITEABLE(ARRAY(place));
        return Py_NewRef(ours ? place : Py_None);
    }
    if (PyTuple_CheckExact(place) && PyTuple_GET_SIZE(place) == 1 && PyTuple_Check(PyTuple_GET_ITEM(place, 0))) {
        place = PyTuple_GET_ITEM(place, 0);
    }
    const Kind kind = requested_kind(dtype);
    if (kind == NOT_PLAIN || read_shape(place, &ndim, shape) < 0) {
        Py_RETURN_NONE;
    }
    return new_array(ndim, shape, kind, 0);
}

/* fill(generator, shape or array, dtype): an array with numbers of a generator. None: not one of ours. */
static PyObject *
filled_by(Fill fill, PyObject *const *arguments, npy_float64 option)
{
    PyObject *made = target_for(arguments[1], arguments[2]);
    if (made == NULL || made == Py_None) {
        return made;
    }
    PyObject *held = lock(arguments[0]);
    if (held == NULL) {
        Py_DECREF(made);
        return NULL;
    }
    const Kind kind = plain_kind(made, NPY_MAX_INT32);
    const npy_intp count = PyArray_SIZE(ARRAY(made));
    if (count > 0 && fill(arguments[0], count, kind, PyArray_DATA(ARRAY(made)), option) < 0) {
        Py_CLEAR(made);
    }
    return unlock(held, made);
}

PyObject *
tiny_draw_uniform(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    return wrong_count("draw_uniform", given, 3, 3) ? NULL : filled_by(fill_uniforms, arguments, 0.0);
}

PyObject *
tiny_draw_normal(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    return wrong_count("draw_normal", given, 3, 3) ? NULL : filled_by(fill_normals, arguments, 0.0);
}

PyObject *
tiny_draw_ones(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    if (wrong_count("draw_ones", given, 4, 4)) {
        return NULL;
    }
    if (!PyFloat_CheckExact(arguments[3])) {
        Py_RETURN_NONE;
    }
    return filled_by(fill_ones, arguments, PyFloat_AS_DOUBLE(arguments[3]));
}

/* ---- choices ------------------------------------------------------------------------------------------------ */

/* Whether weights of a row can be drawn from: finite, none negative, not all zero. */
#define FAIR_ROW(type)                                                          \
    static int fair_##type(const npy_##type *weights, npy_intp length)          \
    {                                                                           \
        int some = 0;                                                           \
        for (npy_intp i = 0; i < length; i++) {                                 \
            if (!(weights[i] >= 0 && weights[i] < INFINITY)) {              \
                return 0;                                                       \
            }                                                                   \
            some |= weights[i] > 0;                                             \
        }                                                                       \
        return some;                                                            \
    }                                                                           \
    /* The index of the largest weight / exponential number, of the first nan if there is one. */ \
    static npy_intp race_##type(const npy_##type *weights, npy_intp length, const npy_uint32 *words) \
    {                                                                           \
        npy_intp first = 0;                                                     \
        npy_##type best = 0;                                                    \
        for (npy_intp i = 0; i < length; i++) {                                 \
            const npy_##type time = (npy_##type)-log1p(-uniform64(words + 2 * i)); \
            const npy_##type score = weights[i] / time;                         \
            if (score != score) {                                               \
                return i;                                                       \
            }                                                                   \
            if (i == 0 || score > best) {                                       \
                first = i;                                                      \
                best = score;                                                   \
            }                                                                   \
        }                                                                       \
        return first;                                                           \
    }

FAIR_ROW(float32)
FAIR_ROW(float64)

/* The first places at which the running sums of a row of weights, divided by the last, reach uniform numbers. */
#define CHOOSE(type)                                                                                     \
    static void choose_##type(const npy_##type *weights, npy_##type *sums, npy_intp length,              \
                              const npy_uint32 *words, npy_int64 *out, npy_intp count)                   \
    {                                                                                                    \
        npy_##type total = weights[0];                                                                   \
        sums[0] = total;                                                                                 \
        for (npy_intp i = 1; i < length; i++) {                                                          \
            sums[i] = total += weights[i];                                                               \
        }                                                                                                \
        for (npy_intp i = 0; i < length; i++) {                                                          \
            sums[i] /= total;                                                                            \
        }                                                                                                \
        sums[length - 1] = 1;                                                                            \
        for (npy_intp i = 0; i < count; i++) {                                                           \
            const npy_float64 wanted = uniform64(words + 2 * i);                                         \
            npy_intp low = 0, high = length - 1;                                                         \
            while (low < high) {                                                                         \
                const npy_intp middle = (low + high) / 2;                                                \
                if (sums[middle] < wanted) {                                                             \
                    low = middle + 1;                                                                    \
                }                                                                                        \
                else {                                                                                   \
                    high = middle;                                                                       \
                }                                                                                        \
            }                                                                                            \
            out[i] = low;                                                                                \
        }                                                                                                \
    }

CHOOSE(float32)
CHOOSE(float64)

/* Whether an array has rows of weights that can be drawn from; then what kind they are of, and else NOT_PLAIN. */
static Kind
fair_rows(PyObject *rows)
{
    const Kind kind = plain_kind(rows, LARGEST_SIZE);
    if (kind == NOT_PLAIN || PyArray_NDIM(ARRAY(rows)) != 2 || !PyArray_IS_C_CONTIGUOUS(ARRAY(rows))
        || PyArray_SIZE(ARRAY(rows)) == 0) {
        return NOT_PLAIN;
    }
    const npy_intp length = PyArray_DIM(ARRAY(rows), 1);
    for (npy_intp row = 0; row < PyArray_DIM(ARRAY(rows), 0); row++) {
        const void *weights = PyArray_GETPTR2(ARRAY(rows), row, 0);
        if (!(kind == FLOAT32 ? fair_float32(weights, length) : fair_float64(weights, length))) {
            return NOT_PLAIN;
        }
    }
    return kind;
}

/* Draws for one row. With `count` 0 it is one index, by a race that needs as many numbers as there are weights. */
static void
choose(const void *weights, Kind kind, npy_intp length, const npy_uint32 *words, npy_int64 *out, npy_intp count)
{
    npy_float64 sums[LARGEST_SIZE]; /* or as many of the shorter kind */
    if (count == 0) {
        *out = kind == FLOAT32 ? race_float32(weights, length, words) : race_float64(weights, length, words);
    }
    else if (kind == FLOAT32) {
        choose_float32(weights, (npy_float32 *)sums, length, words, out, count);
    }
    else {
        choose_float64(weights, sums, length, words, out, count);
    }
}

static PyObject *
chosen(PyObject *generator, PyObject *rows, npy_intp count)
{
    const Kind kind = fair_rows(rows);
    if (kind == NOT_PLAIN) {
        Py_RETURN_NONE;
    }
    const npy_intp length = PyArray_DIM(ARRAY(rows), 1), shape[2] = {PyArray_DIM(ARRAY(rows), 0), count ? count : 1};
    const npy_intp each = 2 * (count ? count : length); /* words for a row */
    PyObject *made = PyArray_SimpleNew(2, shape, NPY_INT64), *held = made == NULL ? NULL : lock(generator);
    if (held == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    Words taken;
    if (take_words(generator, shape[0] * each, &taken) == 0) {
        npy_int64 *out = PyArray_DATA(ARRAY(made));
        for (npy_intp row = 0; row < shape[0]; row++) {
            const void *weights = PyArray_GETPTR2(ARRAY(rows), row, 0);
            choose(weights, kind, length, taken.words + row * each, out + row * shape[1], count);
        }
        Py_DECREF(taken.owner);
    }
    return unlock(held, made);
}

PyObject *
tiny_draw_indices(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    return wrong_count("draw_indices", given, 2, 2) ? NULL : chosen(arguments[0], arguments[1], 0);
}

PyObject *
tiny_draw_again(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_int64 count;
    if (wrong_count("draw_again", given, 3, 3)) {
        return NULL;
    }
    if (!as_int64(arguments[2], &count) || count < 1 || count > LARGEST_SIZE) {
        Py_RETURN_NONE;
    }
    return chosen(arguments[0], arguments[1], (npy_intp)count);
}

PyObject *
tiny_draw_chances(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    if (wrong_count("draw_chances", given, 2, 2)) {
        return NULL;
    }
    const Kind kind = plain_kind(arguments[1], NPY_MAX_INT32);
    if (kind == NOT_PLAIN || !PyArray_IS_C_CONTIGUOUS(ARRAY(arguments[1]))) {
        Py_RETURN_NONE;
    }
    const npy_intp count = PyArray_SIZE(ARRAY(arguments[1]));
    const npy_float32 *chances32 = PyArray_DATA(ARRAY(arguments[1]));
    const npy_float64 *chances64 = PyArray_DATA(ARRAY(arguments[1]));
    for (npy_intp i = 0; i < count; i++) {
        const npy_float64 chance = kind == FLOAT32 ? chances32[i] : chances64[i];
        if (!(chance >= 0 && chance <= 1)) {
            Py_RETURN_NONE;
        }
    }
    PyObject *made = new_array(PyArray_NDIM(ARRAY(arguments[1])), PyArray_DIMS(ARRAY(arguments[1])), kind, 0);
    PyObject *held = made == NULL ? NULL : lock(arguments[0]);
    if (held == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    Words taken;
    if (take_words(arguments[0], kind == FLOAT32 ? count : 2 * count, &taken) == 0) {
        npy_float32 *out32 = PyArray_DATA(ARRAY(made));
        npy_float64 *out64 = PyArray_DATA(ARRAY(made));
        for (npy_intp i = 0; i < count; i++) {
            if (kind == FLOAT32) {
                out32[i] = uniform32(taken.words[i]) < chances32[i];
            }
            else {
                out64[i] = uniform64(taken.words + 2 * i) < chances64[i];
            }
        }
        Py_DECREF(taken.owner);
    }
    return unlock(held, made);
}

/* ---- whole numbers ------------------------------------------------------------------------------------------ */

PyObject *
tiny_draw_integers(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    int ndim;
    npy_intp shape[LARGEST_NDIM];
    npy_int64 low, high;
    if (wrong_count("draw_integers", given, 4, 4)) {
        return NULL;
    }
    const npy_intp count = read_shape(arguments[1], &ndim, shape);
    if (count < 0 || !as_int64(arguments[2], &low) || !as_int64(arguments[3], &high) || low >= high
        || (npy_uint64)high - (npy_uint64)low >= 1 << 28 /* from there on a number takes two words */) {
        Py_RETURN_NONE;
    }
    PyObject *made = PyArray_SimpleNew(ndim, shape, NPY_INT64), *held = made == NULL ? NULL : lock(arguments[0]);
    if (held == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    Words taken;
    if (take_words(arguments[0], count, &taken) == 0) {
        npy_int64 *out = PyArray_DATA(ARRAY(made));
        const npy_uint32 span = (npy_uint32)(high - low);
        for (npy_intp i = 0; i < count; i++) {
            out[i] = low + taken.words[i] % span;
        }
        Py_DECREF(taken.owner);
    }
    return unlock(held, made);
}

PyObject *
tiny_draw_order(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    npy_int64 count;
    if (wrong_count("draw_order", given, 2, 2)) {
        return NULL;
    }
    if (!as_int64(arguments[1], &count) || count < 0 || count >= NPY_MAX_UINT32 / 20 /* another algorithm */) {
        Py_RETURN_NONE;
    }
    const npy_intp shape[1] = {(npy_intp)count};
    PyObject *made = PyArray_SimpleNew(1, shape, NPY_INT64), *held = made == NULL ? NULL : lock(arguments[0]);
    if (held == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    Words taken;
    if (take_words(arguments[0], count < 2 ? 0 : (npy_intp)count - 1, &taken) == 0) {
        npy_int64 *out = PyArray_DATA(ARRAY(made));
        for (npy_int64 i = 0; i < count; i++) {
            out[i] = i;
        }
        for (npy_int64 i = 0; i < count - 1; i++) {
            const npy_int64 other = i + taken.words[i] % (npy_uint32)(count - i), kept = out[i];
            out[i] = out[other];
            out[other] = kept;
        }
        Py_DECREF(taken.owner);
    }
    return unlock(held, made);
}

/* ---- names -------------------------------------------------------------------------------------------------- */

int
start_draws(void)
{
    const struct {
        PyObject **place;
        const char *text;
    } names[] = {
        {&name_words, "_words"},         {&name_next, "_next"},       {&name_stop, "_stop"},
        {&name_lock, "lock"},            {&name_acquire, "acquire"},  {&name_release, "release"},
        {&name_random32, "random32"},    {&name_cached_normal, "cached_normal"},
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        *names[index].place = PyUnicode_InternFromString(names[index].text);
        if (*names[index].place == NULL) {
            return -1;
        }
    }
    return 0;
}
