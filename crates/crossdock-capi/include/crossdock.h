/* Crossdock for C and C++: n-dimensional arrays change hands without being copied.
 *
 *   cc program.c $(pkg-config --cflags --libs crossdock)
 *
 * In C++ there is crossdock.hpp beside it, which frees what it holds. C99 and C++11 and later.
 *
 * Rules for all of it
 *
 * Handles. xd_buffer_t, xd_dtype_t, xd_array_t and xd_lease_t are opaque. A function that returns one without `const` gives it to
 * the caller, who frees it once, by xd_*_free or xd_lease_release. A function that returns one with `const` shows a part of
 * another, which lives as long as that one and is not to be freed. A handle keeps alive what it is on: the buffer may be freed
 * before the array, the array before the lease. Memory goes with its last handle or lease, on whichever thread that is.
 *
 * Errors. What can fail takes `xd_error_t **error` last, and returns NULL or false when it does. `error` may be NULL; otherwise
 * *error is set whatever happens, to NULL on success, so that it need not be initialised. An error is freed by xd_error_free.
 * No function aborts, throws or leaves by longjmp for anything that a caller does within these rules. Two things end the
 * process all the same, as they end any program: touching a mapped file that another program made shorter meanwhile (SIGBUS), and a
 * system without memory even for small things such as shapes and messages. Memory for elements is XD_ERROR_OUT_OF_MEMORY.
 *
 * Outputs. Parameters that a function sets besides its return value (`*value`, `*equal`, `*offset`,
 * `*validity`, `*field`, ...) are always set, to nothing (nil, false, 0, NULL) if the function
 * fails, so they need not be initialised. Two kinds are left unchanged on failure: the structs of other
 * protocols (views, Arrow), and lists that the caller owns.
 *
 * NULL. A query of NULL answers NULL, 0 or false. What can fail names the argument that is NULL (XD_ERROR_ARGUMENT).
 *
 * Texts are UTF-8 with a zero behind them. Those that are returned as `char *` are freed by xd_string_free; those that are returned as
 * `const char *` live as long as what they were asked of. Lists are given as a count and a pointer, which may be NULL where the
 * count is 0.
 *
 * Threads. Every handle may be used and freed on any thread, and used by many at once; freeing is the end of it for all of them.
 *
 * Callbacks must not throw. What a callback gets is valid during the call.
 *
 * Sizes. `nbytes` counts bytes, `len` elements; strides are bytes and have a sign. Lengths, strides and indices are ssize_t.
 */

#ifndef CROSSDOCK_H
#define CROSSDOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h> /* ssize_t */

#if defined(__GNUC__) || defined(__clang__)
#define XD_API __attribute__((visibility("default")))
#define XD_MUST_USE __attribute__((warn_unused_result))
#else
#define XD_API
#define XD_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ===== version ===== */

#define XD_VERSION_MAJOR 0
#define XD_VERSION_MINOR 1
#define XD_VERSION_PATCH 0
#define XD_VERSION (XD_VERSION_MAJOR << 16 | XD_VERSION_MINOR << 8 | XD_VERSION_PATCH)
#define XD_VERSION_STRING "0.1.0"

/* The version of the library that runs, made up as XD_VERSION is, and as text. Within 0.x, another minor version is another
 * binary interface, and so another name of the shared library; from 1.0 on, another major version is. */
XD_API uint32_t xd_version(void);
XD_API const char *xd_version_string(void);

/* ===== errors ===== */

typedef struct xd_error xd_error_t;

/* Kinds. Others may be added: treat a number that you do not know as a failure. */
#define XD_ERROR_NONE 0
#define XD_ERROR_ARGUMENT 1       /* an argument is NULL, or none of the constants that it has to be */
#define XD_ERROR_BOUNDS 2         /* an index, a range or a byte extent lies outside of what it should lie in */
#define XD_ERROR_OVERFLOW 3       /* a size, a stride or an offset does not fit into the machine's word */
#define XD_ERROR_SHAPE 4          /* ranks or shapes do not go together */
#define XD_ERROR_DTYPE 5          /* the element type is another one, or has no such field */
#define XD_ERROR_VALUE 6          /* a value does not fit into the element it should be written to */
#define XD_ERROR_LAYOUT 7         /* no strides can describe the wanted view, or it has not the wanted order */
#define XD_ERROR_ALIGNMENT 8      /* an address or a stride is not a multiple of the element's alignment */
#define XD_ERROR_READ_ONLY 9      /* writing was asked for where only reading is allowed */
#define XD_ERROR_CONFLICT 10      /* a lease, another handle, or the memory's birth stands in the way */
#define XD_ERROR_CLOSED 11        /* a stream was closed */
#define XD_ERROR_EXHAUSTED 12     /* more handles or leases than can be counted */
#define XD_ERROR_PLACE 13         /* the memory is on a device that the processor cannot address */
#define XD_ERROR_DEVICE 14        /* a device or its driver failed */
#define XD_ERROR_REFUSED 15       /* a producer would not lend what was asked for */
#define XD_ERROR_MALFORMED 16     /* bytes, a text or a descriptor break the rules of their own format */
#define XD_ERROR_UNSUPPORTED 17   /* well-formed, but not supported */
#define XD_ERROR_FAULT 18         /* a mapped file shrank, and its map is guarded */
#define XD_ERROR_IO 19            /* the operating system said no */
#define XD_ERROR_OUT_OF_MEMORY 20 /* no memory could be had, or the limit of a pool stands in the way */
#define XD_ERROR_INTERNAL 21      /* a defect of this library, caught before it could do harm; please report it */

