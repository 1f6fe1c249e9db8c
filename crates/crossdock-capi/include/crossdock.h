/* Crossdock for C and C++: shares n-dimensional arrays without copying them.
 *
 *   cc program.c $(pkg-config --cflags --libs crossdock)
 *
 * Requires C99 or C++11, or later. In C++, crossdock.hpp beside it has classes that free their
 * handles.
 *
 * Rules for all functions
 *
 * Handles. xd_buffer_t, xd_dtype_t, xd_array_t, xd_set_t, xd_channel_t, xd_sender_t, xd_loan_t,
 * xd_receiver_t, xd_column_t, xd_batch_t, xd_reader_t, xd_schema_t, xd_text_t and xd_lease_t are
 * opaque. A function that returns one without `const` transfers it to the caller, who frees it
 * once, by xd_*_free or xd_lease_release. A `const` result is part of the argument: it lives as long as the argument, and
 * must not be freed. A handle keeps its memory alive: the buffer may be freed before the array, and
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
 * `*validity`, `*field`, ...) are always set, to nothing (nil, false, 0, NULL) if the function
 * fails, so they need not be initialised. Two kinds are left unchanged on failure: the structs of other
 * protocols (views, Arrow), and lists that the caller owns.
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
 * Callbacks must not throw. Their arguments are valid during the call.
 *
 * Sizes. `nbytes` counts bytes, `len` elements; strides are signed, in bytes. Lengths, strides and
 * indices are ssize_t.
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

/* The version of the running library, encoded as XD_VERSION, and as text. Within 0.x, another
 * minor version has another binary interface, and so another name of the shared library. From
 * 1.0 on, another major version does. */
XD_API uint32_t xd_version(void);
XD_API const char *xd_version_string(void);

/* ===== errors ===== */

typedef struct xd_error xd_error_t;

/* Kinds. More may be added: treat an unknown number as a failure. */
#define XD_ERROR_NONE 0
#define XD_ERROR_ARGUMENT 1       /* an argument is NULL, or not one of its constants */
#define XD_ERROR_BOUNDS 2         /* an index, a range or a byte extent is out of bounds */
#define XD_ERROR_OVERFLOW 3       /* a size, a stride or an offset overflows the machine's word */
#define XD_ERROR_SHAPE 4          /* ranks or shapes do not match */
#define XD_ERROR_DTYPE 5          /* the element type differs, or has no such field */
#define XD_ERROR_VALUE 6          /* a value does not fit the element */
#define XD_ERROR_LAYOUT 7         /* no strides describe the view, or its order is another one */
#define XD_ERROR_ALIGNMENT 8      /* an address or a stride is not a multiple of the element's alignment */
#define XD_ERROR_READ_ONLY 9      /* a write was requested on read-only memory */
#define XD_ERROR_CONFLICT 10      /* a lease, another handle or the memory's birth prevents it */
#define XD_ERROR_CLOSED 11        /* a stream was closed */
#define XD_ERROR_EXHAUSTED 12     /* too many handles, leases or members; no slot of a channel became free in time */
#define XD_ERROR_PLACE 13         /* the memory is on a device that the CPU cannot access */
#define XD_ERROR_DEVICE 14        /* a device or its driver failed */
#define XD_ERROR_REFUSED 15       /* a producer refused the request */
#define XD_ERROR_MALFORMED 16     /* bytes, a text or a descriptor violate their format */
#define XD_ERROR_UNSUPPORTED 17   /* well-formed, but not supported */
#define XD_ERROR_FAULT 18         /* a mapped file shrank, and its map is guarded */
#define XD_ERROR_IO 19            /* the operating system failed the call */
#define XD_ERROR_OUT_OF_MEMORY 20 /* no memory is available, or the limit of a pool is reached */
#define XD_ERROR_INTERNAL 21      /* a bug in this library, caught before it did harm; please report it */

/* The kind; XD_ERROR_NONE for NULL. */
XD_API int32_t xd_error_kind(const xd_error_t *error);

/* One sentence with the numbers; "" for NULL. Lives as long as the error. */
XD_API const char *xd_error_message(const xd_error_t *error);

/* The name of a kind, such as "bounds"; NULL for an unknown number. Lives for ever. */
XD_API const char *xd_error_kind_name(int32_t kind);

/* NULL is fine. */
XD_API void xd_error_free(xd_error_t *error);

/* Frees a `char *` that a function of this library returned. NULL is fine. */
XD_API void xd_string_free(char *text);

/* ===== values ===== */

/* The values of xd_value.kind, each with the member of xd_value.as that it uses. More may be
 * added. */
#define XD_VALUE_NIL 0
#define XD_VALUE_INT 1          /* i */
#define XD_VALUE_UINT 2         /* u */
#define XD_VALUE_FLOAT 3        /* f */
#define XD_VALUE_LIST 4         /* items, `len` of them: the parts of a record or a sub-array */
#define XD_VALUE_BOOL 5         /* u: 0 or 1 */
#define XD_VALUE_COMPLEX 6      /* items, 2: the real and the imaginary part */
#define XD_VALUE_BYTES 7        /* bytes, `len` of them, and a zero byte after them */
#define XD_VALUE_TEXT 8         /* bytes, `len` of them, in UTF-8, and a zero byte after them */
#define XD_VALUE_DATETIME 9     /* i: units of the dtype since 1970-01-01T00:00 */
#define XD_VALUE_TIMEDELTA 10   /* i: units of the dtype */
#define XD_VALUE_LONG_DOUBLE 11 /* bytes, 16: a long double of x86-64 in its memory format */
#define XD_VALUE_POINTER 12     /* u: an address, which only its writer can interpret */

/* The value of one element. 16 bytes, which functions return in two registers. */
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

