size_t offset = strtoull(getenv("CROSSDOCK_OFFSET"), NULL, 10), end = strtoull(getenv("CROSSDOCK_END"), NULL, 10);
const char *m = mmap(NULL, end, PROT_READ, MAP_SHARED, atoi(getenv("CROSSDOCK_FD")), 0); /* <sys/mman.h>, <stdlib.h> */
const void *x = m + offset; /* element [0, 0, ...]; step by the bytes in CROSSDOCK_STRIDES */
