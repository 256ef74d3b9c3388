/* The loops of arithmetic.h, for one type: REAL, its square root ROOT, MAGNITUDE, and NAMED(name) for the functions.
 *
 * No include guard: arithmetic_build.h includes this once for float and once for double. Numbers are rounded to REAL
 * before the loop, as NumPy rounds a Python number beside an array.
 */

static inline __attribute__((always_inline)) void
NAMED(sgd_form)(const StepWork *work, const int form)
{
    REAL *restrict value = work->value, *restrict buffer = work->state[0];
    const REAL *restrict gradient = work->gradient;
    const REAL decay = (REAL)work->decay, rate = (REAL)work->rate;
    const REAL momentum = (REAL)work->momentum, undamped = (REAL)work->undamped;
    for (ptrdiff_t at = 0; at < work->size; at++) {
        REAL g = gradient[at];
        if (form & DECAYS) {
            g = value[at] * decay + g;
        }
        if (form & WITH_MOMENTUM) {
            const REAL held = buffer[at] * momentum + g * undamped;
            buffer[at] = held;
            g = form & NESTEROV ? held * momentum + g : held;
        }
        value[at] = value[at] - g * rate;
    }
}

static inline __attribute__((always_inline)) void
NAMED(adam_form)(const StepWork *work, const int form)
{
    REAL *restrict value = work->value;
    REAL *restrict average = work->state[0], *restrict square = work->state[1], *restrict highest = work->state[2];
    const REAL *restrict gradient = work->gradient;
    const REAL decay = (REAL)work->decay, shrink = (REAL)work->shrink, rate = (REAL)work->rate;
    const REAL weight = (REAL)work->weight, rest = (REAL)(1 - work->weight);
    const REAL keep = (REAL)work->keep, join = (REAL)work->join, epsilon = (REAL)work->epsilon;
    for (ptrdiff_t at = 0; at < work->size; at++) {
        REAL g = gradient[at];
        if (form & DECAYS) {
            g = value[at] * decay + g;
        }
        const REAL apart = g - average[at];
        const REAL mean = form & FAR ? g - apart * rest : average[at] + apart * weight;
        average[at] = mean;
        REAL power = square[at] * keep + g * join * g;
        square[at] = power;
        if (form & AMSGRAD) {
            const REAL before = highest[at];
            power = before >= power || before != before ? before : power;
            highest[at] = power;
        }
        value[at] = value[at] * shrink + mean * rate / (ROOT(power) + epsilon);
    }
}

static inline __attribute__((always_inline)) void
NAMED(rmsprop_form)(const StepWork *work, const int form)
{
    REAL *restrict value = work->value;
    REAL *restrict square = work->state[0], *restrict average = work->state[1], *restrict buffer = work->state[2];
    const REAL *restrict gradient = work->gradient;
    const REAL decay = (REAL)work->decay, rate = (REAL)work->rate, momentum = (REAL)work->momentum;
    const REAL weight = (REAL)work->weight;
    const REAL keep = (REAL)work->keep, join = (REAL)work->join, epsilon = (REAL)work->epsilon;
    for (ptrdiff_t at = 0; at < work->size; at++) {
        REAL g = gradient[at];
        if (form & DECAYS) {
            g = value[at] * decay + g;
        }
        REAL power = square[at] * keep + g * join * g;
        square[at] = power;
        if (form & CENTERED) {
            const REAL mean = average[at] + (g - average[at]) * weight;
            average[at] = mean;
            power = power - mean * mean;
        }
        const REAL scale = ROOT(power) + epsilon;
        if (form & BUFFERED) {
            const REAL held = buffer[at] * momentum + g / scale;
            buffer[at] = held;
            value[at] = value[at] + held * rate;
        }
        else {
            value[at] = value[at] + g * rate / scale;
        }
    }
}

static inline __attribute__((always_inline)) void
NAMED(adagrad_form)(const StepWork *work, const int form)
{
    REAL *restrict value = work->value, *restrict total = work->state[0];
    const REAL *restrict gradient = work->gradient;
    const REAL decay = (REAL)work->decay, rate = (REAL)work->rate, epsilon = (REAL)work->epsilon;
    for (ptrdiff_t at = 0; at < work->size; at++) {
        REAL g = gradient[at];
        if (form & DECAYS) {
            g = value[at] * decay + g;
        }
        const REAL power = total[at] + g * g;
        total[at] = power;
        value[at] = value[at] + g * rate / (ROOT(power) + epsilon);
    }
}