/* The kind; XD_ERROR_NONE of NULL. */
XD_API int32_t xd_error_kind(const xd_error_t *error);

/* One sentence with the numbers in it; "" of NULL. Lives as long as the error. */
XD_API const char *xd_error_message(const xd_error_t *error);

/* A word for a kind, "bounds"; NULL for a number that is none. Lives for ever. */
XD_API const char *xd_error_kind_name(int32_t kind);

/* NULL is fine. */
XD_API void xd_error_free(xd_error_t *error);

/* Frees a `char *` that a function of this library returned. NULL is fine. */
XD_API void xd_string_free(char *text);

/* ===== values ===== */

/* What xd_value.kind can be, and which part of xd_value.as it goes with. Others may be added. */
#define XD_VALUE_NIL 0
#define XD_VALUE_INT 1          /* i */
#define XD_VALUE_UINT 2         /* u */
#define XD_VALUE_FLOAT 3        /* f */
#define XD_VALUE_LIST 4         /* items, len of them: the parts of a record or a sub-array */
#define XD_VALUE_BOOL 5         /* u: 0 or 1 */
#define XD_VALUE_COMPLEX 6      /* items, 2: the real and the imaginary part */
#define XD_VALUE_BYTES 7        /* bytes, len of them, and a zero behind */
#define XD_VALUE_TEXT 8         /* bytes, len of them: UTF-8, and a zero behind */
#define XD_VALUE_DATETIME 9     /* i: so many units of the dtype since 1970-01-01T00:00 */
#define XD_VALUE_TIMEDELTA 10   /* i: so many units of the dtype */
#define XD_VALUE_LONG_DOUBLE 11 /* bytes, 16: a long double of x86-64 as it lies in memory */
#define XD_VALUE_POINTER 12     /* u: an address that means something only to whoever wrote it */

/* One element, out of its array. 16 bytes, which functions return in two registers. */
typedef struct xd_value {
  uint8_t kind;
  uint8_t reserved[3];
  uint32_t len;
  union {
    int64_t i;
    uint64_t u;
    double f;
    const struct xd_value *items;
    const char *bytes;
  } as;
} xd_value;

/* Frees what a value owns (lists, bytes, texts), and makes it nil. Once for a value and all its copies; not for values that you made
 * yourself, unless they have no pointer. NULL is fine, and nil is, so that freeing twice is. */
XD_API void xd_value_free(xd_value *value);

/* ===== what an element is ===== */

/* A tree: scalars, records with named fields, sub-arrays. */
typedef struct xd_dtype xd_dtype_t;

/* What xd_dtype_kind answers. Others may be added. */
#define XD_DTYPE_NONE 0 /* of NULL */
#define XD_DTYPE_BOOL 1
#define XD_DTYPE_INT 2
#define XD_DTYPE_UINT 3
#define XD_DTYPE_FLOAT 4       /* of IEEE: 2, 4 or 8 bytes */
#define XD_DTYPE_COMPLEX 5     /* two of them */
#define XD_DTYPE_BFLOAT 6      /* the upper half of a 4-byte float */
#define XD_DTYPE_SMALL_FLOAT 7 /* of 8, 6 or 4 bits, in one byte: xd_dtype_to_text says which */
#define XD_DTYPE_LONG_DOUBLE 8
#define XD_DTYPE_COMPLEX_LONG_DOUBLE 9
#define XD_DTYPE_BYTES 10 /* shorter ones filled up with zeros */
#define XD_DTYPE_TEXT 11  /* code points of 4 bytes, likewise */
#define XD_DTYPE_VOID 12  /* bytes of which nothing is known */
#define XD_DTYPE_DATETIME 13
#define XD_DTYPE_TIMEDELTA 14
#define XD_DTYPE_POINTER 15
#define XD_DTYPE_RECORD 16
#define XD_DTYPE_SUBARRAY 17
#define XD_DTYPE_OTHER 18

/* One field of a record. The pointers live as long as the dtype that was asked. */
typedef struct xd_field {
  const char *name; /* UTF-8, without a zero behind it */
  size_t name_len;
  size_t offset; /* from the start of the record, in bytes */
  const xd_dtype_t *dtype;
} xd_field;

