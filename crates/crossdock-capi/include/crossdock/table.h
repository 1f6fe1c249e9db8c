/* Columns with text and nulls, batches of them, and readers. crossdock.h has the rules for all
 * functions. */

#ifndef CROSSDOCK_TABLE_H
#define CROSSDOCK_TABLE_H

#include "channel.h"
#include "exchange.h"
#include "file.h"
#include "set.h"

#ifdef __cplusplus
extern "C" {
#endif

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
struct ArrowDeviceArray;
struct ArrowDeviceArrayStream;

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
XD_API XD_MUST_USE xd_column_t *xd_column_from_arrow(struct ArrowSchema *schema, struct ArrowArray *array,
                                                     int32_t checks, xd_error_t **error);

/* Exports a column in place, under one read lease of all its memory: nothing writes it until the
 * consumer, who must release both structs, has released the array. On failure neither changes.
 * Memory that other code may write, such as a mapped file, is XD_ERROR_CONFLICT: see
 * xd_column_compact. */
XD_API bool xd_column_to_arrow(const xd_column_t *column, struct ArrowSchema *schema, struct ArrowArray *array,
                               xd_error_t **error);

/* The same by the C Device interface, for memory of any device that has addresses. Text and bytes
 * are imported from memory that the CPU can read. The export has the event of the device's pending
 * work, if there is any. */
XD_API XD_MUST_USE xd_column_t *xd_column_from_arrow_device(struct ArrowSchema *schema, struct ArrowDeviceArray *array,
                                                            int32_t checks, xd_error_t **error);
XD_API bool xd_column_to_arrow_device(const xd_column_t *column, struct ArrowSchema *schema,
                                      struct ArrowDeviceArray *array, xd_error_t **error);

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
XD_API XD_MUST_USE xd_column_t *xd_column_slice(const xd_column_t *column, size_t start, size_t len,
                                                xd_error_t **error);

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
XD_API bool xd_batch_to_arrow(const xd_batch_t *batch, struct ArrowSchema *schema, struct ArrowArray *array,
                              xd_error_t **error);

/* The same by the C Device interface. The columns of an exported batch lie on one device. */
XD_API XD_MUST_USE xd_batch_t *xd_batch_from_arrow_device(struct ArrowSchema *schema, struct ArrowDeviceArray *array,
                                                          int32_t checks, xd_error_t **error);
XD_API bool xd_batch_to_arrow_device(const xd_batch_t *batch, struct ArrowSchema *schema,
                                     struct ArrowDeviceArray *array, xd_error_t **error);

/* These columns under their names, in place; they must have one length. The columns stay the
 * caller's. */
XD_API XD_MUST_USE xd_batch_t *xd_batch_from_columns(size_t count, const xd_column_t *const *columns,
                                                     xd_error_t **error);

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
XD_API XD_MUST_USE xd_batch_t *xd_batch_select(const xd_batch_t *batch, size_t count, const size_t *indices,
                                               xd_error_t **error);
/* The same columns under `count` names, in place. */
XD_API XD_MUST_USE xd_batch_t *xd_batch_rename(const xd_batch_t *batch, size_t count, const char *const *names,
                                               xd_error_t **error);

/* As xd_column_lease, for all columns. */
XD_API XD_MUST_USE xd_lease_t *xd_batch_lease(const xd_batch_t *batch, int32_t kind, xd_error_t **error);

/* The first and last rows for people, as pandas prints them. */
XD_API XD_MUST_USE char *xd_batch_to_text(const xd_batch_t *batch, xd_error_t **error);

/* ----- readers ----- */

/* Imports a stream of batches, each in place when it is read. The struct is always moved out of.
 * Its release function is called once: by xd_reader_free, or before this returns NULL. Batches may
 * outlive the reader. */
XD_API XD_MUST_USE xd_reader_t *xd_reader_from_arrow(struct ArrowArrayStream *stream, int32_t checks,
                                                     xd_error_t **error);

/* The batches of an Arrow IPC file or of a stream in one (.arrow, .feather, .arrows), each in place
 * when it is read; compressed buffers are decoded. Nothing but the schema and the places of batches
 * is read at first. Another process may write a mapped file: text is read by value, and exports need
 * xd_column_compact, unless `options` have XD_OPENING_CONSTANT or XD_OPENING_COPIED. `raw` and a
 * `format` other than "arrow" are XD_ERROR_UNSUPPORTED; XD_OPENING_VERIFIED has no effect.
 * Otherwise as xd_array_open_with; `options` may be NULL. */
XD_API XD_MUST_USE xd_reader_t *xd_reader_open(const char *path, const xd_open_options *options, xd_error_t **error);

#ifndef _WIN32
/* The batches of a table of a set, in place and, unless the set is mapped, constant.
 * XD_ERROR_UNSUPPORTED if the name is that of an array. */
XD_API XD_MUST_USE xd_reader_t *xd_set_table(const xd_set_t *set, const char *name, xd_error_t **error);
#endif

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

/* The same by the C Device interface. `kind` is DLPack's number of the kind of device of all
 * batches: 1 for the CPU. A batch of another kind is an error of the stream. */
XD_API XD_MUST_USE xd_reader_t *xd_reader_from_arrow_device(struct ArrowDeviceArrayStream *stream, int32_t checks,
                                                            xd_error_t **error);
XD_API bool xd_reader_to_arrow_device(const xd_reader_t *reader, int32_t kind, struct ArrowDeviceArrayStream *stream,
                                      xd_error_t **error);

/* These batches, in place; they must have one schema. The batches stay the caller's. */
XD_API XD_MUST_USE xd_reader_t *xd_reader_from_batches(size_t count, const xd_batch_t *const *batches,
                                                       xd_error_t **error);

#ifndef _WIN32
/* Copies batches into a slot, as one table, and sends it; a `count` of 0 sends a table without
 * columns. A slot needs room for the columns and their description. XD_ERROR_DTYPE if the schemas
 * differ, XD_ERROR_BOUNDS if the table is larger than a slot; otherwise as xd_sender_send. */
XD_API bool xd_sender_send_table(const xd_sender_t *sender, size_t count, const xd_batch_t *const *batches,
                                 int64_t timeout_ms, xd_error_t **error);
/* The next message, as a reader of its batches, in place; NULL with *error NULL if none came in
 * time. The slot is free again when the reader, its batches and columns are freed. Another process
 * may write it: text is read by value, and exports need xd_column_compact. Errors as
 * xd_receiver_receive; XD_ERROR_UNSUPPORTED for a message that is an array, which is then dropped. */
XD_API XD_MUST_USE xd_reader_t *xd_receiver_receive_table(const xd_receiver_t *receiver, int64_t timeout_ms,
                                                          xd_error_t **error);
/* The same for a message of xd_receiver_receive, where arrays and tables come over one channel. NULL
 * with *error NULL for an array. The message stays the caller's. */
XD_API XD_MUST_USE xd_reader_t *xd_reader_from_message(const xd_array_t *message, xd_error_t **error);
#endif

/* What the columns of each batch are. Reads no batch. */
XD_API XD_MUST_USE xd_schema_t *xd_reader_schema(const xd_reader_t *reader, xd_error_t **error);

/* The next batch; NULL without an error after the last. A failure of the producer is
 * XD_ERROR_IO, with its message. A reader that failed has no more batches: each later call is the
 * same error. */
XD_API XD_MUST_USE xd_batch_t *xd_reader_next(const xd_reader_t *reader, xd_error_t **error);

/* Batches that were read may outlive the reader. */
XD_API void xd_reader_free(xd_reader_t *reader);

#ifdef __cplusplus
}
#endif

#endif
