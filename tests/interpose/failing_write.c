/* Comes before libc: on rank 0 every write to a file named *.fails is an I/O error. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int fails(int file) {
  char link[64], path[4096];
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank || strcmp(rank, "0") != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path);
  return length > 6 && memcmp(path + length - 6, ".fails", 6) == 0;
}

#define FAILING(name, parameters, arguments)                          \
  ssize_t name parameters {                                           \
    static ssize_t(*real) parameters;                                 \
    if (!real) real = (ssize_t(*) parameters)dlsym(RTLD_NEXT, #name); \
    return fails(file) ? (errno = EIO, -1) : real arguments;          \
  }
FAILING(write, (int file, const void* data, size_t bytes), (file, data, bytes))
FAILING(pwrite, (int file, const void* data, size_t bytes, off_t at), (file, data, bytes, at))
FAILING(pwrite64, (int file, const void* data, size_t bytes, off_t at), (file, data, bytes, at))
FAILING(pwritev, (int file, const struct iovec* data, int parts, off_t at), (file, data, parts, at))
FAILING(pwritev64, (int file, const struct iovec* data, int parts, off_t at), (file, data, parts, at))
