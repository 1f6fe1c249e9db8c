/* Arrays, their views, elements, copies and conversions. crossdock.h has the rules for all
 * functions. */

#ifndef CROSSDOCK_ARRAY_H
#define CROSSDOCK_ARRAY_H

#include "buffer.h"
#include "dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== arrays ===== */

/* An n-dimensional array: a handle on memory with a dtype, a shape and strides. At most 64 axes. */
typedef struct xd_array xd_array_t;

#define XD_ROW_MAJOR 1
#define XD_COLUMN_MAJOR 2

/* A new array of zeros. */
XD_API XD_MUST_USE xd_array_t *xd_array_zeros(const xd_dtype_t *dtype, size_t ndim, const ssize_t *shape, int32_t order,
                                              xd_error_t **error);

/* A new array whose elements all have one value, converted and checked as by xd_array_fill. */
XD_API XD_MUST_USE xd_array_t *xd_array_full(const xd_dtype_t *dtype, size_t ndim, const ssize_t *shape,
                                             const xd_value *value, int32_t order, xd_error_t **error);

/* Arrays as the fields of an array of records, under `count` names. The records have the shape of the
 * array with the fewest axes, with which all shapes begin; further axes become a sub-array of the
 * field. Copies, which is counted. xd_array_field is the way back, in place. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_columns(size_t count, const char *const *names,
                                                     const xd_array_t *const *arrays, xd_error_t **error);

/* A zero-copy array on a buffer, whose element 0 is `offset` bytes into it. If `strides` is
 * NULL, it is row-major. A layout that exceeds the buffer at either end is XD_ERROR_BOUNDS. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_buffer(const xd_buffer_t *buffer, const xd_dtype_t *dtype, size_t ndim,
                                                    const ssize_t *shape, const ssize_t *strides, size_t offset,
                                                    xd_error_t **error);

/* Another handle. O(1). */
XD_API XD_MUST_USE xd_array_t *xd_array_clone(const xd_array_t *array, xd_error_t **error);
/* A read-only handle on the same elements; so is each handle made from it. */
XD_API XD_MUST_USE xd_array_t *xd_array_readonly(const xd_array_t *array, xd_error_t **error);
XD_API void xd_array_free(xd_array_t *array);

/* The properties of an array. The pointers live as long as the handle. */
XD_API size_t xd_array_ndim(const xd_array_t *array);
XD_API const ssize_t *xd_array_shape(const xd_array_t *array);
XD_API const ssize_t *xd_array_strides(const xd_array_t *array); /* in bytes */
XD_API const xd_dtype_t *xd_array_dtype(const xd_array_t *array);
XD_API size_t xd_array_len(const xd_array_t *array);
XD_API size_t xd_array_nbytes(const xd_array_t *array); /* of all elements without gaps */
XD_API bool xd_array_is_readonly(const xd_array_t *array);
/* Whether elements are behind tables of pointers. */
XD_API bool xd_array_is_indirect(const xd_array_t *array);
/* Whether the elements are contiguous in that order. Axes of length 1 do not matter, and empty
 * arrays are contiguous. */
XD_API bool xd_array_is_contiguous(const xd_array_t *array, int32_t order);
/* The kind of memory, and the access that other parties have to it: XD_BACKING_* and XD_BIRTH_*; 0 for
 * NULL. */
XD_API int32_t xd_array_backing(const xd_array_t *array);
XD_API int32_t xd_array_birth(const xd_array_t *array);
/* True, or false with XD_ERROR_FAULT if the mapped file behind the elements shrank, and its map is
 * guarded. */
XD_API bool xd_array_is_whole(const xd_array_t *array, xd_error_t **error);
/* The address of element 0. It gives no permission to access it. Memory of devices of your own has no
 * addresses: there it is a number that only tells allocations apart. */
XD_API uintptr_t xd_array_address(const xd_array_t *array);

/* The bytes from the lowest to the highest that the array uses, and in *offset (which may be
 * NULL) the offset of element 0 in them. */
XD_API XD_MUST_USE xd_buffer_t *xd_array_buffer(const xd_array_t *array, size_t *offset, xd_error_t **error);

/* Takes a lease on the elements. xd_lease_data returns the address of element 0; the strides
 * lead to the others. */
XD_API XD_MUST_USE xd_lease_t *xd_array_lease(const xd_array_t *array, int32_t kind, xd_error_t **error);

/* The elements as NumPy prints them, with long axes abbreviated. Of elements that cannot be read, on a
 * device or under a write lease, the text is the reason in their place, and this is no error. */
XD_API XD_MUST_USE char *xd_array_to_text(const xd_array_t *array, xd_error_t **error);

