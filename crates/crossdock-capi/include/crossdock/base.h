/* The version, errors, and values of elements. crossdock.h has the rules for all
 * functions. */

#ifndef CROSSDOCK_BASE_H
#define CROSSDOCK_BASE_H

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

#ifdef __cplusplus
}
#endif

#endif
