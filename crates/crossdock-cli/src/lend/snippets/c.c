int fd = atoi(getenv("CROSSDOCK_FD"));
size_t end = atoll(getenv("CROSSDOCK_END"));
char *m = mmap(NULL, end, PROT_READ, MAP_SHARED, fd, 0);
char *x = m + atoll(getenv("CROSSDOCK_OFFSET")); /* element [0, 0, ...] */
