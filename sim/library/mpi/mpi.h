#pragma once

// The library is compiled with this in place of another MPI: SimGrid's, without its macros for names of the C library.
#include <smpi/smpi.h>
