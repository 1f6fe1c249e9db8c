/* Why memory is still alive: its handles, leases and exports. crossdock.h has the rules for all
 * functions. */

#ifndef CROSSDOCK_LEDGER_H
#define CROSSDOCK_LEDGER_H

#include "buffer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== the ledger ===== */

/* While it is on, the ledger lists each allocation and each lease from then on. Off, it costs
 * nothing; CROSSDOCK_LEDGER=1 in the environment begins with it on. */
XD_API void xd_ledger_switch_on(void);
XD_API void xd_ledger_switch_off(void);
XD_API bool xd_ledger_is_on(void);
/* The allocations and leases that are not listed for lack of memory, and the releases of memory that
 * failed, such as those of a device. */
XD_API uint64_t xd_ledger_missed(void);
XD_API uint64_t xd_ledger_failed_releases(void);

/* The list for people: the largest allocation first, with its holders below it. */
XD_API XD_MUST_USE char *xd_ledger_to_text(xd_error_t **error);

/* The list at one moment, by address. */
typedef struct xd_ledger xd_ledger_t;

typedef struct xd_allocation {
  uintptr_t address; /* of the first byte, on its device; invented for devices of your own */
  size_t nbytes;
  int32_t device_kind; /* as xd_array_device_kind */
  int32_t device_ordinal;
  int32_t backing; /* XD_BACKING_* */
  int32_t birth;   /* XD_BIRTH_* */
  int64_t age_ms;  /* -1 if it was made while the ledger was off */
  uint64_t handles;
  int32_t lease_kind; /* of `leases`: XD_LEASE_NONE, READ, WRITE or SHARE */
  int32_t reserved;
  uint64_t leases;
  uint64_t pins; /* leases of XD_LEASE_PIN */
  size_t holder_count; /* the leases that xd_ledger_holder describes */
} xd_allocation;

XD_API XD_MUST_USE xd_ledger_t *xd_ledger_read(xd_error_t **error);
XD_API void xd_ledger_free(xd_ledger_t *ledger);
XD_API size_t xd_ledger_len(const xd_ledger_t *ledger);
/* Sets *allocation; false and zeros for an index out of bounds. */
XD_API bool xd_ledger_entry(const xd_ledger_t *ledger, size_t index, xd_allocation *allocation);
/* The name of its pool; NULL without an error if it came from none. */
XD_API XD_MUST_USE char *xd_ledger_pool(const xd_ledger_t *ledger, size_t index, xd_error_t **error);
/* One of its leases: "pin lease, MemoryView, 3.2 s old". */
XD_API XD_MUST_USE char *xd_ledger_holder(const xd_ledger_t *ledger, size_t index, size_t holder, xd_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
