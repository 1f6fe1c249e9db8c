/* Where new memory comes from: pools, their statistics and limits. crossdock.h has the rules for all
 * functions. */

#ifndef CROSSDOCK_POOL_H
#define CROSSDOCK_POOL_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== pools ===== */

/* A source of memory, with statistics and perhaps a limit. A pool lives until its last handle and
 * its last buffer are freed, in any order. Any thread may use it. Names live for ever: a name of more
 * than 256 bytes is XD_ERROR_ARGUMENT, a 4097th different one XD_ERROR_EXHAUSTED. */
typedef struct xd_pool xd_pool_t;

/* A handle on the pool that functions without a pool use. CROSSDOCK_POOL and CROSSDOCK_POOL_DEBUG in
 * the environment select it. */
XD_API XD_MUST_USE xd_pool_t *xd_pool_default(xd_error_t **error);
/* A separate pool without a cache. */
XD_API XD_MUST_USE xd_pool_t *xd_pool_system(xd_error_t **error);
/* A separate pool that keeps up to `limit_nbytes` unused bytes of large blocks, for `quiet_ms`. */
XD_API XD_MUST_USE xd_pool_t *xd_pool_caching(size_t limit_nbytes, uint64_t quiet_ms, xd_error_t **error);
/* The same, with buffers that can be sent to other processes in place (xd_array_send). Each takes a
 * descriptor. Memory that was sent can be leased by SHARE and PIN only. */
XD_API XD_MUST_USE xd_pool_t *xd_pool_shareable(size_t limit_nbytes, uint64_t quiet_ms, xd_error_t **error);

/* Pools that take their memory from `pool`: with a limit, beyond which allocations are
 * XD_ERROR_OUT_OF_MEMORY; with statistics of their own; and with guard bytes around each block,
 * which are compared when it grows or is freed. */
XD_API XD_MUST_USE xd_pool_t *xd_pool_capped(const xd_pool_t *pool, const char *name, size_t limit_nbytes,
                                             xd_error_t **error);
XD_API XD_MUST_USE xd_pool_t *xd_pool_proxy(const xd_pool_t *pool, const char *name, xd_error_t **error);
XD_API XD_MUST_USE xd_pool_t *xd_pool_guarded(const xd_pool_t *pool, const char *name, xd_error_t **error);

/* The damage to guard bytes since the last call, one line each; "" if there is none. */
XD_API XD_MUST_USE char *xd_pool_take_damage(xd_error_t **error);

/* Your functions as a source of memory. Any thread may call them, at any time. */
typedef struct xd_allocator {
  /* A block of `nbytes` bytes, whose address is a multiple of `alignment`; NULL if there is none. */
  void *(*allocate)(void *context, size_t nbytes, size_t alignment);
  /* Frees a block, with the numbers of its allocation. */
  void (*free)(void *context, void *block, size_t nbytes, size_t alignment);
  /* Called once: when the pool and all its buffers are gone, or before xd_pool_over returns NULL. May
   * be NULL. */
  void (*release)(void *context);
  void *context;
} xd_allocator;

/* A pool over your functions; the struct is copied. A block at an address that is no multiple of the
 * alignment is freed, and counts as none. */
XD_API XD_MUST_USE xd_pool_t *xd_pool_over(const char *name, const xd_allocator *allocator, xd_error_t **error);

/* Another handle. O(1). */
XD_API XD_MUST_USE xd_pool_t *xd_pool_clone(const xd_pool_t *pool, xd_error_t **error);
XD_API void xd_pool_free(xd_pool_t *pool);
XD_API XD_MUST_USE char *xd_pool_name(const xd_pool_t *pool, xd_error_t **error);

/* The memory of a pool, with the pools that take theirs from it. Sizes are multiples of 64 bytes. */
typedef struct xd_statistics {
  uint64_t live_nbytes;  /* in use */
  uint64_t live_count;   /* blocks in use */
  uint64_t peak_nbytes;  /* the most that were in use, or since xd_pool_reset_peak */
  uint64_t total_nbytes; /* ever allocated */
  uint64_t allocations;  /* blocks ever allocated */
  uint64_t growths;      /* how often a block grew */
  uint64_t cached_nbytes; /* unused, and kept for the next request */
  uint64_t limit_nbytes; /* UINT64_MAX if there is none */
} xd_statistics;

/* Sets *statistics, to zeros if `pool` is NULL. O(1). */
XD_API bool xd_pool_statistics(const xd_pool_t *pool, xd_statistics *statistics);
XD_API void xd_pool_reset_peak(const xd_pool_t *pool);
/* Releases what is kept for the next request, and returns its bytes. */
XD_API size_t xd_pool_trim(const xd_pool_t *pool);

#define XD_ALLOC_RESERVE 1u  /* its pages exist when the call returns, or it is XD_ERROR_OUT_OF_MEMORY */
#define XD_ALLOC_HUGE 2u     /* hint: huge pages */
#define XD_ALLOC_POPULATE 4u /* hint: touch the pages now */

/* `nbytes` zero bytes of a pool. `alignment` is a power of two up to a page; 0 for 64. */
XD_API XD_MUST_USE xd_buffer_t *xd_pool_alloc(const xd_pool_t *pool, size_t nbytes, size_t alignment, uint32_t flags,
                                              xd_error_t **error);
/* A new array of zeros in memory of a pool. */
XD_API XD_MUST_USE xd_array_t *xd_pool_zeros(const xd_pool_t *pool, const xd_dtype_t *dtype, size_t ndim,
                                             const ssize_t *shape, int32_t order, xd_error_t **error);
/* The name of the pool whose memory it is; NULL without an error if it is of no pool. */
XD_API XD_MUST_USE char *xd_buffer_pool_name(const xd_buffer_t *buffer, xd_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
