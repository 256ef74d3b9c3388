/* The build for any processor: vectors of 16 bytes, which every compiler of vector types has. */
#define BUILD windows_portable
#define BUILD_NAME "portable"
#define VECTOR_BYTES 16
#include "windows_build.h"
