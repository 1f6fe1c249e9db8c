/* Devices: memory that the CPU does not address, copies to and from it, streams, and devices of your
 * own. crossdock.h has the rules for all functions. */

#ifndef CROSSDOCK_DEVICE_H
#define CROSSDOCK_DEVICE_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== devices ===== */

/* A device is a kind, by DLPack's numbers, and an ordinal: cuda:1 is (XD_DEVICE_CUDA, 1), and the CPU
 * is (XD_DEVICE_CPU, 0). A device of a kind without a driver is XD_ERROR_UNSUPPORTED, and one with
 * an ordinal that does not exist XD_ERROR_BOUNDS. */
#define XD_DEVICE_CPU 1
#define XD_DEVICE_CUDA 2
#define XD_DEVICE_CUDA_HOST 3 /* pinned memory of the host */
#define XD_DEVICE_OPENCL 4
#define XD_DEVICE_VULKAN 7
#define XD_DEVICE_METAL 8
#define XD_DEVICE_ROCM 10
#define XD_DEVICE_ROCM_HOST 11
#define XD_DEVICE_EXT_DEV 12
#define XD_DEVICE_CUDA_MANAGED 13
#define XD_DEVICE_ONEAPI 14

/* Registers the devices of CUDA (cuda, cuda_host and cuda_managed), or of OpenCL. The driver's
 * library is loaded at the first use of a device, and none is linked. A second call has no effect. */
XD_API bool xd_device_register_cuda(xd_error_t **error);
XD_API bool xd_device_register_opencl(xd_error_t **error);

/* As text, "cuda:1", and back. `kind` and `ordinal` may be NULL. */
XD_API XD_MUST_USE char *xd_device_to_text(int32_t kind, int32_t ordinal, xd_error_t **error);
XD_API bool xd_device_parse(const char *text, int32_t *kind, int32_t *ordinal, xd_error_t **error);

/* Stores the kinds that have drivers in the caller's list, at most `capacity`, and returns their
 * number. The CPU is the first. */
XD_API size_t xd_device_kinds(int32_t *kinds, size_t capacity);

/* The device's name for people: its model. Opens the device. */
XD_API XD_MUST_USE char *xd_device_name(int32_t kind, int32_t ordinal, xd_error_t **error);

/* The memory of a device that this library allocated. */
typedef struct xd_usage {
  uint64_t live_nbytes;
  uint64_t live_count;
  uint64_t peak_nbytes;
} xd_usage;

/* Sets *usage, to zeros on failure. Opens the device. */
XD_API bool xd_device_usage(int32_t kind, int32_t ordinal, xd_usage *usage, xd_error_t **error);

/* The failures of releases of device memory since the last call, one line each; "" if there are
 * none. */
XD_API XD_MUST_USE char *xd_device_take_release_errors(xd_error_t **error);

/* ===== memory on devices ===== */

/* Where memory is; 0 for NULL. */
XD_API int32_t xd_array_device_kind(const xd_array_t *array);
XD_API int32_t xd_array_device_ordinal(const xd_array_t *array);
XD_API int32_t xd_buffer_device_kind(const xd_buffer_t *buffer);
XD_API int32_t xd_buffer_device_ordinal(const xd_buffer_t *buffer);

