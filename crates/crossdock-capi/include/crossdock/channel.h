/* Arrays as a stream between processes. Not on Windows. crossdock.h has the rules for all
 * functions. */

#ifndef CROSSDOCK_CHANNEL_H
#define CROSSDOCK_CHANNEL_H

#include "array.h"

#ifndef _WIN32

#ifdef __cplusplus
extern "C" {
#endif

/* ===== channels: arrays as a stream between processes ===== */

/* Slots in shared memory. A sender borrows a slot as a writable array, fills it and sends it. A
 * receiver gets a read-only array on the same memory, and the slot is free again when the last
 * handle and lease of it is freed, on any thread. No element is copied. Each message may have
 * another dtype and shape. If a process is killed, its slots come back.
 *
 * A timeout is in milliseconds: 0 never waits, XD_FOREVER waits as long as it takes, and so does
 * any other negative number. A child made by fork attaches senders and receivers of its own; those
 * that it inherited are XD_ERROR_CONFLICT. */
typedef struct xd_channel xd_channel_t;
typedef struct xd_sender xd_sender_t;
typedef struct xd_loan xd_loan_t;
typedef struct xd_receiver xd_receiver_t;

#define XD_DELIVERY_EACH 1   /* each receiver that is attached gets a message */
#define XD_DELIVERY_ONE 2    /* one receiver gets it, and it waits for one */
#define XD_DELIVERY_LATEST 3 /* each receiver gets the newest message that it has not seen */

#define XD_FOREVER (-1)

/* A new channel with 1 to 1024 slots of `slot_nbytes` bytes. Arrays keep slots, so there must be
 * more slots than all receivers together keep arrays. With `drop_oldest`, a sender that finds no
 * free slot takes that of the oldest message that waits. The command `crossdock tap` finds the
 * channel by `name`, which may be "". */
XD_API XD_MUST_USE xd_channel_t *xd_channel_new(const char *name, size_t slots, size_t slot_nbytes, int32_t delivery,
                                                bool drop_oldest, xd_error_t **error);
/* The channel in the memory of a descriptor, from xd_channel_fd of another process: inherited, or
 * passed through a socket (SCM_RIGHTS). `fd` still belongs to the caller. A process that is not
 * trusted can send wrong elements, and change them later; it cannot make this process fault. */
XD_API XD_MUST_USE xd_channel_t *xd_channel_open(int fd, xd_error_t **error);
/* Senders and receivers stay attached. */
XD_API void xd_channel_free(xd_channel_t *channel);
/* Sets *fd to the descriptor of the memory, which the channel owns and closes. It is closed on
 * exec, unless the caller duplicates it for a child. On failure *fd is -1. */
XD_API bool xd_channel_fd(const xd_channel_t *channel, int *fd, xd_error_t **error);
/* Ends the stream, for all processes: senders get XD_ERROR_CLOSED, and so do receivers once they
 * have received what was sent before. NULL is fine. */
XD_API void xd_channel_close(const xd_channel_t *channel);
XD_API size_t xd_channel_slots(const xd_channel_t *channel);
XD_API size_t xd_channel_slot_nbytes(const xd_channel_t *channel);
XD_API int32_t xd_channel_delivery(const xd_channel_t *channel);
/* The members in all processes. */
XD_API size_t xd_channel_senders(const xd_channel_t *channel);
XD_API size_t xd_channel_receivers(const xd_channel_t *channel);
/* The number of messages sent so far. */
XD_API uint64_t xd_channel_sent(const xd_channel_t *channel);

/* Attaches a sender; XD_ERROR_EXHAUSTED if the channel has 20. Threads that use one at once wait
 * for each other. */
XD_API XD_MUST_USE xd_sender_t *xd_sender_new(const xd_channel_t *channel, xd_error_t **error);
XD_API void xd_sender_free(xd_sender_t *sender);
/* Copies an array into a slot, and sends it. XD_ERROR_EXHAUSTED if no slot became free in time,
 * XD_ERROR_BOUNDS if the array is larger than a slot. */
XD_API bool xd_sender_send(const xd_sender_t *sender, const xd_array_t *array, int64_t timeout_ms, xd_error_t **error);
/* Borrows a slot as a row-major array, in place. Errors as xd_sender_send. */
XD_API XD_MUST_USE xd_loan_t *xd_sender_loan(const xd_sender_t *sender, const xd_dtype_t *dtype, size_t ndim,
                                             const ssize_t *shape, int64_t timeout_ms, xd_error_t **error);
/* The array to fill, with the elements of an earlier message or zeros. Take share or pin leases. */
XD_API XD_MUST_USE xd_array_t *xd_loan_array(const xd_loan_t *loan, xd_error_t **error);
/* Sends the array. Free its handles and leases first: XD_ERROR_CONFLICT while there are any, and
 * the loan goes on. */
XD_API bool xd_loan_send(const xd_loan_t *loan, xd_error_t **error);
/* Gives the slot back, unless it was sent. Free each loan, also after it was sent. */
XD_API void xd_loan_free(xd_loan_t *loan);

/* Attaches a receiver; XD_ERROR_EXHAUSTED if the channel has 20. Threads that use one at once wait
 * for each other. */
XD_API XD_MUST_USE xd_receiver_t *xd_receiver_new(const xd_channel_t *channel, xd_error_t **error);
/* Arrays that were received stay valid. */
XD_API void xd_receiver_free(xd_receiver_t *receiver);
/* The next message, as a read-only array that keeps the slot. NULL with *error NULL if none came in
 * time; XD_ERROR_CLOSED if the channel is closed, and has no more. Take share or pin leases:
 * another process may write the memory. */
XD_API XD_MUST_USE xd_array_t *xd_receiver_receive(const xd_receiver_t *receiver, int64_t timeout_ms,
                                                   xd_error_t **error);
/* The messages that were dropped before this receiver received them, as of the last call. */
XD_API uint64_t xd_receiver_missed(const xd_receiver_t *receiver);

#ifdef __cplusplus
}
#endif

#endif

#endif