/* An average that moves towards the gradient, from the nearer end as PyTorch's `lerp` does. */
static inline __attribute__((always_inline)) REAL
NAMED(approached)(const REAL average, const REAL g, const REAL weight, const REAL rest, const int form)
{
    const REAL apart = g - average;
    return form & FAR ? g - apart * rest : average + apart * weight;
}

static inline __attribute__((always_inline)) void
NAMED(nadam_form)(const StepWork *work, const int form)
{
    REAL *restrict value = work->value, *restrict average = work->state[0], *restrict square = work->state[1];
    const REAL *restrict gradient = work->gradient;
    const REAL decay = (REAL)work->decay, shrink = (REAL)work->shrink, rate = (REAL)work->rate;
    const REAL weight = (REAL)work->weight, rest = (REAL)(1 - work->weight), factor = (REAL)work->factor;
    const REAL keep = (REAL)work->keep, join = (REAL)work->join, epsilon = (REAL)work->epsilon;
    const REAL divisor = (REAL)work->divisor;
    for (ptrdiff_t at = 0; at < work->size; at++) {
        REAL g = gradient[at];
        if (form & DECAYS) {
            g = value[at] * decay + g;
        }
        const REAL mean = NAMED(approached)(average[at], g, weight, rest, form);
        average[at] = mean;
        const REAL power = square[at] * keep + g * join * g;
        square[at] = power;
        const REAL scale = ROOT(power / divisor) + epsilon;
        value[at] = value[at] * shrink - (g * rate + mean * factor) / scale;
    }
}

static inline __attribute__((always_inline)) void
NAMED(radam_form)(const StepWork *work, const int form)
{
    REAL *restrict value = work->value, *restrict average = work->state[0], *restrict square = work->state[1];
    const REAL *restrict gradient = work->gradient;
    const REAL decay = (REAL)work->decay, shrink = (REAL)work->shrink, rate = (REAL)work->rate;
    const REAL weight = (REAL)work->weight, rest = (REAL)(1 - work->weight), factor = (REAL)work->factor;
    const REAL keep = (REAL)work->keep, join = (REAL)work->join, epsilon = (REAL)work->epsilon;
    const REAL divisor = (REAL)work->divisor;
    for (ptrdiff_t at = 0; at < work->size; at++) {
        REAL g = gradient[at];
        if (form & DECAYS) {
            g = value[at] * decay + g;
        }
        const REAL mean = NAMED(approached)(average[at], g, weight, rest, form);
        average[at] = mean;
        const REAL power = square[at] * keep + g * join * g;
        square[at] = power;
        REAL change = mean / divisor * rate;
        if (form & RECTIFIED) {
            change = change * (factor / (ROOT(power) + epsilon));
        }
        value[at] = value[at] * shrink - change;
    }
}

static inline __attribute__((always_inline)) void
NAMED(adamax_form)(const StepWork *work, const int form)
{
    REAL *restrict value = work->value, *restrict average = work->state[0], *restrict largest = work->state[1];
    const REAL *restrict gradient = work->gradient;
    const REAL decay = (REAL)work->decay, rate = (REAL)work->rate, keep = (REAL)work->keep;
    const REAL weight = (REAL)work->weight, rest = (REAL)(1 - work->weight), epsilon = (REAL)work->epsilon;
    for (ptrdiff_t at = 0; at < work->size; at++) {
        REAL g = gradient[at];
        if (form & DECAYS) {
            g = value[at] * decay + g;
        }
        const REAL mean = NAMED(approached)(average[at], g, weight, rest, form);
        average[at] = mean;
        const REAL before = largest[at] * keep, now = MAGNITUDE(g) + epsilon;
        const REAL scale = before >= now || before != before ? before : now;
        largest[at] = scale;
        value[at] = value[at] + mean * rate / scale;
    }
}

