#pragma once

#define XXH_STATIC_LINKING_ONLY  // the state of a sum of parts
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // with the widest instructions that the processor has it is twice as fast
#endif
