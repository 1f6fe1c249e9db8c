/* Crossdock for C and C++: shares n-dimensional arrays without copying them.
 *
 *   cc program.c $(pkg-config --cflags --libs crossdock)
 *
 * Requires C99 or C++11, or later. In C++, crossdock.hpp beside it has classes that free their
 * handles.
 *
 * Rules for all functions
 *
 * Handles. Types whose names end in _t and that have no members are opaque, such as xd_array_t. A
 * function that returns one without `const` transfers it to the caller, who frees it once, by
 * xd_*_free or xd_lease_release. A `const` result is part of the argument: it lives as long as the
 * argument, and must not be freed. A handle keeps its memory alive: the buffer may be freed before the array, and
 * the array before the lease. The last handle or lease frees the memory, on its thread.
 *
 * Errors. A function that can fail takes `xd_error_t **error` last, and returns NULL or false if it
 * fails. `error` may be NULL; otherwise *error is always set, to NULL on success, so it need not be
 * initialised. Free an error by xd_error_free. No function aborts, throws or calls longjmp if its
 * caller follows these rules. Two events still end the process, as they end any program: access to
 * a mapped file that another program truncated (SIGBUS), and a system without memory for small
 * things such as shapes and messages. If there is no memory for elements, the error is
 * XD_ERROR_OUT_OF_MEMORY.
 *
 * Outputs. Parameters that a function sets besides its return value (`*value`, `*equal`, `*offset`,
 * `*validity`, `*field`, ...) are always set, to nothing (nil, false, 0, NULL; -1 for a
 * descriptor) if the function fails, so they need not be initialised. Two kinds are left unchanged on
 * failure: the structs of other protocols (views, Arrow), and lists that the caller owns.
 *
 * NULL. A query of NULL returns NULL, 0 or false. A function that can fail names the argument that
 * is NULL (XD_ERROR_ARGUMENT).
 *
 * Texts are UTF-8 and end with a zero byte. Free a `char *` result by xd_string_free. A
 * `const char *` result lives as long as the argument. A list is a count and a pointer, which may
 * be NULL if the count is 0.
 *
 * Threads. Any thread may use and free a handle, and many threads may use one at once. Free a
 * handle only after its last use on any thread.
 *
 * Callbacks must not throw, and must not leave the call by longjmp or pthread_exit. Their arguments
 * are valid during the call. They may call this library. A thread must not be cancelled
 * (pthread_cancel) in a call of this library.
 *
 * Fork. A child made by fork may use the arrays, buffers and leases that it inherited; private memory
 * is its own copy, shared memory is shared. Senders, receivers, streams and devices belong to the
 * parent: the child makes its own.
 *
 * Sizes. `nbytes` counts bytes, `len` elements; strides are signed, in bytes. Lengths, strides and
 * indices are ssize_t.
 */

#ifndef CROSSDOCK_H
#define CROSSDOCK_H

#include "crossdock/base.h"
#include "crossdock/dtype.h"
#include "crossdock/buffer.h"
#include "crossdock/array.h"
#include "crossdock/file.h"
#include "crossdock/set.h"
#include "crossdock/channel.h"
#include "crossdock/memory_view.h"
#include "crossdock/exchange.h"
#include "crossdock/table.h"
#include "crossdock/shared.h"
#include "crossdock/pool.h"
#include "crossdock/ledger.h"
#include "crossdock/device.h"

#endif