/* The protocols that export the array (in place, by a copy, or not) and the behaviour of
 * functions of Python libraries with it: one line each, with the reason. `library` is a
 * distribution such as "numpy"; NULL selects all known ones. It calls the exporters and releases
 * their exports, so it may wait for in-flight work of a device. */
XD_API XD_MUST_USE char *xd_array_explain(const xd_array_t *array, const char *library, xd_error_t **error);

/* ----- views: other handles on the same elements. O(ndim), without a copy ----- */

#define XD_SLICE_RANGE 0
#define XD_SLICE_INDEX 1    /* one index, which drops the axis */
#define XD_SLICE_NEW_AXIS 2 /* a new axis of length 1 */
#define XD_SLICE_REST 3     /* all remaining axes, whole */

/* An absent bound. */
#define XD_OPEN PTRDIFF_MIN

/* The part of one axis, as in Python: bounds are clamped, and negative ones count from the end. */
typedef struct xd_slice {
  int32_t kind;
  int32_t reserved;
  ssize_t start;
  ssize_t stop;
  ssize_t step;
} xd_slice;

#define XD_RANGE(start, stop, step) { XD_SLICE_RANGE, 0, (start), (stop), (step) }
#define XD_ALL XD_RANGE(XD_OPEN, XD_OPEN, 1)
#define XD_INDEX(index) { XD_SLICE_INDEX, 0, (index), 0, 0 }
#define XD_NEW_AXIS { XD_SLICE_NEW_AXIS, 0, 0, 0, 0 }
#define XD_REST { XD_SLICE_REST, 0, 0, 0, 0 }

/* xd_slice rows[] = {XD_RANGE(0, 10, 2), XD_INDEX(-1)}; Axes that are not named are whole. */
XD_API XD_MUST_USE xd_array_t *xd_array_slice(const xd_array_t *array, size_t count, const xd_slice *slices,
                                              xd_error_t **error);

/* The same from text: "::2, ..., -1", ".position, 0". A field begins a new subscript. */
XD_API XD_MUST_USE xd_array_t *xd_array_at(const xd_array_t *array, const char *subscript, xd_error_t **error);

/* One field of each record. The axes of a sub-array field are appended to the array's. */
XD_API XD_MUST_USE xd_array_t *xd_array_field(const xd_array_t *array, const char *name, xd_error_t **error);