/* Frees the lists, bytes and text of a value, and makes it nil. Call it once for a value and all
 * its copies, and never for values that you made yourself, unless they have no pointer. NULL and
 * nil are allowed, so freeing twice is. */
XD_API void xd_value_free(xd_value *value);

/* ===== dtypes ===== */

/* The type of an element. A tree of scalars, records with named fields, and sub-arrays. */
typedef struct xd_dtype xd_dtype_t;

/* The results of xd_dtype_kind. More may be added. */
#define XD_DTYPE_NONE 0 /* for NULL */
#define XD_DTYPE_BOOL 1
#define XD_DTYPE_INT 2
#define XD_DTYPE_UINT 3
#define XD_DTYPE_FLOAT 4       /* IEEE 754, 2, 4 or 8 bytes */
#define XD_DTYPE_COMPLEX 5     /* two floats */
#define XD_DTYPE_BFLOAT 6      /* the upper half of a 4-byte float */
#define XD_DTYPE_SMALL_FLOAT 7 /* 8, 6 or 4 bits in one byte; xd_dtype_to_text has the format */
#define XD_DTYPE_LONG_DOUBLE 8
#define XD_DTYPE_COMPLEX_LONG_DOUBLE 9
#define XD_DTYPE_BYTES 10 /* padded with zeros */
#define XD_DTYPE_TEXT 11  /* code points of 4 bytes, padded with zeros */
#define XD_DTYPE_VOID 12  /* opaque bytes */
#define XD_DTYPE_DATETIME 13
#define XD_DTYPE_TIMEDELTA 14
#define XD_DTYPE_POINTER 15
#define XD_DTYPE_RECORD 16
#define XD_DTYPE_SUBARRAY 17
#define XD_DTYPE_OTHER 18

/* One field of a record. The pointers live as long as the queried dtype. */
typedef struct xd_field {
  const char *name; /* UTF-8, without a zero byte at its end */
  size_t name_len;
  size_t offset; /* from the start of the record, in bytes */
  const xd_dtype_t *dtype;
} xd_field;

/* From NumPy's spelling: "<f8", or the Python literal of a dtype, "[('price', '<f8'), ('codes',
 * '|u1', (3,))]". */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_parse(const char *typestr, xd_error_t **error);

/* From Ruby's spelling, a pack template: "d", "iqc", "|cq" with the alignment of C. Several
 * numbers make a record with the fields f0, f1, .... */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_parse_pack(const char *pack, xd_error_t **error);

/* From DLPack's numbers. Elements of less than 8 bits have a byte each. */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_from_dlpack(uint8_t code, uint8_t bits, uint16_t lanes, xd_error_t **error);

/* A record of `count` fields. If `offsets` is NULL, the fields follow each other without gaps
 * and `itemsize` is ignored. */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_record(size_t count, const char *const *names, const xd_dtype_t *const *dtypes,
                                               const size_t *offsets, size_t itemsize, xd_error_t **error);

/* A row-major array of `base` as an element; without axes, `base` itself. */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_subarray(const xd_dtype_t *base, size_t ndim, const ssize_t *shape, xd_error_t **error);

/* The same tree with every number in one byte order: '<' little-endian, '>' big-endian, '='
 * native. */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_with_byte_order(const xd_dtype_t *dtype, char order, xd_error_t **error);

/* Another handle. O(1). */
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_clone(const xd_dtype_t *dtype, xd_error_t **error);
XD_API void xd_dtype_free(xd_dtype_t *dtype);

XD_API int32_t xd_dtype_kind(const xd_dtype_t *dtype);
XD_API size_t xd_dtype_itemsize(const xd_dtype_t *dtype);
/* The natural alignment in bytes; 1 for a record. */
XD_API size_t xd_dtype_alignment(const xd_dtype_t *dtype);
/* '<' or '>'; 0 if there is nothing to order, and for records, whose fields have their own. */
XD_API char xd_dtype_byte_order(const xd_dtype_t *dtype);
/* Whether both describe the same bytes with the same names. */
XD_API bool xd_dtype_equals(const xd_dtype_t *a, const xd_dtype_t *b);

/* For records; 0 and false for other dtypes. `field` may be NULL, to test whether a field
 * exists. */
XD_API size_t xd_dtype_field_count(const xd_dtype_t *dtype);
XD_API bool xd_dtype_field(const xd_dtype_t *dtype, size_t index, xd_field *field);
XD_API bool xd_dtype_find_field(const xd_dtype_t *dtype, const char *name, xd_field *field);

/* For sub-arrays; NULL and 0 for other dtypes. */
XD_API const xd_dtype_t *xd_dtype_base(const xd_dtype_t *dtype);
XD_API size_t xd_dtype_ndim(const xd_dtype_t *dtype);
XD_API const ssize_t *xd_dtype_shape(const xd_dtype_t *dtype);

/* As text for people ("{x: float32 @0, y: float64 @8; 16}"), and in NumPy's spelling. */
XD_API XD_MUST_USE char *xd_dtype_to_text(const xd_dtype_t *dtype, xd_error_t **error);
XD_API XD_MUST_USE char *xd_dtype_to_typestr(const xd_dtype_t *dtype, xd_error_t **error);
/* In Ruby's spelling. A dtype that has none is XD_ERROR_UNSUPPORTED, or its nearest one if
 * `approximately` is true: a bool is 'C', a complex number "ff" or "dd". */
XD_API XD_MUST_USE char *xd_dtype_to_pack(const xd_dtype_t *dtype, bool approximately, xd_error_t **error);
/* As DLPack's numbers; each pointer may be NULL. Elements of less than 8 bits have a byte each. */
XD_API bool xd_dtype_to_dlpack(const xd_dtype_t *dtype, uint8_t *code, uint8_t *bits, uint16_t *lanes, xd_error_t **error);

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
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_adopt(void *data, size_t nbytes, int32_t birth, void (*release)(void *context),
                                                void *context, xd_error_t **error);

