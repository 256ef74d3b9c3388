/* Loops over images, which are plain float arrays: convolution, pooling, normalization, and their gradients.
 *
 * Built for several processors; the fastest usable build is chosen at import. Sums have another order than the neutral
 * kernels', and a product and a sum may be rounded at once: docs/design.md says what is promised.
 */
#ifndef RETROGRAD_WINDOWS_H
#define RETROGRAD_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#define AXES 3 /* depth, height, width; those that an array does not have are of size one */

/* One spatial axis of a correlation.
 *
 * Output number `i` reads, for each tap, the element `i + shift` of one *slot* of the source: a slot is every `step`-th
 * element, from its own start. So a convolution with a stride reads neighbours where its outputs are neighbours, and
 * the gradient of one is a few correlations, each of which writes every `result_step`-th element. */
typedef struct {
    ptrdiff_t count;                         /* outputs */
    ptrdiff_t taps;                          /* weights that are used */
    ptrdiff_t *tap_weight, *tap_slot, *tap_shift;
    ptrdiff_t slots;
    ptrdiff_t *slot_start;                   /* where it starts in the source, maybe before its beginning */
    ptrdiff_t step;
    ptrdiff_t length;                        /* elements of a slot that are read: count + the largest shift */
    ptrdiff_t source, source_first;          /* size of the source, beyond it are zeros; what all starts are from */
    ptrdiff_t result, result_first, result_step;
} Axis;

/* result[n, o] = bias[o] + sum of weight[o, c, tap] * source[n, c, ...] over channels and taps, for each group.
 *
 * A sample of the source has `source_channels` channels, those of all groups, and one of the result `result_channels`.
 * The strides of the weight are in elements. For the gradient of the weight `result` is its other factor, and `weight`
 * is written. */
typedef struct {
    Axis axes[AXES];
    ptrdiff_t samples, groups, channels, outputs, source_channels, result_channels;
    const void *source, *bias;
    void *weight, *result;
    ptrdiff_t weight_group, weight_output, weight_channel, weight_tap[AXES];
    ptrdiff_t kernel; /* elements of the weight for one output and channel */
} Correlation;

/* How a correlation is done: in `items`, any of which can be done at the same time. */
typedef struct {
    enum { BY_LANES, BY_PLACES, BY_ROWS } way; /* lanes of a vector are outputs; or places; of planes row by row */
    int direct;   /* the source needs no padding: it is read where it lies */
    int skips;    /* what meets padding only is left out */
    int axis;     /* along this one there are parts of `outputs` outputs */
    ptrdiff_t outputs, samples, parts, blocks; /* so many samples are taken at once, in so many blocks */
    ptrdiff_t items;
    void *scratch; /* the packed weight, or sums that are added up at the end; the caller frees it */
    ptrdiff_t scratch_group;
} Plan;

/* They return 0, or -1 where there was no memory for their scratch. */
typedef int (*PlanMaker)(const Correlation *work, Plan *plan);
typedef int (*CorrelationLoop)(const Correlation *work, const Plan *plan, ptrdiff_t start, ptrdiff_t stop);
typedef int (*CorrelationEnd)(const Correlation *work, const Plan *plan);

/* Pooling of `planes` blocks of the axes' sizes. Along each axis window number `i` has taps[i] elements, `dilation` apart,
 * from starts[i] on; all are inside. Averages divide by the product of the axes' shares[i], or by `divisor` if it is not
 * zero. */
typedef struct {
    ptrdiff_t planes;
    ptrdiff_t size[AXES], count[AXES], dilation[AXES];
    ptrdiff_t *starts[AXES], *taps[AXES], *shares[AXES];
    ptrdiff_t divisor;
    ptrdiff_t whole_first, whole_stop, stride; /* windows of a row with all their elements, `stride` apart */
    const void *input;
    void *result, *scratch; /* scratch: one row of a block */
    int64_t *places;        /* of the largest elements, in the flattened block */
} Pooling;

typedef void (*PoolingLoop)(const Pooling *work);

/* Normalization of (samples, channels, length): statistics by channel, or by groups of a sample's channels. `weight` and
 * `bias` have one element for each channel or are NULL; so are the outputs that nobody wants. */
typedef struct {
    ptrdiff_t samples, channels, length, groups, statistics;
    int by_channel;
    ptrdiff_t first, stop; /* the channels that a call does: whole groups of them */
    double epsilon;
    const void *input, *gradient, *weight, *bias;
    void *result, *mean, *inverse, *variance, *of_weight, *of_bias;
    void *scratch; /* twice as many doubles as there are statistics and channels */
} Planes;

typedef void (*PlanesLoop)(const Planes *work);

/* Convolution of planes by windows of their own, two columns apart (axes.h); some planes, or some channels of a weight. */
typedef struct Stepped Stepped;
typedef void (*SteppedLoop)(const Stepped *work, ptrdiff_t first, ptrdiff_t stop);

/* One build. The loops come in pairs: of float, of double. */
typedef struct {
    const char *name;
    PlanMaker plan_correlation[2], plan_weight[2];
    CorrelationLoop correlate[2], correlate_weight[2];
    CorrelationEnd end_weight[2];
    SteppedLoop stepped[2], stepped_back[2], stepped_weight[2]; /* NULL where there are none */
    PlanesLoop planes_norm[2], planes_norm_gradients[2];
    PoolingLoop max_pool[2], max_pool_gradient[2], avg_pool[2], avg_pool_gradient[2];
} WindowLoops;

extern const WindowLoops windows_portable;

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HAS_BUILDS_FOR_X86 1
extern const WindowLoops windows_avx2, windows_avx512;
#endif

#endif