/* New memory on a device, which need not be zero; and an array of zeros there. */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_on_device(int32_t kind, int32_t ordinal, size_t nbytes, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_zeros_on_device(const xd_dtype_t *dtype, size_t ndim, const ssize_t *shape,
                                                        int32_t order, int32_t kind, int32_t ordinal,
                                                        xd_error_t **error);

/* Copies to a device, to the CPU among them, which are counted. They wait until the copy is done.
 * Elements that are not contiguous are packed first. */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_to_device(const xd_buffer_t *buffer, int32_t kind, int32_t ordinal,
                                                    xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_to_device(const xd_array_t *array, int32_t kind, int32_t ordinal,
                                                  xd_error_t **error);

/* The same elements as memory of another device, such as pinned memory on its device; NULL without
 * an error if that is impossible. */
XD_API XD_MUST_USE xd_array_t *xd_array_map_to_device(const xd_array_t *array, int32_t kind, int32_t ordinal,
                                                      xd_error_t **error);

/* ===== streams ===== */

/* A queue of a device's work, and a point in that work. Work holds leases of its arrays until it is
 * done, so handles may be freed before. Each lease for the CPU waits for the work on its memory; if
 * that failed, the lease is XD_ERROR_DEVICE, until xd_array_settle. After a fork, the child makes
 * streams of its own. */
typedef struct xd_stream xd_stream_t;
typedef struct xd_event xd_event_t;

/* NULL without an error for a device without streams, whose calls return when their work is done:
 * the CPU, and devices of xd_device_register. Functions whose names end in _in take that NULL. */
XD_API XD_MUST_USE xd_stream_t *xd_stream_new(int32_t kind, int32_t ordinal, xd_error_t **error);
/* A stream of the driver that other code made, such as a cudaStream_t, which must live until the
 * handle is freed, and is not destroyed by that. */
XD_API XD_MUST_USE xd_stream_t *xd_stream_wrap(int32_t kind, int32_t ordinal, void *raw, xd_error_t **error);
/* Its work still runs to the end. */
XD_API void xd_stream_free(xd_stream_t *stream);
/* The driver's handle, which the stream owns; NULL if it has none. */
XD_API void *xd_stream_raw(const xd_stream_t *stream);
/* Waits until all work that is now in the stream is done. */
XD_API bool xd_stream_synchronize(const xd_stream_t *stream, xd_error_t **error);
/* The end of all work that is now in the stream, as an event. */
XD_API XD_MUST_USE xd_event_t *xd_stream_record(const xd_stream_t *stream, xd_error_t **error);
/* Orders later work of the stream after an event, of any stream and device. Returns at once if the
 * device can. */
XD_API bool xd_stream_wait(const xd_stream_t *stream, const xd_event_t *event, xd_error_t **error);

XD_API void xd_event_free(xd_event_t *event);
XD_API void *xd_event_raw(const xd_event_t *event);
/* Whether the work before the event is done, with success or failure. Never waits. */
XD_API bool xd_event_is_done(const xd_event_t *event);
/* Waits for it; a failure of the work is XD_ERROR_DEVICE, at each call. */
XD_API bool xd_event_wait(const xd_event_t *event, xd_error_t **error);

/* As xd_array_to_device and xd_array_assign, in a stream: they return when the work is queued, and
 * *event becomes its end, to be freed; or NULL if the work is done already. `event` may be NULL. If
 * `stream` is NULL, they wait until the work is done, as the functions without a stream do. */
XD_API XD_MUST_USE xd_array_t *xd_array_to_device_in(const xd_array_t *array, int32_t kind, int32_t ordinal,
                                                     const xd_stream_t *stream, xd_event_t **event, xd_error_t **error);
XD_API bool xd_array_assign_in(const xd_array_t *array, const xd_array_t *source, int32_t casting,
                               const xd_stream_t *stream, xd_event_t **event, xd_error_t **error);

/* Waits for all work on an array's memory; its failure is XD_ERROR_DEVICE. */
XD_API bool xd_array_wait(const xd_array_t *array, xd_error_t **error);
/* Waits likewise, and forgets failures: the elements are then what the failed work left. */
XD_API bool xd_array_settle(const xd_array_t *array, xd_error_t **error);

/* ===== devices of your own ===== */

/* A copy of bytes between two objects of the driver, or an object and the host. */
typedef struct xd_device_copy {
  void *to; /* an object, or an address of the host */
  size_t to_offset; /* of the first byte; 0 for the host */
  const void *from;
  size_t from_offset;
  size_t nbytes;
  bool to_host; /* whether `to` is an address of the host */
  bool from_host;
} xd_device_copy;

/* Memory that your functions allocate and copy. Any thread may call them at any time, until
 * `release`. They return 0, or your error number, which becomes part of an XD_ERROR_DEVICE. Their
 * work is done when they return. After a fork, the child calls none of them. */
typedef struct xd_device_driver {
  int32_t kind;  /* of DLPack, or any other number */
  int32_t count; /* the ordinals are 0 to count - 1 */
  uint64_t limit_nbytes; /* on each device; 0 for no limit */
  const char *name; /* for people; copied */
  /* Sets *object to what stands for `nbytes` bytes, at least 1: an address, a handle, an index. It must differ
   * from all live objects of the kind. NULL means that there is no memory. */
  int (*allocate)(void *context, int32_t ordinal, size_t nbytes, void **object);
  /* Called once for each object, with the numbers of its allocation, on any thread. A failure is kept for
   * xd_device_take_release_errors. */
  int (*free)(void *context, int32_t ordinal, void *object, size_t nbytes);
  /* Another thread may write host memory meanwhile. */
  int (*copy)(void *context, int32_t ordinal, const xd_device_copy *copy);
  /* Called once: when the kind is unregistered and its memory is gone, or before xd_device_register
   * returns false. May be NULL. */
  void (*release)(void *context);
  void *context;
} xd_device_driver;

/* Registers devices of your own; the struct is copied. XD_ERROR_CONFLICT if the kind has a driver.
 * Arrays can then be copied to them and back, sliced and transposed. Elements in their memory cannot
 * be converted or filled: convert them on the CPU.
 *
 * xd_array_to_dlpack exports arrays of the kinds of DLPack whose memory is a handle, such as
 * XD_DEVICE_OPENCL and XD_DEVICE_VULKAN, with your object as the data. Arrays of other kinds of
 * DLPack, and of numbers that DLPack lacks, are refused: copy them to the CPU. */
XD_API bool xd_device_register(const xd_device_driver *driver, xd_error_t **error);
/* Removes a kind. Its memory stays valid, with its driver. */
XD_API bool xd_device_unregister(int32_t kind, xd_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
