/* The types of elements. crossdock.h has the rules for all
 * functions. */

#ifndef CROSSDOCK_DTYPE_H
#define CROSSDOCK_DTYPE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* By the name that xd_dtype_to_text prints, "float64", ">int16" or "datetime64[ns]", or from NumPy's
 * spelling: "<f8", or the Python literal of a dtype, "[('price', '<f8'), ('codes', '|u1', (3,))]". */
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
XD_API XD_MUST_USE xd_dtype_t *xd_dtype_subarray(const xd_dtype_t *base, size_t ndim, const ssize_t *shape,
                                                 xd_error_t **error);

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
XD_API bool xd_dtype_to_dlpack(const xd_dtype_t *dtype, uint8_t *code, uint8_t *bits, uint16_t *lanes,
                               xd_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