/* NumPy's spelling: "<f8", or the Python literal of a dtype, "[('price', '<f8'), ('codes', '|u1', (3,))]". */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_parse(const char *typestr, xd_error_t **error);

/* Ruby's spelling, a pack template: "d", "iqc", "|cq" with the alignment of C. Several numbers make a record of f0, f1, .... */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_parse_pack(const char *pack, xd_error_t **error);

/* DLPack's numbers. Elements of less than 8 bits are those that have a byte each. */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_from_dlpack(uint8_t code, uint8_t bits, uint16_t lanes, xd_error_t **error);

/* A record of `count` fields. Where `offsets` is NULL they follow each other without gaps, and `itemsize` is not looked at. */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_record(size_t count, const char *const *names, const xd_dtype_t *const *dtypes,
                                               const size_t *offsets, size_t itemsize, xd_error_t **error);

/* A row-major array of `base` as an element. Without axes it is `base` itself. */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_subarray(const xd_dtype_t *base, size_t ndim, const ssize_t *shape, xd_error_t **error);

/* The same tree with every number in one byte order: '<' little, '>' big, '=' the machine's. */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_with_byte_order(const xd_dtype_t *dtype, char order, xd_error_t **error);

/* Another handle. O(1). */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_clone(const xd_dtype_t *dtype, xd_error_t **error);
XD_API void xd_dtype_free(xd_dtype_t *dtype);

XD_API int32_t xd_dtype_kind(const xd_dtype_t *dtype);
XD_API size_t xd_dtype_itemsize(const xd_dtype_t *dtype);
/* The alignment in bytes at which a processor reads it best: 1 of a record. */
XD_API size_t xd_dtype_alignment(const xd_dtype_t *dtype);
/* '<' or '>'; 0 where there is nothing to order, and of records, whose fields have their own. */
XD_API char xd_dtype_byte_order(const xd_dtype_t *dtype);
/* Whether both describe the same bytes with the same names. */
XD_API bool xd_dtype_equals(const xd_dtype_t *a, const xd_dtype_t *b);

/* Of a record; 0 and false of anything else. `field` may be NULL, to ask whether there is one. */
XD_API size_t xd_dtype_field_count(const xd_dtype_t *dtype);
XD_API bool xd_dtype_field(const xd_dtype_t *dtype, size_t index, xd_field *field);
XD_API bool xd_dtype_find_field(const xd_dtype_t *dtype, const char *name, xd_field *field);

/* Of a sub-array; NULL and 0 of anything else. */
XD_API const xd_dtype_t *xd_dtype_base(const xd_dtype_t *dtype);
XD_API size_t xd_dtype_ndim(const xd_dtype_t *dtype);
XD_API const ssize_t *xd_dtype_shape(const xd_dtype_t *dtype);

/* As people read it ("{x: float32 @0, y: float64 @8; 16}"), and in NumPy's spelling. */
XD_API XD_MUST_USE char *xd_dtype_to_text(const xd_dtype_t *dtype, xd_error_t **error);
XD_API XD_MUST_USE char *xd_dtype_to_typestr(const xd_dtype_t *dtype, xd_error_t **error);
/* In Ruby's spelling. What Ruby cannot say is XD_ERROR_UNSUPPORTED, or if `approximately`, the nearest: a bool is 'C', a complex number
 * is "ff" or "dd". */
XD_API XD_MUST_USE char *xd_dtype_to_pack(const xd_dtype_t *dtype, bool approximately, xd_error_t **error);
/* In DLPack's numbers, each where it is wanted. Elements of less than 8 bits have a byte each. */
XD_API bool xd_dtype_to_dlpack(const xd_dtype_t *dtype, uint8_t *code, uint8_t *bits, uint16_t *lanes, xd_error_t **error);

/* ===== bytes, and the permission to touch them ===== */

/* Bytes that somebody owns. A handle gives no access: that is what leases are for. */
typedef struct xd_buffer xd_buffer_t;

/* Who else may touch memory that is adopted. */
#define XD_BIRTH_SOLE 1     /* nobody: from now on it is touched under leases only */
#define XD_BIRTH_CONSTANT 2 /* nobody writes it, ever; the handle is read-only */
#define XD_BIRTH_ALIASED 3  /* others may write it at any time: it can be shared and pinned, and not read or written */

/* `nbytes` zero bytes. */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_alloc(size_t nbytes, xd_error_t **error);

/* A copy of the caller's bytes, which is counted (xd_copied_bytes). */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_copy(const void *bytes, size_t nbytes, xd_error_t **error);