/* A handle on part of the bytes. O(1). */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_slice(const xd_buffer_t *buffer, size_t offset, size_t nbytes, xd_error_t **error);

/* A read-only handle on the same bytes; so is each handle made from it. */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_readonly(const xd_buffer_t *buffer, xd_error_t **error);

/* Another handle. O(1). */
XD_API XD_MUST_USE xd_buffer_t *xd_buffer_clone(const xd_buffer_t *buffer, xd_error_t **error);
XD_API void xd_buffer_free(xd_buffer_t *buffer);

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

/* ===== arrays ===== */

/* An n-dimensional array: a handle on memory with a dtype, a shape and strides. At most 64 axes. */
typedef struct xd_array xd_array_t;

#define XD_ROW_MAJOR 1
#define XD_COLUMN_MAJOR 2

/* A new array of zeros. */
XD_API XD_MUST_USE xd_array_t *xd_array_zeros(const xd_dtype_t *dtype, size_t ndim, const ssize_t *shape, int32_t order,
                                              xd_error_t **error);

/* A zero-copy array on a buffer, whose element 0 is `offset` bytes into it. If `strides` is
 * NULL, it is row-major. A layout that exceeds the buffer at either end is XD_ERROR_BOUNDS. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_buffer(const xd_buffer_t *buffer, const xd_dtype_t *dtype, size_t ndim,
                                                    const ssize_t *shape, const ssize_t *strides, size_t offset,
                                                    xd_error_t **error);

/* The only array of a .npy, .gguf, TIFF or NIfTI file, mapped and read-only, with its elements as
 * they are stored. The file must not be truncated while the array lives: access to missing bytes
 * ends the process. To replace a file, rename a new one over it. The path may be followed by the
 * name of one of several arrays and by a view: "a.npz:name[::2].field". */
XD_API XD_MUST_USE xd_array_t *xd_array_open(const char *path, xd_error_t **error);

/* Writes an array to a .npy file. The file appears, or is replaced, when all of it is on disk.
 * Pipes and devices are written through, and a pipe waits for its reader. */
XD_API bool xd_array_save_npy(const xd_array_t *array, const char *path, xd_error_t **error);

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
/* The address of element 0. It gives no permission to access it. */
XD_API uintptr_t xd_array_address(const xd_array_t *array);

/* The bytes from the lowest to the highest that the array uses, and in *offset (which may be
 * NULL) the offset of element 0 in them. */
XD_API XD_MUST_USE xd_buffer_t *xd_array_buffer(const xd_array_t *array, size_t *offset, xd_error_t **error);

/* Takes a lease on the elements. xd_lease_data returns the address of element 0; the strides
 * lead to the others. */
XD_API XD_MUST_USE xd_lease_t *xd_array_lease(const xd_array_t *array, int32_t kind, xd_error_t **error);

/* The elements as NumPy prints them, with long axes abbreviated. */
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
XD_API XD_MUST_USE xd_array_t *xd_array_slice(const xd_array_t *array, size_t count, const xd_slice *slices, xd_error_t **error);

/* The same from text: "::2, ..., -1", ".position, 0". A field begins a new subscript. */
XD_API XD_MUST_USE xd_array_t *xd_array_at(const xd_array_t *array, const char *subscript, xd_error_t **error);

/* One field of each record. The axes of a sub-array field are appended to the array's. */
XD_API XD_MUST_USE xd_array_t *xd_array_field(const xd_array_t *array, const char *name, xd_error_t **error);

