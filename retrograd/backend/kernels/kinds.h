/* The arrays that are computed here, and how large they may be. */
#ifndef RETROGRAD_KINDS_H
#define RETROGRAD_KINDS_H

/* Above so many elements NumPy's wider vector instructions win back the cost of the call. */
#define LARGEST_SIZE 4096

typedef enum { NOT_PLAIN = -1, FLOAT32 = 0, FLOAT64 = 1 } Kind;

#endif