/* The caller's memory, in place. `release(context)` is called exactly once: when the last handle or lease goes, on whichever thread
 * that is, or before this returns NULL. `release` may be NULL for memory that outlives every use.
 *
 * Until then the bytes are initialised and valid to be read, and unless XD_BIRTH_CONSTANT to be written. */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_adopt(void *data, size_t nbytes, int32_t birth, void (*release)(void *context),
                                                void *context, xd_error_t **error);

/* A handle on part of the bytes. O(1). */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_slice(const xd_buffer_t *buffer, size_t offset, size_t nbytes, xd_error_t **error);

/* A handle on the same bytes that never permits to write, nor does anything that is made of it. */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_readonly(const xd_buffer_t *buffer, xd_error_t **error);

/* Another handle. O(1). */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_clone(const xd_buffer_t *buffer, xd_error_t **error);
XD_API void xd_buffer_free(xd_buffer_t *buffer);

XD_API size_t xd_buffer_nbytes(const xd_buffer_t *buffer);
XD_API bool xd_buffer_is_readonly(const xd_buffer_t *buffer);
/* Where the first byte is. It gives no permission to touch it. */
XD_API uintptr_t xd_buffer_address(const xd_buffer_t *buffer);

/* Permission to touch bytes, until it is given back. It keeps the memory alive by itself. */
typedef struct xd_lease xd_lease_t;

/*                             how many | what its holder may do                       | excludes        */
#define XD_LEASE_NONE 0  /*             | what xd_lease_kind answers of NULL           |                 */
#define XD_LEASE_READ 1  /*    any      | read, and rely on nobody writing             | WRITE and SHARE */
#define XD_LEASE_WRITE 2 /*    one      | read and write, and rely on nobody else      | everything      */
#define XD_LEASE_SHARE 3 /*    any      | read and write; others may, at any time      | READ and WRITE  */
#define XD_LEASE_PIN 4   /*    any      | read, not relying on anything; never write   | WRITE           */

/* Takes a lease of all bytes. Nothing waits: what stands in the way is XD_ERROR_CONFLICT, and says who. */
XD_API XD_MUST_USE xd_lease_t *xd_buffer_lease(const xd_buffer_t *buffer, int32_t kind, xd_error_t **error);

/* Where the bytes begin; of an array's lease, where element 0 is (and the others are as the array's strides say). */
XD_API const void *xd_lease_data(const xd_lease_t *lease);
/* The same, to be written; NULL under READ and PIN. */
XD_API void *xd_lease_mutable_data(const xd_lease_t *lease);
/* How many bytes; of an array's lease, those of all elements, without gaps. */
XD_API size_t xd_lease_nbytes(const xd_lease_t *lease);
XD_API int32_t xd_lease_kind(const xd_lease_t *lease);

/* Gives it back: the pointer that it gave is not to be used any more. NULL is fine. */
XD_API void xd_lease_release(xd_lease_t *lease);

/* ===== arrays ===== */

/* An n-dimensional array: a handle on memory, seen through a dtype, a shape and strides. At most 64 axes. */
typedef struct xd_array xd_array_t;

#define XD_ROW_MAJOR 1
#define XD_COLUMN_MAJOR 2

/* New elements, all zero. */
XD_API XD_MUST_USE xd_array_t *xd_array_zeros(const xd_dtype_t *dtype, size_t ndim, const ssize_t *shape, int32_t order,
                                              xd_error_t **error);

/* A buffer as an array whose element 0 lies `offset` bytes into it. `strides` may be NULL for row-major. Nothing is copied, and what
 * would leave the buffer at either end is XD_ERROR_BOUNDS. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_buffer(const xd_buffer_t *buffer, const xd_dtype_t *dtype, size_t ndim,
                                                    const ssize_t *shape, const ssize_t *strides, size_t offset,
                                                    xd_error_t **error);

/* The one array of a file (.npy), read-only, mapped where it lies there as it is. The file must not become shorter while the array
 * lives: touching what is gone then ends the process. To replace a file, rename a new one over it. */
XD_API XD_MUST_USE xd_array_t *xd_array_open(const char *path, xd_error_t **error);

/* Writes an array to a file of NumPy's. The file appears, or is replaced, when all of it is on disk. Pipes and devices are written
 * through, and a pipe waits for its reader. */
XD_API bool xd_array_save_npy(const xd_array_t *array, const char *path, xd_error_t **error);

/* Another handle. O(1). */
XD_API XD_MUST_USE xd_array_t *xd_array_clone(const xd_array_t *array, xd_error_t **error);
/* A handle on the same elements that never permits to write, nor does anything that is made of it. */
XD_API XD_MUST_USE xd_array_t *xd_array_readonly(const xd_array_t *array, xd_error_t **error);
XD_API void xd_array_free(xd_array_t *array);

