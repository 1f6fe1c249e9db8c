/* Arrays in files: .npy, .npz, .safetensors, images and others. crossdock.h has the rules for all
 * functions. */

#ifndef CROSSDOCK_FILE_H
#define CROSSDOCK_FILE_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== files that are opened ===== */

/* The arrays of a file: their descriptions, and themselves on request. A handle: free it by
 * xd_contents_free, in any order with its arrays. */
typedef struct xd_contents xd_contents_t;

#define XD_OPENING_WRITABLE 1u /* the arrays are writable, and writes change the file */
#define XD_OPENING_GUARDED 2u  /* if the file shrinks, missing bytes read as zeros, and copies are XD_ERROR_FAULT */
#define XD_OPENING_COPIED 4u   /* reads all of it into new memory, which is counted, instead of a map */
#define XD_OPENING_VERIFIED 8u /* compares each array with its checksum */
#define XD_OPENING_CONSTANT 16u /* your promise that no process writes or truncates the file: permits XD_LEASE_READ */

/* How a file is opened. Zeros are the defaults. */
typedef struct xd_open_options {
  uint32_t flags; /* XD_OPENING_* */
  uint32_t reserved; /* 0 */
  uint64_t limit_nbytes; /* the most bytes of a decoded array; 0 for 16 GiB */
  const char *format;    /* the expected format, by the ending of its names: "npy"; NULL for any */
  const char *raw;       /* for a file of elements alone: "dtype=uint16; shape=4,6; order=F; offset=16"; or NULL */
} xd_open_options;

/* The only array of a file of any format: .npy, .npz, .safetensors, .pt, .mat, PNG, JPEG, TIFF
 * without compression, GGUF, NIfTI, FITS, PGM, PPM, and the columns of numbers of Arrow IPC.
 * Where the file has the elements as they are in memory, it is mapped, read-only; else they are
 * decoded, which is counted. A mapped file must not be truncated while the array lives: access to
 * missing bytes ends the process. To replace a file, rename a new one over it. The path may be
 * followed by the name of one of several arrays and by a view: "a.npz:name[::2].field".
 *
 * XD_ERROR_IO if the system does not open the file, XD_ERROR_UNSUPPORTED for an unknown format and
 * for several arrays, XD_ERROR_MALFORMED for a damaged file. */
XD_API XD_MUST_USE xd_array_t *xd_array_open(const char *path, xd_error_t **error);

/* The same with options, which may be NULL. */
XD_API XD_MUST_USE xd_array_t *xd_array_open_with(const char *path, const xd_open_options *options, xd_error_t **error);

/* All arrays of a file, of which only the headers are read. `options` may be NULL. */
XD_API XD_MUST_USE xd_contents_t *xd_contents_open(const char *path, const xd_open_options *options,
                                                   xd_error_t **error);

/* The same for the bytes of a file. Consumes the handle, also on failure: an archive is divided into
 * its arrays, and XD_ERROR_CONFLICT if the bytes have another handle or a lease. Only the limit, the
 * format, `raw` and XD_OPENING_VERIFIED have an effect. */
XD_API XD_MUST_USE xd_contents_t *xd_contents_read(xd_buffer_t *buffer, const xd_open_options *options,
                                                   xd_error_t **error);
XD_API void xd_contents_free(xd_contents_t *contents);

/* The format, by the ending of its names: "npz". */
XD_API XD_MUST_USE char *xd_contents_format(const xd_contents_t *contents, xd_error_t **error);

/* The arrays, in the order of the file. A name is "" if the format has none. */
XD_API size_t xd_contents_len(const xd_contents_t *contents);
XD_API XD_MUST_USE char *xd_contents_name(const xd_contents_t *contents, size_t index, xd_error_t **error);
/* Their descriptions, which live as long as the contents; NULL and 0 for an index out of bounds. */
XD_API const xd_dtype_t *xd_contents_dtype(const xd_contents_t *contents, size_t index);
XD_API size_t xd_contents_ndim(const xd_contents_t *contents, size_t index);
XD_API const ssize_t *xd_contents_shape(const xd_contents_t *contents, size_t index);
/* Whether the array is in place: otherwise each call of xd_contents_array decodes it. */
XD_API bool xd_contents_is_in_place(const xd_contents_t *contents, size_t index);

/* An array by its index, or by its name. XD_ERROR_BOUNDS lists the names that exist. */
XD_API XD_MUST_USE xd_array_t *xd_contents_array(const xd_contents_t *contents, size_t index, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_contents_get(const xd_contents_t *contents, const char *name, xd_error_t **error);

/* Compares an array with its checksum; an array without one passes. XD_ERROR_MALFORMED has both
 * checksums. Reads all its bytes. */
XD_API bool xd_contents_verify(const xd_contents_t *contents, size_t index, xd_error_t **error);

/* The texts of a .safetensors or NIfTI file: the text, and in *key its key. Free both by
 * xd_string_free; `key` may be NULL. */
XD_API size_t xd_contents_text_count(const xd_contents_t *contents);
XD_API XD_MUST_USE char *xd_contents_text(const xd_contents_t *contents, size_t index, char **key, xd_error_t **error);

/* The arrays that cannot be opened: the reason, and in *name the name. Free both by xd_string_free;
 * `name` may be NULL. */
XD_API size_t xd_contents_refused_count(const xd_contents_t *contents);
XD_API XD_MUST_USE char *xd_contents_refused(const xd_contents_t *contents, size_t index, char **name,
                                             xd_error_t **error);

/* ===== files that are saved ===== */

#define XD_SAVING_NEW 1u      /* XD_ERROR_IO if the file exists */
#define XD_SAVING_DEFLATED 2u /* compresses an .npz file; others refuse it */

/* How a file is saved. Zeros are the defaults. */
typedef struct xd_save_options {
  uint32_t flags;  /* XD_SAVING_* */
  int32_t order;   /* of a raw file: XD_ROW_MAJOR, the default, or XD_COLUMN_MAJOR */
  int32_t quality; /* of a JPEG image: 1 to 100; 0 for 90 */
  int32_t reserved; /* 0 */
  const char *format; /* by the ending of its names: "npy"; NULL for that of the path */
  size_t text_count;  /* of a .safetensors file */
  const char *const *keys;
  const char *const *texts;
} xd_save_options;

/* Writes an array to a file: .npy, .npz, .safetensors, .png, .jpg or .raw, by the ending of the path
 * or by the options, which may be NULL. The file appears, or is replaced, when all of it is on disk.
 * Pipes and devices are written through, and a pipe waits for its reader.
 *
 * XD_ERROR_UNSUPPORTED for an array, an option or an ending that the format does not have. */
XD_API bool xd_array_save(const xd_array_t *array, const char *path, const xd_save_options *options,
                          xd_error_t **error);

/* Writes `count` arrays, each under its name. `names` may be NULL for one array. */
XD_API bool xd_save_all(const char *path, size_t count, const char *const *names, const xd_array_t *const *arrays,
                        const xd_save_options *options, xd_error_t **error);

/* The bytes of such a file; the options must have a format. */
XD_API XD_MUST_USE xd_buffer_t *xd_encode(size_t count, const char *const *names, const xd_array_t *const *arrays,
                                          const xd_save_options *options, xd_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