/* The axes in reverse order, or with axis `axes[k]` as axis `k`. */
XD_API XD_MUST_USE xd_array_t *xd_array_transpose(const xd_array_t *array, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_permute(const xd_array_t *array, size_t ndim, const ssize_t *axes,
                                                xd_error_t **error);

/* The same elements, in row-major order, with another shape: XD_ERROR_LAYOUT if that needs a
 * copy. */
XD_API XD_MUST_USE xd_array_t *xd_array_reshape(const xd_array_t *array, size_t ndim, const ssize_t *shape,
                                                xd_error_t **error);

/* The same in either order. `flags` is XD_EXPORT_IN_PLACE, XD_EXPORT_COPY_IF_NEEDED or
 * XD_EXPORT_COPY of exchange.h: whether the elements are copied if no strides describe the shape. */
XD_API XD_MUST_USE xd_array_t *xd_array_reshape_with(const xd_array_t *array, size_t ndim, const ssize_t *shape,
                                                     int32_t order, uint32_t flags, xd_error_t **error);

/* One axis, in row-major order: XD_ERROR_LAYOUT if that needs a copy. */
XD_API XD_MUST_USE xd_array_t *xd_array_flatten(const xd_array_t *array, xd_error_t **error);

/* Two axes swapped, an axis moved, a new axis of length 1, one index of an axis without the axis, no
 * axes of length 1, and an axis backwards. An axis that does not exist is XD_ERROR_BOUNDS. */
XD_API XD_MUST_USE xd_array_t *xd_array_swap_axes(const xd_array_t *array, size_t a, size_t b, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_move_axis(const xd_array_t *array, size_t from, size_t to, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_insert_axis(const xd_array_t *array, size_t axis, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_drop_axis(const xd_array_t *array, size_t axis, size_t index,
                                                  xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_squeeze(const xd_array_t *array, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_reverse(const xd_array_t *array, size_t axis, xd_error_t **error);

/* The elements at equal indices of two axes, `offset` above the diagonal, as the last axis. */
XD_API XD_MUST_USE xd_array_t *xd_array_diagonal(const xd_array_t *array, size_t first, size_t second, ssize_t offset,
                                                 xd_error_t **error);

/* All windows of a shape, which overlap and are read-only, and the array divided into blocks, whose
 * lengths must divide those of its axes: as `ndim` further axes, the last ones. */
XD_API XD_MUST_USE xd_array_t *xd_array_windows(const xd_array_t *array, size_t ndim, const ssize_t *window,
                                                xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_blocks(const xd_array_t *array, size_t ndim, const ssize_t *block,
                                               xd_error_t **error);

/* The elements repeated along new leading axes and axes of length 1, as in NumPy. */
XD_API XD_MUST_USE xd_array_t *xd_array_broadcast_to(const xd_array_t *array, size_t ndim, const ssize_t *shape,
                                                     xd_error_t **error);

/* The same bytes as elements of another dtype. If its size differs, the length of the last axis
 * changes. */
XD_API XD_MUST_USE xd_array_t *xd_array_view_as(const xd_array_t *array, const xd_dtype_t *dtype, xd_error_t **error);

/* ----- elements ----- */

/* The value of one element, read under a brief lease. `index` has one number for each axis.
 * *value is nil on failure; free its contents by xd_value_free. */
XD_API bool xd_array_get(const xd_array_t *array, const ssize_t *index, xd_value *value, xd_error_t **error);

/* Writes one element, converted and checked: a value that does not fit is XD_ERROR_VALUE. A list
 * is the parts of a record or a sub-array. */
XD_API bool xd_array_set(const xd_array_t *array, const ssize_t *index, const xd_value *value, xd_error_t **error);

/* Writes one value to every element. If elements overlap, as those of xd_array_broadcast_to, it
 * fails with XD_ERROR_LAYOUT, as xd_array_assign does. */
XD_API bool xd_array_fill(const xd_array_t *array, const xd_value *value, xd_error_t **error);

/* ----- copies, conversions, comparisons: copies are counted ----- */

/* Either way floats are rounded to what the target can hold. */
#define XD_CASTING_CHECKED 0 /* a value that does not fit is XD_ERROR_VALUE, with the index */
/* Fractions are truncated, dates rounded down, values out of range clamped. Floats out of range
 * become infinite if the target has infinities. */
#define XD_CASTING_SATURATING 1

/* A contiguous copy. */
XD_API XD_MUST_USE xd_array_t *xd_array_copy(const xd_array_t *array, int32_t order, xd_error_t **error);

/* A contiguous copy, converted to another dtype. */
XD_API XD_MUST_USE xd_array_t *xd_array_cast(const xd_array_t *array, const xd_dtype_t *dtype, int32_t order,
                                             int32_t casting, xd_error_t **error);

/* Writes the elements of `source`, broadcast and converted, to `array`. If the two share memory,
 * however it was imported, the result is as if `source` had been copied first. */
XD_API bool xd_array_assign(const xd_array_t *array, const xd_array_t *source, int32_t casting, xd_error_t **error);

/* Sets *equal to whether both have the same shape and equal elements. Returns false if their
 * dtypes cannot be compared. */
XD_API bool xd_array_equals(const xd_array_t *array, const xd_array_t *other, bool *equal, xd_error_t **error);

/* The same values with all numbers in one byte order: '<', '>' or '='. In place if they have it. */
XD_API XD_MUST_USE xd_array_t *xd_array_to_byte_order(const xd_array_t *array, char order, xd_error_t **error);

/* Sets *close to whether both have the same shape, and |a - b| <= atol + rtol * |b| for all elements;
 * NaN equals NaN if `equal_nan` is true. Computed in double precision, to which integers beyond 2^53
 * are rounded: xd_array_equals compares them exactly. */
XD_API bool xd_array_all_close(const xd_array_t *array, const xd_array_t *other, double rtol, double atol,
                               bool equal_nan, bool *close, xd_error_t **error);

/* Sets *differ to whether elements of two arrays of one shape differ. If they do, and `index` is not
 * NULL, it receives the index of the first that does, a number for each axis. */
XD_API bool xd_array_first_difference(const xd_array_t *array, const xd_array_t *other, ssize_t *index, bool *differ,
                                      xd_error_t **error);

/* The bytes of elements copied since the program began, by all threads and by the calling one. */
XD_API uint64_t xd_copied_bytes(void);
XD_API uint64_t xd_copied_bytes_here(void);

/* The number of threads that share large copies, casts, fills and comparisons: 1 to 1024, by
 * default CROSSDOCK_THREADS of the environment, or the number of cores, at most 16. The calling
 * thread is one of them; the others end half a second after the work. A forked child uses one. */
XD_API size_t xd_num_threads(void);
XD_API bool xd_set_num_threads(size_t number, xd_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