static inline __attribute__((always_inline)) void
NAMED(adadelta_form)(const StepWork *work, const int form)
{
    REAL *restrict value = work->value, *restrict square = work->state[0], *restrict moved = work->state[1];
    const REAL *restrict gradient = work->gradient;
    const REAL decay = (REAL)work->decay, rate = (REAL)work->rate;
    const REAL keep = (REAL)work->keep, join = (REAL)work->join, epsilon = (REAL)work->epsilon;
    for (ptrdiff_t at = 0; at < work->size; at++) {
        REAL g = gradient[at];
        if (form & DECAYS) {
            g = value[at] * decay + g;
        }
        const REAL power = square[at] * keep + g * join * g;
        square[at] = power;
        const REAL delta = ROOT(moved[at] + epsilon) / ROOT(power + epsilon) * g;
        moved[at] = moved[at] * keep + delta * join * delta;
        value[at] = value[at] + delta * rate;
    }
}

static inline __attribute__((always_inline)) void
NAMED(asgd_form)(const StepWork *work, const int form)
{
    REAL *restrict value = work->value, *restrict average = work->state[0];
    const REAL *restrict gradient = work->gradient;
    const REAL decay = (REAL)work->decay, shrink = (REAL)work->shrink, rate = (REAL)work->rate;
    const REAL weight = (REAL)work->weight;
    for (ptrdiff_t at = 0; at < work->size; at++) {
        REAL g = gradient[at];
        if (form & DECAYS) {
            g = value[at] * decay + g;
        }
        const REAL now = value[at] * shrink + g * rate;
        value[at] = now;
        average[at] = form & AVERAGING ? average[at] + (now - average[at]) * weight : now;
    }
}

/* NumPy's sign: a nan stays one, and no zero is negative. */
static inline __attribute__((always_inline)) REAL
NAMED(sign)(const REAL number)
{
    return number > 0 ? 1 : number < 0 ? -1 : number == 0 ? 0 : number;
}

static inline __attribute__((always_inline)) void
NAMED(rprop_form)(const StepWork *work, const int form)
{
    REAL *restrict value = work->value, *restrict previous = work->state[0], *restrict size = work->state[1];
    const REAL *restrict gradient = work->gradient;
    const REAL larger = (REAL)work->factor, smaller = (REAL)work->shrink;
    const REAL lowest = (REAL)work->lowest, highest = (REAL)work->highest;
    (void)form;
    for (ptrdiff_t at = 0; at < work->size; at++) {
        const REAL g = gradient[at], product = g * previous[at];
        const REAL by = product > 0 ? larger : product < 0 ? smaller : product == 0 ? 1 : product;
        const REAL grown = size[at] * by;
        const REAL now = grown < lowest ? lowest : grown > highest ? highest : grown;
        const REAL held = product < 0 ? 0 : g;
        size[at] = now;
        previous[at] = held;
        value[at] = value[at] - NAMED(sign)(held) * now;
    }
}

/* A loop for every form of a rule: inside each, the tests above are constants. */
#define FORM(rule, number) \
    case number: \
        NAMED(rule##_form)(work, number); \
        break
#define FORMS(rule) \
    static void NAMED(rule)(const StepWork *work) \
    { \
        switch (work->form) { \
            FORM(rule, 0); \
            FORM(rule, 1); \
            FORM(rule, 2); \
            FORM(rule, 3); \
            FORM(rule, 4); \
            FORM(rule, 5); \
            FORM(rule, 6); \
            FORM(rule, 7); \
        } \
    }

FORMS(sgd)
FORMS(adam)
FORMS(rmsprop)
FORMS(adagrad)
FORMS(nadam)
FORMS(radam)
FORMS(adamax)
FORMS(adadelta)
FORMS(asgd)
FORMS(rprop)

#undef FORMS
#undef FORM

static void
NAMED(scale)(void *values, ptrdiff_t size, double factor)
{
    REAL *restrict value = values;
    const REAL by = (REAL)factor;
    for (ptrdiff_t at = 0; at < size; at++) {
        value[at] *= by;
    }
}

static void
NAMED(clamp)(void *values, ptrdiff_t size, double limit)
{
    REAL *restrict value = values;
    const REAL highest = (REAL)limit, lowest = (REAL)-limit;
    for (ptrdiff_t at = 0; at < size; at++) {
        const REAL v = value[at];
        value[at] = v < lowest ? lowest : v > highest ? highest : v;
    }
}
