/* Memory that other processes map, descriptors that lead to it, and sockets that carry them. Windows
 * lacks the functions of descriptors and sockets. crossdock.h has the rules for all functions. */

#ifndef CROSSDOCK_SHARED_H
#define CROSSDOCK_SHARED_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== shared memory ===== */

/* `nbytes` zero bytes that other processes can map. The system frees them with the last map or
 * descriptor, however a process ends. `name` may be NULL; it has at most 249 bytes, is shown in
 * /proc/PID/maps, and opens nothing. Take share or pin leases: another process may write the bytes. */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_shared(size_t nbytes, const char *name, xd_error_t **error);

/* A copy of the elements in new shared memory, which is counted. */
XD_API XD_MUST_USE xd_array_t *xd_array_to_shared(const xd_array_t *array, int32_t order, xd_error_t **error);

#ifndef _WIN32

/* Sets *fd to the descriptor behind shared memory or a mapped file, and *offset to the offset of the
 * bytes in it; `offset` may be NULL. The buffer owns the descriptor and closes it: duplicate it for
 * another process. XD_ERROR_UNSUPPORTED for other memory; *fd is -1 then. */
XD_API bool xd_buffer_fd(const xd_buffer_t *buffer, int *fd, uint64_t *offset, xd_error_t **error);

/* Maps shared memory of another process, which is sealed against shrinking: xd_array_from_fd and
 * xd_array_open take files. `fd` is duplicated, and stays the caller's. */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_map_fd(int fd, uint64_t offset, size_t nbytes, bool writable,
                                                 xd_error_t **error);

#endif

/* From now on, no process can map the memory for writing; existing maps can still write. */
XD_API bool xd_buffer_deny_new_writers(const xd_buffer_t *buffer, xd_error_t **error);
/* Seals shared memory: no process can write it any more, and it is constant, so that
 * XD_LEASE_READ is possible. XD_ERROR_CONFLICT if there is another handle, a lease, or a map for
 * writing. No other thread may use the handle meanwhile. The memory may be mapped again, also on
 * failure: then its address, and the descriptor of xd_buffer_fd, are others. */
XD_API bool xd_buffer_seal(xd_buffer_t *buffer, xd_error_t **error);

#ifndef _WIN32

/* ===== arrays between processes ===== */

/* A new descriptor for another process in *fd, which the caller closes, and the description of the
 * array in it, as text. With XD_LEASE_SHARE the other process may write; with XD_LEASE_PIN the
 * descriptor is read-only, which protects from mistakes alone: a process of the same user can open
 * it again for writing through /proc. Only sealed memory (xd_buffer_seal) is safe from a hostile
 * process. `flags` is XD_EXPORT_IN_PLACE, XD_EXPORT_COPY_IF_NEEDED, for arrays in
 * private memory, or XD_EXPORT_COPY. On failure *fd is -1. */
XD_API XD_MUST_USE char *xd_array_to_fd(const xd_array_t *array, int32_t lease, uint32_t flags, int *fd,
                                        xd_error_t **error);
/* The array of such a descriptor and description, in place. `fd` is duplicated. Every number of the
 * description is checked. A file, and memory that is not sealed against shrinking, are mapped as by
 * xd_array_open: if another process truncates them, access to missing bytes ends this process.
 * xd_array_receive refuses both. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_fd(int fd, const char *description, xd_error_t **error);

/* Sends an array, as a descriptor and a description, over a Unix stream socket, which stays the
 * caller's. Waits while the socket is full. XD_ERROR_IO if the other end is closed;
 * XD_ERROR_UNSUPPORTED for a socket of packets. */
XD_API bool xd_array_send(const xd_array_t *array, int socket, int32_t lease, uint32_t flags, xd_error_t **error);
/* Waits for the next array of a Unix stream socket; NULL without an error at the end of the stream.
 * An array that covers more than `most_nbytes` bytes, or whose elements are more, is
 * XD_ERROR_REFUSED; 0 for 16 GiB. The other process need not be trusted, but may change the
 * elements at any time. One thread at a time. */
XD_API XD_MUST_USE xd_array_t *xd_array_receive(int socket, uint64_t most_nbytes, xd_error_t **error);

#endif

#ifdef __cplusplus
}
#endif

#endif