/* The axes in reverse order, or with axis `axes[k]` as axis `k`. */
XD_API XD_MUST_USE xd_array_t *xd_array_transpose(const xd_array_t *array, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_permute(const xd_array_t *array, size_t ndim, const ssize_t *axes, xd_error_t **error);

/* The same elements, in row-major order, with another shape: XD_ERROR_LAYOUT if that needs a
 * copy. */
XD_API XD_MUST_USE xd_array_t *xd_array_reshape(const xd_array_t *array, size_t ndim, const ssize_t *shape, xd_error_t **error);

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

#define XD_CASTING_CHECKED 0    /* a value that does not fit is XD_ERROR_VALUE, with the index */
#define XD_CASTING_SATURATING 1 /* fractions are truncated, values out of range clamped, dates rounded down */

/* A contiguous copy. */
XD_API XD_MUST_USE xd_array_t *xd_array_copy(const xd_array_t *array, int32_t order, xd_error_t **error);

/* A contiguous copy, converted to another dtype. */
XD_API XD_MUST_USE xd_array_t *xd_array_cast(const xd_array_t *array, const xd_dtype_t *dtype, int32_t order, int32_t casting,
                                             xd_error_t **error);

/* Writes the elements of `source`, broadcast and converted, to `array`. If the two share memory,
 * however it was imported, the result is as if `source` had been copied first. */
XD_API bool xd_array_assign(const xd_array_t *array, const xd_array_t *source, int32_t casting, xd_error_t **error);

/* Sets *equal to whether both have the same shape and equal elements. Returns false if their
 * dtypes cannot be compared. */
XD_API bool xd_array_equals(const xd_array_t *array, const xd_array_t *other, bool *equal, xd_error_t **error);

/* The bytes of elements copied since the program began, by all threads and by the calling one. */
XD_API uint64_t xd_copied_bytes(void);
XD_API uint64_t xd_copied_bytes_here(void);

/* The number of threads that share large copies, casts, fills and comparisons: 1 to 1024, by
 * default CROSSDOCK_THREADS of the environment, or the number of cores, at most 16. The calling
 * thread is one of them; the others end half a second after the work. A forked child uses one. */
XD_API size_t xd_num_threads(void);
XD_API bool xd_set_num_threads(size_t number, xd_error_t **error);

/* ===== sets: arrays that another process holds ===== */

/* Arrays under names that another process of this user holds, such as the command
 * `crossdock hold model.safetensors --name m`. All processes that connect map the same memory,
 * which none can write; with `--map`, the file itself. */
typedef struct xd_set xd_set_t;

/* Connects to the newest version of a name ("m"), or to one version ("m@3"). The holder keeps the
 * version until the set and all its arrays are freed, or this process ends. If the holder ends,
 * they stay. XD_ERROR_IO if no process holds the name, XD_ERROR_BOUNDS if not this version. */
XD_API XD_MUST_USE xd_set_t *xd_set_connect(const char *name, xd_error_t **error);
XD_API void xd_set_free(xd_set_t *set);

/* The name and version: "m@3". */
XD_API XD_MUST_USE char *xd_set_label(const xd_set_t *set, xd_error_t **error);
XD_API size_t xd_set_len(const xd_set_t *set);
/* Whether the arrays lie in mapped files, which can change. What a file loses reads as zeros, and is
 * an error of each copy. */
XD_API bool xd_set_is_mapped(const xd_set_t *set);
/* The name of array `index`, from 0 to xd_set_len - 1. */
XD_API XD_MUST_USE char *xd_set_name(const xd_set_t *set, size_t index, xd_error_t **error);
/* The array of a name, in place, read-only and, unless the set is mapped, constant. O(rank),
 * whatever the number of arrays. */
XD_API XD_MUST_USE xd_array_t *xd_set_get(const xd_set_t *set, const char *name, xd_error_t **error);

/* ===== channels: arrays as a stream between processes ===== */

/* Slots in shared memory. A sender borrows a slot as a writable array, fills it and sends it. A
 * receiver gets a read-only array on the same memory, and the slot is free again when the last
 * handle and lease of it is freed, on any thread. No element is copied. Each message may have
 * another dtype and shape. If a process is killed, its slots come back.
 *
 * A timeout is in milliseconds: 0 never waits, XD_FOREVER waits as long as it takes. A child made
 * by fork attaches senders and receivers of its own; those that it inherited are XD_ERROR_CONFLICT. */
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
 * exec, unless the caller duplicates it for a child. */
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
XD_API XD_MUST_USE xd_array_t *xd_receiver_receive(const xd_receiver_t *receiver, int64_t timeout_ms, xd_error_t **error);
/* The messages that were dropped before this receiver received them, as of the last call. */
XD_API uint64_t xd_receiver_missed(const xd_receiver_t *receiver);

/* ===== MemoryView: views of any object ===== */

/* The protocol of Ruby's ruby/memory_view.h for any program: the same structs field by field,
 * the same functions with the same arguments, and an error where Ruby's crash. Code for Ruby's
 * header compiles with <crossdock/ruby_names.h>.
 *
 * An object is a pointer to memory that begins with a pointer to its class. An xd_array_t is
 * one.
 *
 *   struct photo { const xd_class *class; ... };
 *
 * Functions that return false, NULL, -1 or nil store the reason for xd_last_refusal(). */
typedef struct xd_class {
  const char *name; /* for messages; may be NULL */
  const struct xd_class *super; /* inherits its producer; may be NULL */
} xd_class;

/* A consumer's minimum requirements. The hub enforces them for every producer. Every view has a
 * shape, strides, a format, an item size and components. */
#define XD_MEMORY_VIEW_SIMPLE 0
#define XD_MEMORY_VIEW_WRITABLE 1 /* items may be written; otherwise views of arrays are read-only */
#define XD_MEMORY_VIEW_FORMAT 2
#define XD_MEMORY_VIEW_MULTI_DIMENSIONAL 4
#define XD_MEMORY_VIEW_STRIDES 12
#define XD_MEMORY_VIEW_ROW_MAJOR 28    /* row-major, without gaps */
#define XD_MEMORY_VIEW_COLUMN_MAJOR 44 /* column-major, without gaps */
#define XD_MEMORY_VIEW_ANY_CONTIGUOUS 60
#define XD_MEMORY_VIEW_INDIRECT 76 /* permits suboffsets; otherwise indirect memory is refused */

/* `repeat` consecutive numbers of one type in each item. (Before Ruby 3.3, the flags are bits of
 * byte 1.) */
typedef struct xd_memory_view_item_component {
  char format;          /* the letter of the pack template */
  bool native_size_p;   /* whether the letter had a `!` or `_` */
  bool little_endian_p; /* whether the least significant byte comes first */
  size_t offset;        /* of the first number, in bytes from the start of the item */
  size_t size;          /* of each, in bytes */
  size_t repeat;
} xd_memory_view_item_component_t;

typedef struct xd_memory_view {
  void *obj;             /* the object that is exported */
  void *data;            /* the address of element 0 */
  ssize_t byte_size;     /* at least the extent of the items; or their size alone, if the producer vouches for the strides */
  bool readonly;
  const char *format;    /* a pack template; NULL for bytes */
  ssize_t item_size;
  struct {
    const xd_memory_view_item_component_t *components;
    size_t length;
  } item_desc;           /* the parsed format */
  ssize_t ndim;
  const ssize_t *shape;
  const ssize_t *strides; /* in bytes */
  const ssize_t *sub_offsets; /* NULL, or for each axis: negative, or the offset to add after following the pointer */
  void *private_data;    /* for the producer */
  void *reserved;        /* for the hub */
} xd_memory_view_t;

typedef bool (*xd_memory_view_get_func_t)(void *obj, xd_memory_view_t *view, int flags);
typedef bool (*xd_memory_view_release_func_t)(void *obj, xd_memory_view_t *view);
typedef bool (*xd_memory_view_available_p_func_t)(void *obj);

/* A producer. Its functions may be called on any thread.
 *
 * get_func fills in an empty struct; if it returns false, it holds nothing. Its pointers must be
 * valid until release_func, which is called once with the struct as get_func filled it in.
 * release_func may be NULL if there is nothing to release. If it returns false, the view is
 * still held. available_p_func tells whether a request may succeed; NULL means always. The
 * producer keeps the memory alive by its own means. If a function fails after a refusal of its
 * own request, that refusal becomes part of the reason. */
typedef struct xd_memory_view_entry {
  xd_memory_view_get_func_t get_func;
  xd_memory_view_release_func_t release_func;
  xd_memory_view_available_p_func_t available_p_func;
} xd_memory_view_entry_t;

/* Registers a producer for the objects of a class and its subclasses. The entry is copied.
 * Returns false if the class already has its own producer, which stays, or if get_func is NULL.
 * The class must not move while it has objects. */
XD_API bool xd_memory_view_register(const xd_class *cls, const xd_memory_view_entry_t *entry);

/* Unregisters the producer of a class; false if the class had none of its own. Existing views
 * stay valid. */
XD_API bool xd_memory_view_unregister(const xd_class *cls);

/* Whether a request for a view may succeed. No guarantee. */
XD_API bool xd_memory_view_available_p(void *obj);

/* Requests a view. If it returns false, the struct is unchanged and nothing is held. */
XD_API bool xd_memory_view_get(void *obj, xd_memory_view_t *view, int flags);

/* Releases a view and clears the struct. Returns false if the view was released before, also
 * through another copy of the struct, if the hub did not create it, or if the producer refuses. */
XD_API bool xd_memory_view_release(xd_memory_view_t *view);

/* The number of views of an object, by the object that its producer stored in the view. */
XD_API size_t xd_memory_view_exports(void *obj);

/* The reason for this thread's last refusal; "" if there was none. Valid until its next refusal. */
XD_API const char *xd_last_refusal(void);

/* Parses a pack template. Returns the bytes of one item, or -1 and in *err the start of the
 * invalid part (NULL otherwise). Each of the last three arguments may be NULL. Free the
 * components by xd_memory_view_free_components, which accepts NULL and ignores its `n`. A NULL
 * format means bytes: the result is 1, and *components and *n are not set, as in Ruby. For an
 * invalid format they are set to NULL and 0. */
XD_API ssize_t xd_memory_view_parse_item_format(const char *format, xd_memory_view_item_component_t **components, size_t *n,
                                                const char **err);
XD_API void xd_memory_view_free_components(const xd_memory_view_item_component_t *components, size_t n);
XD_API ssize_t xd_memory_view_item_size_from_format(const char *format, const char **err);

/* The address of an item: `index` has ndim numbers. NULL if the index is out of bounds. Accepts
 * structs that you filled in: NULL strides are row-major, a NULL shape is byte_size / item_size,
 * and suboffsets are followed at any rank. */
XD_API void *xd_memory_view_get_item_pointer(const xd_memory_view_t *view, const ssize_t *index);

/* Parses the format of a view that you filled in into its item_desc; free it by
 * xd_memory_view_free_components. Views from xd_memory_view_get have it. Several threads may
 * call it for one view at once. */
XD_API bool xd_memory_view_prepare_item_desc(xd_memory_view_t *view);

/* An item: a number, or a list if it has several components; nil if it has none or on failure.
 * Without a format, a byte. Free a list by xd_value_free. */
XD_API xd_value xd_memory_view_get_item(const xd_memory_view_t *view, const ssize_t *index);

/* Stores the numbers of an item in the caller's list, at most `capacity` of them, and returns
 * their number; -1 on failure. Allocates nothing. */
XD_API ssize_t xd_memory_view_read_item(const xd_memory_view_t *view, const ssize_t *index, xd_value *out, size_t capacity);

/* Writes an item: a number, or a list with one for each component. A value that does not fit is
 * XD_ERROR_VALUE, and nothing is written. */
XD_API bool xd_memory_view_set_item(const xd_memory_view_t *view, const ssize_t *index, const xd_value *value, xd_error_t **error);

/* Like xd_memory_view_get_item, for the bytes of an item at any address. */
XD_API xd_value xd_memory_view_extract_item_members(const void *ptr, const xd_memory_view_item_component_t *members, size_t n);

/* The strides of a contiguous array, by Ruby's rules: an axis of length 0 makes all outer
 * strides 0. Returns false, and writes nothing, for negative numbers and overflow. */
XD_API bool xd_memory_view_fill_contiguous_strides(ssize_t ndim, ssize_t item_size, const ssize_t *shape, bool row_major_p,
                                                   ssize_t *strides);

/* Fills in every field of a view of bytes: the starting point for producers. */
XD_API bool xd_memory_view_init_as_byte_array(xd_memory_view_t *view, void *obj, void *data, ssize_t len, bool readonly);

/* Whether the items are contiguous, by NumPy's rules: axes of length 1 do not matter, and empty
 * views are contiguous. The functions that end in `strictly` follow Ruby's rules, by which every
 * stride counts. */
XD_API bool xd_memory_view_is_row_major_contiguous(const xd_memory_view_t *view);
XD_API bool xd_memory_view_is_column_major_contiguous(const xd_memory_view_t *view);
XD_API bool xd_memory_view_is_contiguous(const xd_memory_view_t *view);
XD_API bool xd_memory_view_is_row_major_contiguous_strictly(const xd_memory_view_t *view);
XD_API bool xd_memory_view_is_column_major_contiguous_strictly(const xd_memory_view_t *view);

/* A zero-copy array on any object's view, which the last handle releases. It can be leased by
 * SHARE and PIN, and is read-only unless the flags include XD_MEMORY_VIEW_WRITABLE. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_object(void *obj, int flags, xd_error_t **error);

/* A handle on the same elements, for dtypes that have no pack template: a bool is 'C', a complex
 * number two floats. */
XD_API XD_MUST_USE xd_array_t *xd_array_approximated(const xd_array_t *array, xd_error_t **error);

/* The class of every xd_array_t. */
XD_API const xd_class *xd_array_class(void);

/* ===== other protocols ===== */

/* Flags of exports. */
#define XD_EXPORT_IN_PLACE 0u       /* fails with XD_ERROR_REFUSED if the array cannot be lent in place */
#define XD_EXPORT_COPY_IF_NEEDED 1u /* copies such an array */
#define XD_EXPORT_COPY 2u           /* always copies */
/* DLPack: the caller promises that no consumer writes, which permits read-only arrays. DLPack's
 * flag is advisory, and the older struct has none. */
#define XD_EXPORT_TRUST_READONLY 4u
/* Arrow: exports the whole array as one tensor, instead of one row for each index of axis 0. */
#define XD_EXPORT_WHOLE 8u

/* From dlpack.h and Arrow's c/abi.h, which need not be included. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;
struct ArrowSchema;
struct ArrowArray;
struct ArrowDeviceArray;

/* Exports an array by DLPack. The consumer calls the deleter once, on any thread. Other code may
 * write the memory meanwhile. */
XD_API XD_MUST_USE struct DLManagedTensorVersioned *xd_array_to_dlpack(const xd_array_t *array, uint32_t flags, xd_error_t **error);
XD_API XD_MUST_USE struct DLManagedTensor *xd_array_to_dlpack_legacy(const xd_array_t *array, uint32_t flags, xd_error_t **error);

/* Imports a tensor in place. Its deleter is called exactly once: when the last handle is freed,
 * or before this returns NULL. Its memory counts as XD_BIRTH_ALIASED, and as read-only if the
 * tensor has that flag or, in the older struct, cannot have it.
 *
 * The memory within shape and strides must exist. That is the producer's responsibility, and
 * cannot be checked. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_dlpack(struct DLManagedTensorVersioned *tensor, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_from_dlpack_legacy(struct DLManagedTensor *tensor, xd_error_t **error);

/* Exports an array by Arrow's C Data or C Device interface: axis 0 is the rows, other axes a
 * fixed-shape tensor, and fields of records are columns of a struct. It fills in both structs,
 * which the caller must release; on failure neither changes. `name` may be NULL. The elements
 * cannot be written until the column is released. */
XD_API bool xd_array_to_arrow(const xd_array_t *array, const char *name, uint32_t flags, struct ArrowSchema *schema,
                              struct ArrowArray *column, xd_error_t **error);
XD_API bool xd_array_to_arrow_device(const xd_array_t *array, const char *name, uint32_t flags, struct ArrowSchema *schema,
                                     struct ArrowDeviceArray *column, xd_error_t **error);

/* Imports a column in place. Both structs are always moved out of, and the column is released
 * exactly once: when the last handle is freed, or before this returns NULL. Its memory counts as
 * XD_BIRTH_CONSTANT.
 *
 * If `validity` is NULL, nulls are XD_ERROR_VALUE. Otherwise *validity becomes an array of
 * booleans, which are false for nulls, to be freed like the other array; or NULL if there are no
 * nulls. A struct of columns is XD_ERROR_UNSUPPORTED. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_arrow(struct ArrowSchema *schema, struct ArrowArray *column, xd_array_t **validity,
                                                   xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_from_arrow_device(struct ArrowSchema *schema, struct ArrowDeviceArray *column,
                                                          xd_array_t **validity, xd_error_t **error);

/* Like xd_array_from_arrow, but copies the columns of a struct into records. */
XD_API XD_MUST_USE xd_array_t *xd_array_copy_from_arrow(struct ArrowSchema *schema, struct ArrowArray *column, xd_error_t **error);

/* ===== tables ===== */

/* Elements of any type that Arrow describes, some of them null, with a name: text, dates with time
 * zones, decimals, lists, structs, dictionaries and others, or numbers. */
typedef struct xd_column xd_column_t;

/* Columns of equal length. */
typedef struct xd_batch xd_batch_t;

/* A sequence of batches with one schema, one at a time. A call while another call uses the reader
 * is XD_ERROR_CONFLICT: use a reader on one thread at a time. */
typedef struct xd_reader xd_reader_t;

/* What the columns of a batch or a reader are. */
typedef struct xd_schema xd_schema_t;

/* The text or bytes of a column, in place, under a read lease, which xd_text_free releases. */
typedef struct xd_text xd_text_t;

/* From Arrow's c/abi.h. */
struct ArrowArrayStream;

/* How thoroughly an import compares the parts of a column. Functions of this library check each
 * offset, index and text when they use it, and need XD_CHECKS_SHAPE only; code that follows them
 * without checks needs XD_CHECKS_FULL, or a source that it trusts. */
#define XD_CHECKS_SHAPE 1 /* the sizes of buffers and children: O(1) for each */
#define XD_CHECKS_FULL 2  /* also each offset, view, index and run end, and that text is UTF-8: O(n) */

/* ----- schemas. The texts live as long as the handle. NULL and false for an index out of bounds ----- */

XD_API size_t xd_schema_len(const xd_schema_t *schema);
XD_API const char *xd_schema_name(const xd_schema_t *schema, size_t index);
/* The type as Arrow's format string: "u" for text, "tsu:UTC", "+l". */
XD_API const char *xd_schema_format(const xd_schema_t *schema, size_t index);
/* The type for people, as pyarrow names it: "string", "list<item: int32>". */
XD_API const char *xd_schema_type(const xd_schema_t *schema, size_t index);
XD_API bool xd_schema_is_nullable(const xd_schema_t *schema, size_t index);
/* The index of the first column with this name; -1 if there is none, which is no error. */
XD_API ssize_t xd_schema_index(const xd_schema_t *schema, const char *name, xd_error_t **error);
XD_API void xd_schema_free(xd_schema_t *schema);

/* ----- columns ----- */

/* Imports a column in place, of any type. Both structs are always moved out of, and the column is
 * released exactly once, on any thread: when the last handle or lease is freed, or before this
 * returns NULL. Its memory counts as XD_BIRTH_CONSTANT. */
XD_API XD_MUST_USE xd_column_t *xd_column_from_arrow(struct ArrowSchema *schema, struct ArrowArray *array, int32_t checks,
                                                     xd_error_t **error);

/* Exports a column in place, under one read lease of all its memory: nothing writes it until the
 * consumer, who must release both structs, has released the array. On failure neither changes.
 * Memory that other code may write, such as a mapped file, is XD_ERROR_CONFLICT: see
 * xd_column_compact. */
XD_API bool xd_column_to_arrow(const xd_column_t *column, struct ArrowSchema *schema, struct ArrowArray *array, xd_error_t **error);

/* The elements of an array with one contiguous axis as a column, in place. `name` may be NULL. */
XD_API XD_MUST_USE xd_column_t *xd_column_from_array(const xd_array_t *array, const char *name, xd_error_t **error);

/* Another handle. O(1). */
XD_API XD_MUST_USE xd_column_t *xd_column_clone(const xd_column_t *column, xd_error_t **error);
XD_API void xd_column_free(xd_column_t *column);

/* The properties of a column. The texts live as long as the handle; they are NULL if the name
 * contains a zero byte, or Arrow has no such type. */
XD_API const char *xd_column_name(const xd_column_t *column);
XD_API const char *xd_column_format(const xd_column_t *column); /* as xd_schema_format */
XD_API const char *xd_column_type(const xd_column_t *column);   /* as xd_schema_type */
XD_API size_t xd_column_len(const xd_column_t *column);

/* The number of nulls in *count. O(len / 8) at first. */
XD_API bool xd_column_null_count(const xd_column_t *column, size_t *count, xd_error_t **error);

/* The bits that are 0 where an element is null, in place: bit *bit_offset + i, counted from the
 * lowest of the first byte, is that of element i. NULL without an error if no element is null. */
XD_API XD_MUST_USE xd_buffer_t *xd_column_validity(const xd_column_t *column, size_t *bit_offset, xd_error_t **error);

/* The elements as an array, in place, if they have a fixed width; lists of a fixed size are further
 * axes, tensors have theirs, and a dictionary gives its indices. Other types, and decimals, are
 * XD_ERROR_UNSUPPORTED.
 *
 * If `validity` is NULL, nulls are XD_ERROR_VALUE. Otherwise *validity becomes an array of
 * booleans, which are false for nulls, to be freed like the other array; or NULL if there are no
 * nulls. */
XD_API XD_MUST_USE xd_array_t *xd_column_array(const xd_column_t *column, xd_array_t **validity, xd_error_t **error);

/* The offsets of text, bytes or lists as an array, in place: one more than there are elements. */
XD_API XD_MUST_USE xd_array_t *xd_column_offsets(const xd_column_t *column, xd_error_t **error);

/* Takes a read lease on a column of text or bytes. XD_ERROR_CONFLICT if other code may write the
 * memory: see xd_column_compact. */
XD_API XD_MUST_USE xd_text_t *xd_column_text(const xd_column_t *column, xd_error_t **error);
XD_API size_t xd_text_len(const xd_text_t *text);
/* Element `index` in *data and *len, in place: UTF-8 for text, without a zero byte at its end. It
 * lives as long as `text`. A null is NULL and 0; an empty text is 0 with an address. Text that is
 * not UTF-8 is XD_ERROR_MALFORMED. */
XD_API bool xd_text_get(const xd_text_t *text, size_t index, const char **data, size_t *len, xd_error_t **error);
XD_API void xd_text_free(xd_text_t *text);

/* `len` elements from `start` on. O(1), without a copy. */
XD_API XD_MUST_USE xd_column_t *xd_column_slice(const xd_column_t *column, size_t start, size_t len, xd_error_t **error);

/* The children of a column, in place. Element i of a struct or a sparse union is element i of its
 * children, and element i of a list of `n` elements each begins at element i * n. The offsets of
 * other lists, maps, dense unions and the ends of runs refer to the whole child. */
XD_API size_t xd_column_child_count(const xd_column_t *column);
XD_API XD_MUST_USE xd_column_t *xd_column_child(const xd_column_t *column, size_t index, xd_error_t **error);

/* The values that the indices of a dictionary refer to, in place. NULL without an error for other
 * types. */
XD_API XD_MUST_USE xd_column_t *xd_column_dictionary(const xd_column_t *column, xd_error_t **error);

/* Element `index`, by value: nil for a null, text for a decimal, a list for a list or a struct, a
 * list of pairs for a map. Dates and moments are XD_VALUE_DATETIME, in the units of the type.
 * Dictionaries, runs and unions give the value that they refer to. Free it by xd_value_free. */
XD_API bool xd_column_get(const xd_column_t *column, size_t index, xd_value *value, xd_error_t **error);

/* Takes one lease on all memory of the column, or none. It has no address: xd_lease_data returns
 * NULL. */
XD_API XD_MUST_USE xd_lease_t *xd_column_lease(const xd_column_t *column, int32_t kind, xd_error_t **error);

/* The elements in new memory, without what slices left out. Copies, which is counted. */
XD_API XD_MUST_USE xd_column_t *xd_column_compact(const xd_column_t *column, xd_error_t **error);

/* The first and last elements for people. */
XD_API XD_MUST_USE char *xd_column_to_text(const xd_column_t *column, xd_error_t **error);

/* ----- batches ----- */

/* Imports a batch in place: a struct of columns, none of whose rows is null. Otherwise as
 * xd_column_from_arrow. */
XD_API XD_MUST_USE xd_batch_t *xd_batch_from_arrow(struct ArrowSchema *schema, struct ArrowArray *array, int32_t checks,
                                                   xd_error_t **error);

/* Exports a batch in place, under one read lease of all its memory. Otherwise as
 * xd_column_to_arrow. */
XD_API bool xd_batch_to_arrow(const xd_batch_t *batch, struct ArrowSchema *schema, struct ArrowArray *array, xd_error_t **error);

/* These columns under their names, in place; they must have one length. The columns stay the
 * caller's. */
XD_API XD_MUST_USE xd_batch_t *xd_batch_from_columns(size_t count, const xd_column_t *const *columns, xd_error_t **error);

/* An array of records as a batch with a column for each field, and back. Both copy, which is
 * counted. Nulls, and columns without a fixed width, become no records. */
XD_API XD_MUST_USE xd_batch_t *xd_batch_from_records(const xd_array_t *array, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_batch_to_records(const xd_batch_t *batch, xd_error_t **error);

/* Another handle. O(1). */
XD_API XD_MUST_USE xd_batch_t *xd_batch_clone(const xd_batch_t *batch, xd_error_t **error);
XD_API void xd_batch_free(xd_batch_t *batch);

XD_API size_t xd_batch_len(const xd_batch_t *batch); /* rows */
XD_API size_t xd_batch_column_count(const xd_batch_t *batch);
/* O(columns). A name with a zero byte is XD_ERROR_MALFORMED. */
XD_API XD_MUST_USE xd_schema_t *xd_batch_schema(const xd_batch_t *batch, xd_error_t **error);

/* A column, in place: by its index, or the first one with a name. XD_ERROR_BOUNDS if there is
 * none. */
XD_API XD_MUST_USE xd_column_t *xd_batch_column(const xd_batch_t *batch, size_t index, xd_error_t **error);
XD_API XD_MUST_USE xd_column_t *xd_batch_column_named(const xd_batch_t *batch, const char *name, xd_error_t **error);

/* `len` rows from `start` on. O(1), without a copy. */
XD_API XD_MUST_USE xd_batch_t *xd_batch_slice(const xd_batch_t *batch, size_t start, size_t len, xd_error_t **error);
/* The columns at `count` indices, in this order, in place. */
XD_API XD_MUST_USE xd_batch_t *xd_batch_select(const xd_batch_t *batch, size_t count, const size_t *indices, xd_error_t **error);
/* The same columns under `count` names, in place. */
XD_API XD_MUST_USE xd_batch_t *xd_batch_rename(const xd_batch_t *batch, size_t count, const char *const *names, xd_error_t **error);

/* As xd_column_lease, for all columns. */
XD_API XD_MUST_USE xd_lease_t *xd_batch_lease(const xd_batch_t *batch, int32_t kind, xd_error_t **error);

/* The first and last rows for people, as pandas prints them. */
XD_API XD_MUST_USE char *xd_batch_to_text(const xd_batch_t *batch, xd_error_t **error);

/* ----- readers ----- */

/* Imports a stream of batches, each in place when it is read. The struct is always moved out of.
 * Its release function is called once: by xd_reader_free, or before this returns NULL. Batches may
 * outlive the reader. */
XD_API XD_MUST_USE xd_reader_t *xd_reader_from_arrow(struct ArrowArrayStream *stream, int32_t checks, xd_error_t **error);

#define XD_FILE_MAPPED 1   /* another process may write it: text is read by value, and exports need xd_column_compact */
#define XD_FILE_CONSTANT 2 /* mapped; you promise that no process writes or truncates it meanwhile */
#define XD_FILE_COPIED 3   /* read into new memory, which is counted */

/* The batches of an Arrow IPC file or of a stream in one (.arrow, .feather, .arrows), each in place
 * when it is read; compressed buffers are decoded. Nothing but the schema and the places of batches
 * is read at first. Otherwise as xd_array_open. */
XD_API XD_MUST_USE xd_reader_t *xd_reader_open(const char *path, int32_t access, xd_error_t **error);

#define XD_COMPRESSION_NONE 0 /* so that the file can be opened in place */
#define XD_COMPRESSION_LZ4 1
#define XD_COMPRESSION_ZSTD 2

/* Writes the remaining batches, one at a time, to an Arrow IPC file, or to a stream in a file if its
 * name ends in .arrows. The file appears, or is replaced, when all of it is on disk. */
XD_API bool xd_reader_save(const xd_reader_t *reader, const char *path, int32_t compression, xd_error_t **error);

/* Exports the remaining batches as a stream, which the consumer must release, on any thread. The
 * reader must be freed as before, and has no more batches: XD_ERROR_CLOSED. On failure neither
 * changes. */
XD_API bool xd_reader_to_arrow(const xd_reader_t *reader, struct ArrowArrayStream *stream, xd_error_t **error);

/* These batches, in place; they must have one schema. The batches stay the caller's. */
XD_API XD_MUST_USE xd_reader_t *xd_reader_from_batches(size_t count, const xd_batch_t *const *batches, xd_error_t **error);

/* What the columns of each batch are. Reads no batch. */
XD_API XD_MUST_USE xd_schema_t *xd_reader_schema(const xd_reader_t *reader, xd_error_t **error);

/* The next batch; NULL without an error after the last. A failure of the producer is
 * XD_ERROR_IO, with its message. */
XD_API XD_MUST_USE xd_batch_t *xd_reader_next(const xd_reader_t *reader, xd_error_t **error);

XD_API void xd_reader_free(xd_reader_t *reader);

#ifdef __cplusplus
}
#endif

#endif