/* What an array knows of itself. The pointers live as long as the handle. */
XD_API size_t xd_array_ndim(const xd_array_t *array);
XD_API const ssize_t *xd_array_shape(const xd_array_t *array);
XD_API const ssize_t *xd_array_strides(const xd_array_t *array); /* in bytes */
XD_API const xd_dtype_t *xd_array_dtype(const xd_array_t *array);
XD_API size_t xd_array_len(const xd_array_t *array);
XD_API size_t xd_array_nbytes(const xd_array_t *array); /* of all elements, without gaps */
XD_API bool xd_array_is_readonly(const xd_array_t *array);
/* Whether elements are reached over tables of pointers. */
XD_API bool xd_array_is_indirect(const xd_array_t *array);
/* Whether the elements lie in that order without gaps. Axes of length 1 do not matter, and what is empty is contiguous. */
XD_API bool xd_array_is_contiguous(const xd_array_t *array, int32_t order);
/* Where element 0 is. It gives no permission to touch it. */
XD_API uintptr_t xd_array_address(const xd_array_t *array);

/* The bytes from the lowest to the highest that the array touches, and in *offset (which may be NULL) where in them element 0 is. */
XD_API XD_MUST_USE xd_buffer_t *xd_array_buffer(const xd_array_t *array, size_t *offset, xd_error_t **error);

/* Takes a lease of the elements. xd_lease_data is where element 0 is; from there go by the strides. */
XD_API XD_MUST_USE xd_lease_t *xd_array_lease(const xd_array_t *array, int32_t kind, xd_error_t **error);

/* The elements as NumPy prints them, the middle of long axes left out. */
XD_API XD_MUST_USE char *xd_array_to_text(const xd_array_t *array, xd_error_t **error);

/* By which protocols the array goes out in place, by a copy or not, and what functions of other libraries do with it
   in Python: a line for each, with the reason. `library` is a distribution such as "numpy"; null stands for all that
   are known. The exporters are called, and what they give is released: it may wait for in-flight work of a device. */
XD_API XD_MUST_USE char *xd_array_explain(const xd_array_t *array, const char *library, xd_error_t **error);

/* ----- views: other handles on the same elements. O(ndim), and nothing is copied ----- */

#define XD_SLICE_RANGE 0
#define XD_SLICE_INDEX 1    /* one index, which drops the axis */
#define XD_SLICE_NEW_AXIS 2 /* a new axis of length 1 */
#define XD_SLICE_REST 3     /* as many whole axes as are left */

/* A bound that is not there. */
#define XD_OPEN PTRDIFF_MIN

/* What to take of one axis, as in Python: bounds are clamped, negative ones count from the end. */
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

/* xd_slice rows[] = {XD_RANGE(0, 10, 2), XD_INDEX(-1)};  Axes that are not named are whole. */
XD_API XD_MUST_USE xd_array_t *xd_array_slice(const xd_array_t *array, size_t count, const xd_slice *slices, xd_error_t **error);

/* The same by a text: "::2, ..., -1", ".position, 0". A field begins a new subscript. */
XD_API XD_MUST_USE xd_array_t *xd_array_at(const xd_array_t *array, const char *subscript, xd_error_t **error);

/* One field of each record. A field that is a sub-array adds its axes behind the array's. */
XD_API XD_MUST_USE xd_array_t *xd_array_field(const xd_array_t *array, const char *name, xd_error_t **error);

