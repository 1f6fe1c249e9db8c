/* Bytes with an owner, and leases, the permission to access them. crossdock.h has the rules for all
 * functions. */

#ifndef CROSSDOCK_BUFFER_H
#define CROSSDOCK_BUFFER_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== bytes and leases ===== */

/* Bytes with an owner. A handle gives no access to them: a lease does. */
typedef struct xd_buffer xd_buffer_t;

/* The access that other parties have to adopted memory. */
#define XD_BIRTH_SOLE 1     /* none: all access is under leases */
#define XD_BIRTH_CONSTANT 2 /* it never changes; the handle is read-only */
#define XD_BIRTH_ALIASED 3  /* other code may write it at any time: it can be leased by SHARE and PIN only */

/* `nbytes` zero bytes. */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_alloc(size_t nbytes, xd_error_t **error);

/* A copy of the caller's bytes, which is counted (xd_copied_bytes). */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_copy(const void *bytes, size_t nbytes, xd_error_t **error);

/* The caller's memory, in place. `release(context)` is called exactly once: on the thread that
 * drops the last handle or lease, or before this function returns NULL. `release` may be NULL
 * for memory that outlives every use.
 *
 * Until then the bytes must be initialised and readable and, unless XD_BIRTH_CONSTANT, writable. */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_adopt(void *data, size_t nbytes, int32_t birth,
                                                void (*release)(void *context), void *context, xd_error_t **error);

/* A handle on part of the bytes. O(1). */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_slice(const xd_buffer_t *buffer, size_t offset, size_t nbytes,
                                                xd_error_t **error);

/* A read-only handle on the same bytes; so is each handle made from it. */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_readonly(const xd_buffer_t *buffer, xd_error_t **error);

/* Another handle. O(1). */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_clone(const xd_buffer_t *buffer, xd_error_t **error);
XD_API void xd_buffer_free(xd_buffer_t *buffer);

#define XD_BACKING_OTHER 0
#define XD_BACKING_HEAP 1    /* private memory of this process */
#define XD_BACKING_STATIC 2  /* lives as long as the program */
#define XD_BACKING_FILE 3    /* a mapped file */
#define XD_BACKING_SHARED 4  /* shared with other processes */
#define XD_BACKING_FOREIGN 5 /* another library's */
#define XD_BACKING_DEVICE 6  /* a device's */

/* The kind of memory, and the access that other parties have to it: XD_BACKING_* and XD_BIRTH_*; 0 for
 * NULL. */
XD_API int32_t xd_buffer_backing(const xd_buffer_t *buffer);
XD_API int32_t xd_buffer_birth(const xd_buffer_t *buffer);
/* The bytes that the handle keeps alive: of the whole memory of which it is a part. */
XD_API size_t xd_buffer_retained_nbytes(const xd_buffer_t *buffer);

XD_API size_t xd_buffer_nbytes(const xd_buffer_t *buffer);
XD_API bool xd_buffer_is_readonly(const xd_buffer_t *buffer);
/* The address of the first byte. It gives no permission to access it. */
XD_API uintptr_t xd_buffer_address(const xd_buffer_t *buffer);

/* Permission to access bytes until it is released. A lease keeps the memory alive. */
typedef struct xd_lease xd_lease_t;

/*                             how many | its holder may                            | excludes        */
#define XD_LEASE_NONE 0  /*             | (the kind of NULL)                        |                 */
#define XD_LEASE_READ 1  /*    any      | read, and rely on constant bytes          | WRITE and SHARE */
#define XD_LEASE_WRITE 2 /*    one      | read and write alone                      | everything      */
#define XD_LEASE_SHARE 3 /*    any      | read and write, while other holders do    | READ and WRITE  */
#define XD_LEASE_PIN 4   /*    any      | read bytes that may change                | WRITE           */

/* Takes a lease on all bytes. It never waits: a conflict is XD_ERROR_CONFLICT, and the message
 * names the holder. */
XD_API XD_MUST_USE xd_lease_t *xd_buffer_lease(const xd_buffer_t *buffer, int32_t kind, xd_error_t **error);

/* The address of the first byte. For an array's lease, the address of element 0; the array's
 * strides lead to the other elements. */
XD_API const void *xd_lease_data(const xd_lease_t *lease);
/* The same address for writing; NULL for READ and PIN. */
XD_API void *xd_lease_mutable_data(const xd_lease_t *lease);
/* The number of bytes. For an array's lease, of all elements without gaps. */
XD_API size_t xd_lease_nbytes(const xd_lease_t *lease);
XD_API int32_t xd_lease_kind(const xd_lease_t *lease);

/* Releases the lease. Its pointer must not be used after that. NULL is allowed. */
XD_API void xd_lease_release(xd_lease_t *lease);

#ifdef __cplusplus
}
#endif

#endif
