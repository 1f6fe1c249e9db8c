int fd = atoi(getenv("CROSSDOCK_FD"));
char *m = mmap(NULL, atoll(getenv("CROSSDOCK_END")), PROT_READ, MAP_SHARED, fd, 0);
char *x = m + atoll(getenv("CROSSDOCK_OFFSET")); /* element [0, 0, ...] */
