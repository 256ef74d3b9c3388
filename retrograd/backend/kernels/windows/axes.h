/* The axes of a convolution and of its gradients, worked out from its options. */
#ifndef RETROGRAD_AXES_H
#define RETROGRAD_AXES_H

#include "windows.h"

/* One spatial dimension of a convolution: `count` windows of `kernel` elements over `size`. */
typedef struct {
    ptrdiff_t size, kernel, count, stride, padding, dilation;
} Dimension;

/* How many windows fit; below one if the kernel does not. */
ptrdiff_t window_count(const Dimension *dimension);

/* The axis of the convolution itself. 0, or -1 without memory. */
int forward_axis(const Dimension *dimension, Axis *axis);

/* The axis of the gradient for those elements of the input that are `phase` elements after a multiple of the stride,
 * padding included. An axis without taps or outputs: nothing reaches these elements, or there are none. */
int backward_axis(const Dimension *dimension, ptrdiff_t phase, Axis *axis);

void free_axis(Axis *axis);

#define MOST_STEPPED 7 /* rows and columns of a window */

struct Stepped {
    Dimension height, width; /* the stride of the width is 2 */
    ptrdiff_t samples, channels;
    const void *input, *weight, *bias, *gradient;
    void *result;
};

#endif
