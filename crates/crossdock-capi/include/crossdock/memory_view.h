/* Views of any object, by Ruby's protocol. crossdock.h has the rules for all
 * functions. */

#ifndef CROSSDOCK_MEMORY_VIEW_H
#define CROSSDOCK_MEMORY_VIEW_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

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
  ssize_t byte_size;     /* at least the extent of the items; or their size, if the producer vouches for the strides */
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
XD_API ssize_t xd_memory_view_parse_item_format(const char *format, xd_memory_view_item_component_t **components,
                                                size_t *n, const char **err);
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
XD_API ssize_t xd_memory_view_read_item(const xd_memory_view_t *view, const ssize_t *index, xd_value *out,
                                        size_t capacity);

/* Writes an item: a number, or a list with one for each component. A value that does not fit is
 * XD_ERROR_VALUE, and nothing is written. */
XD_API bool xd_memory_view_set_item(const xd_memory_view_t *view, const ssize_t *index, const xd_value *value,
                                    xd_error_t **error);

/* Like xd_memory_view_get_item, for the bytes of an item at any address. */
XD_API xd_value xd_memory_view_extract_item_members(const void *ptr, const xd_memory_view_item_component_t *members,
                                                    size_t n);

/* The strides of a contiguous array, by Ruby's rules: an axis of length 0 makes all outer
 * strides 0. Returns false, and writes nothing, for negative numbers and overflow. */
XD_API bool xd_memory_view_fill_contiguous_strides(ssize_t ndim, ssize_t item_size, const ssize_t *shape,
                                                   bool row_major_p, ssize_t *strides);

/* Fills in every field of a view of bytes: the starting point for producers. */
XD_API bool xd_memory_view_init_as_byte_array(xd_memory_view_t *view, void *obj, void *data, ssize_t len,
                                              bool readonly);

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

#ifdef __cplusplus
}
#endif

#endif
