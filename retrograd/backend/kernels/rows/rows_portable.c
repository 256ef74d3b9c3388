/* The build for any processor: vectors of 16 bytes, which every compiler of vector types has. */
#define BUILD rows_portable
#define BUILD_NAME "portable"
#define VECTOR_BYTES 16
#include "rows_build.h"