/* The axes in reverse order, or axis `axes[k]` as axis `k`. */
XD_API XD_MUST_USE xd_array_t *xd_array_transpose(const xd_array_t *array, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_permute(const xd_array_t *array, size_t ndim, const ssize_t *axes, xd_error_t **error);

/* The same elements, in row-major order, under another shape: XD_ERROR_LAYOUT where it would take a copy. */
XD_API XD_MUST_USE xd_array_t *xd_array_reshape(const xd_array_t *array, size_t ndim, const ssize_t *shape, xd_error_t **error);

/* The elements repeated along new leading axes and axes of length 1, by NumPy's rule. */
XD_API XD_MUST_USE xd_array_t *xd_array_broadcast_to(const xd_array_t *array, size_t ndim, const ssize_t *shape,
                                                     xd_error_t **error);

/* The same bytes as elements of another dtype. Where its size is another, the last axis changes its length. */
XD_API XD_MUST_USE xd_array_t *xd_array_view_as(const xd_array_t *array, const xd_dtype_t *dtype, xd_error_t **error);

/* ----- elements ----- */

/* One element, by value, under a lease of that moment. `index` has as many numbers as there are axes. *value is nil where it fails;
 * what it holds is freed by xd_value_free. */
XD_API bool xd_array_get(const xd_array_t *array, const ssize_t *index, xd_value *value, xd_error_t **error);

/* Writes one element, converted with a check: what does not fit is XD_ERROR_VALUE. Lists are the parts of records and sub-arrays. */
XD_API bool xd_array_set(const xd_array_t *array, const ssize_t *index, const xd_value *value, xd_error_t **error);

/* Writes one value over every element. Where elements overlap, as those of xd_array_broadcast_to, it is XD_ERROR_LAYOUT, as for
 * xd_array_assign. */
XD_API bool xd_array_fill(const xd_array_t *array, const xd_value *value, xd_error_t **error);

/* ----- copies, conversions, comparisons: what is copied is counted ----- */

#define XD_CASTING_CHECKED 0    /* what does not fit is XD_ERROR_VALUE, with the index */
#define XD_CASTING_SATURATING 1 /* without a fraction, at the nearer end of the range; dates rounded down */

/* The elements in new memory, without gaps. */
XD_API XD_MUST_USE xd_array_t *xd_array_copy(const xd_array_t *array, int32_t order, xd_error_t **error);

/* The same, converted to another dtype. */
XD_API XD_MUST_USE xd_array_t *xd_array_cast(const xd_array_t *array, const xd_dtype_t *dtype, int32_t order, int32_t casting,
                                             xd_error_t **error);

/* Writes the elements of `source`, broadcast and converted, over those of `array`. If the two have
   bytes in common, however their memory was imported, the result is as if `source` had been copied
   first. */
XD_API bool xd_array_assign(const xd_array_t *array, const xd_array_t *source, int32_t casting, xd_error_t **error);

/* Whether both have the same shape and equal elements, which goes to *equal. False is a failure: their dtypes cannot be compared. */
XD_API bool xd_array_equals(const xd_array_t *array, const xd_array_t *other, bool *equal, xd_error_t **error);

/* Bytes of elements that were copied since the program began, by all threads and by the calling one. */
XD_API uint64_t xd_copied_bytes(void);
XD_API uint64_t xd_copied_bytes_here(void);

/* ===== MemoryView: views of any object ===== */

/* The protocol of Ruby's ruby/memory_view.h, for everybody: the same structs field by field, the same functions with their arguments
 * in the same order, and an answer where the original crashes. Code that was written for the original compiles with
 * <crossdock/ruby_names.h>.
 *
 * An object is a pointer to memory that begins with a pointer to its class. An xd_array_t is one.
 *
 *   struct photo { const xd_class *class; ... };
 *
 * Functions that answer false, NULL, -1 or nil say why in xd_last_refusal(). */
typedef struct xd_class {
  const char *name; /* for messages; may be NULL */
  const struct xd_class *super; /* whose producer it inherits; may be NULL */
} xd_class;

/* What a consumer asks for at least. Whatever the producer thinks of it, no view is given that does not keep to it. Every view has a
 * shape, strides, a format, an item size and components. */
#define XD_MEMORY_VIEW_SIMPLE 0
#define XD_MEMORY_VIEW_WRITABLE 1 /* items may be written; without it a view of an array of ours is read-only */
#define XD_MEMORY_VIEW_FORMAT 2
#define XD_MEMORY_VIEW_MULTI_DIMENSIONAL 4
#define XD_MEMORY_VIEW_STRIDES 12
#define XD_MEMORY_VIEW_ROW_MAJOR 28    /* row-major, without gaps */
#define XD_MEMORY_VIEW_COLUMN_MAJOR 44 /* column-major, without gaps */
#define XD_MEMORY_VIEW_ANY_CONTIGUOUS 60
#define XD_MEMORY_VIEW_INDIRECT 76 /* suboffsets, where the memory is so; without it, such is refused */

/* `repeat` numbers of one type, one after the other in each item. (Flags are bits of byte 1 in Ruby before 3.3.) */
typedef struct xd_memory_view_item_component {
  char format;          /* the letter of the pack template */
  bool native_size_p;   /* whether it had a `!` or `_` */
  bool little_endian_p; /* whether the least significant byte comes first */
  size_t offset;        /* where the first begins, in bytes from the start of the item */
  size_t size;          /* of each, in bytes */
  size_t repeat;
} xd_memory_view_item_component_t;

typedef struct xd_memory_view {
  void *obj;             /* the object that is exported */
  void *data;            /* the address of element 0 */
  ssize_t byte_size;     /* at least what the items cover; or just what they have, and how far apart they lie is the producer's word */
  bool readonly;
  const char *format;    /* a pack template; NULL for bytes */
  ssize_t item_size;
  struct {
    const xd_memory_view_item_component_t *components;
    size_t length;
  } item_desc;           /* the format, read */
  ssize_t ndim;
  const ssize_t *shape;
  const ssize_t *strides; /* in bytes */
  const ssize_t *sub_offsets; /* NULL, or of each axis: negative, or where to go on behind the pointer that is there */
  void *private_data;    /* the producer's own */
  void *reserved;        /* the hub's own */
} xd_memory_view_t;

typedef bool (*xd_memory_view_get_func_t)(void *obj, xd_memory_view_t *view, int flags);
typedef bool (*xd_memory_view_release_func_t)(void *obj, xd_memory_view_t *view);
typedef bool (*xd_memory_view_available_p_func_t)(void *obj);

/* A producer. Its functions may be called on any thread.
 *
 * get_func fills in a struct that is empty before; on false it has kept nothing. What it points to is there until release_func, which
 * gets the struct as get_func filled it in, once, or NULL: there is nothing to take back. Should it answer false, the view is still held.
 * available_p_func says whether it is worth trying; NULL: always. What is lent keeps its memory alive by means of the producer's own. Where
 * one of them says no after it was refused something itself, that is a part of the reason. */
typedef struct xd_memory_view_entry {
  xd_memory_view_get_func_t get_func;
  xd_memory_view_release_func_t release_func;
  xd_memory_view_available_p_func_t available_p_func;
} xd_memory_view_entry_t;

/* Makes a producer known for the objects of a class and of those that inherit from it. The entry is copied. False where the class has
 * one of its own already, which stays, and for a producer without get_func. The class stays where it is while there are objects of it. */
XD_API bool xd_memory_view_register(const xd_class *cls, const xd_memory_view_entry_t *entry);

/* Takes the producer of a class out: false where it had none of its own. Views that are held stay valid. */
XD_API bool xd_memory_view_unregister(const xd_class *cls);

/* Whether it is worth asking for a view. Promises nothing. */
XD_API bool xd_memory_view_available_p(void *obj);

/* Asks for a view. On false the struct is as it was, and nothing is held. */
XD_API bool xd_memory_view_get(void *obj, xd_memory_view_t *view, int flags);

/* Gives a view back, and empties the struct. False where it was given back before, also by another copy of the struct, where no hub gave
 * it, and where the producer does not take it back. */
XD_API bool xd_memory_view_release(xd_memory_view_t *view);

/* How many views of an object are held: by the object that its producer put into the view. */
XD_API size_t xd_memory_view_exports(void *obj);

/* Why this thread was told no last; "" where it never was. Valid until it is told no again. */
XD_API const char *xd_last_refusal(void);

/* Reads a pack template. Gives the bytes of one item, or -1 and in *err where the part begins that is wrong (NULL otherwise). Each of
 * the last three may be NULL. Free the components with xd_memory_view_free_components, which
 * accepts NULL and ignores its `n`. A NULL format is that of bytes: the result is 1, and *components
 * and *n are not set, as in the original. For an invalid format they are set to NULL and 0. */
XD_API ssize_t xd_memory_view_parse_item_format(const char *format, xd_memory_view_item_component_t **components, size_t *n,
                                                const char **err);
XD_API void xd_memory_view_free_components(const xd_memory_view_item_component_t *components, size_t n);
XD_API ssize_t xd_memory_view_item_size_from_format(const char *format, const char **err);

/* Where an item is: `index` has ndim numbers. NULL for an index outside. Works on structs made by hand, too: NULL strides are row-major, a
 * NULL shape is byte_size / item_size, suboffsets are followed at any rank. */
XD_API void *xd_memory_view_get_item_pointer(const xd_memory_view_t *view, const ssize_t *index);

/* Reads the format of a view that was made by hand into its item_desc, to be freed by xd_memory_view_free_components. A view that was got
 * has it. Several threads may call it for one view at once. */
XD_API bool xd_memory_view_prepare_item_desc(xd_memory_view_t *view);

/* An item: a number, a list of them where its components name several, nil where none or on failure. Of a view without a format, a
 * byte. A list is freed by xd_value_free. */
XD_API xd_value xd_memory_view_get_item(const xd_memory_view_t *view, const ssize_t *index);

/* The numbers of an item, put into the caller's list: how many there are, of which no more than `capacity` are put; -1 on failure.
 * Nothing is allocated. */
XD_API ssize_t xd_memory_view_read_item(const xd_memory_view_t *view, const ssize_t *index, xd_value *out, size_t capacity);

/* Writes an item: a number, or a list of as many as its components name. What does not fit is XD_ERROR_VALUE, and nothing is written. */
XD_API bool xd_memory_view_set_item(const xd_memory_view_t *view, const ssize_t *index, const xd_value *value, xd_error_t **error);

/* As xd_memory_view_get_item, of bytes that are an item, wherever they are. */
XD_API xd_value xd_memory_view_extract_item_members(const void *ptr, const xd_memory_view_item_component_t *members, size_t n);

/* The strides of a contiguous array, as the original has them: an axis of length 0 makes all strides outside of it 0. False, and nothing
 * written, for what is negative or does not fit. */
XD_API bool xd_memory_view_fill_contiguous_strides(ssize_t ndim, ssize_t item_size, const ssize_t *shape, bool row_major_p,
                                                   ssize_t *strides);

/* Fills in a view of bytes, every field of it: for producers to begin with. */
XD_API bool xd_memory_view_init_as_byte_array(xd_memory_view_t *view, void *obj, void *data, ssize_t len, bool readonly);

/* Whether the items lie without gaps, by NumPy's rules: axes of length 1 do not matter, and what is empty is contiguous. `strictly`: by
 * the original's, where every stride counts. */
XD_API bool xd_memory_view_is_row_major_contiguous(const xd_memory_view_t *view);
XD_API bool xd_memory_view_is_column_major_contiguous(const xd_memory_view_t *view);
XD_API bool xd_memory_view_is_contiguous(const xd_memory_view_t *view);
XD_API bool xd_memory_view_is_row_major_contiguous_strictly(const xd_memory_view_t *view);
XD_API bool xd_memory_view_is_column_major_contiguous_strictly(const xd_memory_view_t *view);

/* Any object's view as an array, in place. The view is released with the last handle. It can be shared and pinned, and is read-only unless
 * the flags ask for XD_MEMORY_VIEW_WRITABLE. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_object(void *obj, int flags, xd_error_t **error);

/* A handle on the same elements for views of which no template says the dtype: a bool is 'C', a complex number two floats. */
XD_API XD_MUST_USE xd_array_t *xd_array_approximated(const xd_array_t *array, xd_error_t **error);

/* The class that every xd_array_t begins with. */
XD_API const xd_class *xd_array_class(void);

/* ===== other protocols ===== */

/* What an export may do. */
#define XD_EXPORT_IN_PLACE 0u       /* what cannot be lent in place is XD_ERROR_REFUSED */
#define XD_EXPORT_COPY_IF_NEEDED 1u /* such is copied */
#define XD_EXPORT_COPY 2u           /* a copy is wanted */
/* DLPack: the caller vouches that no consumer writes, so that read-only arrays can be lent. DLPack's flag is advisory, and the older
 * struct has none. */
#define XD_EXPORT_TRUST_READONLY 4u
/* Arrow: the whole array as one tensor, and not a row for each index of axis 0. */
#define XD_EXPORT_WHOLE 8u

/* Of dlpack.h and of Arrow's c/abi.h, which need not be there. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;
struct ArrowSchema;
struct ArrowArray;
struct ArrowDeviceArray;

/* Lends an array by DLPack. Whoever has the tensor calls its deleter, once, on any thread. Others may write it meanwhile. */
XD_API XD_MUST_USE struct DLManagedTensorVersioned *xd_array_to_dlpack(const xd_array_t *array, uint32_t flags, xd_error_t **error);
XD_API XD_MUST_USE struct DLManagedTensor *xd_array_to_dlpack_legacy(const xd_array_t *array, uint32_t flags, xd_error_t **error);

/* Takes a tensor over, in place. Its deleter is called exactly once: when the last handle goes, or before this returns NULL. Its
 * memory counts as XD_BIRTH_ALIASED, and as read-only where the tensor says so, or cannot say (the older struct).
 *
 * What shape and strides reach has to be memory: that is the producer's word, and cannot be checked. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_dlpack(struct DLManagedTensorVersioned *tensor, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_from_dlpack_legacy(struct DLManagedTensor *tensor, xd_error_t **error);

/* Lends an array by Arrow's C Data or C Device interface: axis 0 are the rows, the others a fixed-shape tensor, fields of records columns
 * of a struct. Both structs are filled in, and are to be released; on false neither is touched. `name` may be NULL. Until the column is
 * released, nobody can write the elements. */
XD_API bool xd_array_to_arrow(const xd_array_t *array, const char *name, uint32_t flags, struct ArrowSchema *schema,
                              struct ArrowArray *column, xd_error_t **error);
XD_API bool xd_array_to_arrow_device(const xd_array_t *array, const char *name, uint32_t flags, struct ArrowSchema *schema,
                                     struct ArrowDeviceArray *column, xd_error_t **error);

/* Takes a column over, in place. Both structs are moved out of, whatever happens, and the column is released exactly once: when the last
 * handle goes, or before this returns NULL. Its memory counts as XD_BIRTH_CONSTANT.
 *
 * Nulls are XD_ERROR_VALUE where `validity` is NULL. Otherwise *validity becomes an array of truth values, true where an element is no
 * null, to be freed like the other; or NULL where there are no nulls. A struct of columns is XD_ERROR_UNSUPPORTED. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_arrow(struct ArrowSchema *schema, struct ArrowArray *column, xd_array_t **validity,
                                                   xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_from_arrow_device(struct ArrowSchema *schema, struct ArrowDeviceArray *column,
                                                          xd_array_t **validity, xd_error_t **error);

/* The columns of a struct as records, which takes a copy; otherwise the same. */
XD_API XD_MUST_USE xd_array_t *xd_array_copy_from_arrow(struct ArrowSchema *schema, struct ArrowArray *column, xd_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
