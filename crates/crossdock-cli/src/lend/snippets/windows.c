HANDLE file = (HANDLE)(intptr_t)atoi(getenv("CROSSDOCK_HANDLE"));
HANDLE section = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
char *m = MapViewOfFile(section, FILE_MAP_READ, 0, 0, 0);
char *x = m + atoll(getenv("CROSSDOCK_OFFSET")); /* element [0, 0, ...] */
