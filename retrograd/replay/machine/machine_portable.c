/* The build for any processor: vectors of 16 bytes, which every compiler of vector types has. */
#define BUILD machine_portable
#define BUILD_NAME "portable"
#define VECTOR_BYTES 16
#include "machine_build.h"
