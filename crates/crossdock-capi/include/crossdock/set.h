/* Arrays and tables under names, which another process holds. Not on Windows. crossdock.h has the
 * rules for all functions. */

#ifndef CROSSDOCK_SET_H
#define CROSSDOCK_SET_H

#include "array.h"

#ifndef _WIN32

#ifdef __cplusplus
extern "C" {
#endif

/* ===== sets: arrays and tables that another process holds ===== */

/* Arrays and tables under names that another process of this user holds, such as the command
 * `crossdock hold model.safetensors --name m`. All processes that connect map the same memory,
 * which none can write; with `--map`, the file itself. */
typedef struct xd_set xd_set_t;

/* Connects to the newest version of a name ("m"), or to one version ("m@3"). The holder keeps the
 * version until the set, all its arrays and all batches of its tables are freed, or this process
 * ends. If the holder ends, they stay. XD_ERROR_IO if no process holds the name, XD_ERROR_BOUNDS if
 * not this version. */
XD_API XD_MUST_USE xd_set_t *xd_set_connect(const char *name, xd_error_t **error);
XD_API void xd_set_free(xd_set_t *set);

/* The name and version: "m@3". */
XD_API XD_MUST_USE char *xd_set_label(const xd_set_t *set, xd_error_t **error);
XD_API size_t xd_set_len(const xd_set_t *set);
/* Whether arrays or tables lie in mapped files, which can change. What a file loses reads as zeros, and is
 * an error of each copy. */
XD_API bool xd_set_is_mapped(const xd_set_t *set);
/* The name of array or table `index`, from 0 to xd_set_len - 1. */
XD_API XD_MUST_USE char *xd_set_name(const xd_set_t *set, size_t index, xd_error_t **error);
/* The array of a name, in place, read-only and, unless the set is mapped, constant. O(rank),
 * whatever the number of arrays. */
XD_API XD_MUST_USE xd_array_t *xd_set_get(const xd_set_t *set, const char *name, xd_error_t **error);
/* Sets *is_table to whether the name is that of a table, which xd_set_table opens (table.h). */
XD_API bool xd_set_is_table(const xd_set_t *set, const char *name, bool *is_table, xd_error_t **error);

#ifdef __cplusplus
}
#endif

#endif

#endif
