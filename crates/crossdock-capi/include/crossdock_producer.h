/* Exports an array of your library by DLPack, Arrow's C Data interface and Ruby's MemoryView, in
 * place, from one description. Copy this file into your library: it needs no other one, and nothing
 * to link. C99, C++11, or later, and the atomic built-in functions of GCC and Clang.
 *
 *   xdp_memory memory = xdp_describe(image->pixels, XDP_UINT8, 3, shape);
 *   memory.owner = image;
 *   memory.release = image_release;
 *   image_retain(image);
 *   xdp_error error;
 *   struct DLManagedTensorVersioned *tensor = xdp_to_dlpack(&memory, &error);
 *   if (tensor == NULL) {
 *     image_release(image);
 *     fail(error.message);
 *   }
 *
 * Rules for all functions
 *
 * Owner. Retain your object once before each export. A successful export calls `release(owner)`
 * once, on any thread, when its consumer is done. An export that fails calls nothing. The
 * description itself is copied, so it may be on the stack; `data` must not move until the release.
 *
 * Errors. `error` may be NULL. A function that fails returns NULL or false, and writes one sentence
 * with the numbers to error->message; one that succeeds makes it "".
 *
 * NULL. An argument that must not be NULL is named by the error.
 *
 * Threads. Functions have no state: any thread may call them.
 *
 * Extensions. In CPython, include Python.h first: functions for __dlpack__ follow. This file may
 * have been included before without it. In Ruby, include ruby/memory_view.h: xdp_fill_view is a
 * macro.
 *
 * The names of this file begin with xdp_ or XDP_. License: MIT OR Apache-2.0, as all of Crossdock. */

#ifndef CROSSDOCK_PRODUCER_H
#define CROSSDOCK_PRODUCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h> /* ssize_t */

#ifdef __cplusplus
extern "C" {
#endif

/* ===== the description ===== */

/* Dtypes: the code and the bits of DLPack. */
#define XDP_DTYPE(code, bits) ((code) << 8 | (bits))
#define XDP_INT8 XDP_DTYPE(0, 8)
#define XDP_INT16 XDP_DTYPE(0, 16)
#define XDP_INT32 XDP_DTYPE(0, 32)
#define XDP_INT64 XDP_DTYPE(0, 64)
#define XDP_UINT8 XDP_DTYPE(1, 8)
#define XDP_UINT16 XDP_DTYPE(1, 16)
#define XDP_UINT32 XDP_DTYPE(1, 32)
#define XDP_UINT64 XDP_DTYPE(1, 64)
#define XDP_FLOAT16 XDP_DTYPE(2, 16)
#define XDP_FLOAT32 XDP_DTYPE(2, 32)
#define XDP_FLOAT64 XDP_DTYPE(2, 64)
#define XDP_BFLOAT16 XDP_DTYPE(4, 16)
#define XDP_COMPLEX64 XDP_DTYPE(5, 64)
#define XDP_COMPLEX128 XDP_DTYPE(5, 128)
#define XDP_BOOL XDP_DTYPE(6, 8) /* one byte each */

#define XDP_MAX_NDIM 64
#define XDP_CPU 1 /* kDLCPU: other devices have DLPack's numbers */

/* An array in your memory. Initialise it by xdp_describe, and set what differs. */
typedef struct xdp_memory {
  void *data;             /* element 0 */
  int32_t dtype;          /* XDP_FLOAT64, ... */
  int32_t ndim;           /* 0 to XDP_MAX_NDIM */
  const int64_t *shape;   /* `ndim` lengths; may be NULL if there are none */
  const int64_t *strides; /* `ndim` steps in bytes; NULL for row-major without gaps */
  bool readonly;
  int32_t device_type;    /* XDP_CPU, ... */
  int32_t device_id;
  void (*release)(void *owner); /* may be NULL, for memory that lives for ever */
  void *owner;
} xdp_memory;

typedef struct xdp_error {
  char message[256];
} xdp_error;

/* Row-major, writable memory of the CPU without an owner. */
static inline xdp_memory xdp_describe(void *data, int32_t dtype, int32_t ndim, const int64_t *shape)
{
  xdp_memory memory;
  memset(&memory, 0, sizeof memory);
  memory.data = data;
  memory.dtype = dtype;
  memory.ndim = ndim;
  memory.shape = shape;
  memory.device_type = XDP_CPU;
  return memory;
}

/* ===== checks, which the exports share; you need not call these ===== */

/* The result of a failure, NULL or false. */
#ifdef __cplusplus
#define XDP_NOTHING_ {}
#else
#define XDP_NOTHING_ 0
#endif

#define XDP_FAIL_(error, ...)                                                                      \
  do {                                                                                             \
    if (error)                                                                                     \
      (void)snprintf((error)->message, sizeof (error)->message, __VA_ARGS__);                      \
    return XDP_NOTHING_;                                                                           \
  } while (0)

static inline int32_t xdp_bits_(int32_t dtype)
{
  return dtype & 0xff;
}

static inline int32_t xdp_code_(int32_t dtype)
{
  return dtype >> 8;
}

/* The bytes of an element; 0 for a number that is no dtype. */
static inline int64_t xdp_itemsize_(int32_t dtype)
{
  switch (dtype) {
  case XDP_INT8: case XDP_UINT8: case XDP_BOOL:
    return 1;
  case XDP_INT16: case XDP_UINT16: case XDP_FLOAT16: case XDP_BFLOAT16:
    return 2;
  case XDP_INT32: case XDP_UINT32: case XDP_FLOAT32:
    return 4;
  case XDP_INT64: case XDP_UINT64: case XDP_FLOAT64: case XDP_COMPLEX64:
    return 8;
  case XDP_COMPLEX128:
    return 16;
  default:
    return 0;
  }
}

/* What the checks of a description find out. */
typedef struct xdp_layout_ {
  int64_t itemsize;
  int64_t len; /* elements */
  int64_t row_major[XDP_MAX_NDIM]; /* the strides without gaps, in bytes */
  bool is_row_major, is_column_major;
} xdp_layout_;

static inline int64_t xdp_stride_(const xdp_memory *memory, const xdp_layout_ *layout, int32_t axis)
{
  return memory->strides ? memory->strides[axis] : layout->row_major[axis];
}

static inline bool xdp_check_(const xdp_memory *memory, xdp_layout_ *layout, xdp_error *error)
{
  int64_t gapless, len = 1;
  int32_t axis, ndim;
  if (error)
    error->message[0] = 0;
  if (!memory)
    XDP_FAIL_(error, "the argument `memory` is null");
  ndim = memory->ndim;
  layout->itemsize = xdp_itemsize_(memory->dtype);
  if (layout->itemsize == 0)
    XDP_FAIL_(error, "the dtype is %d, which is no XDP_ constant", memory->dtype);
  if (ndim < 0 || ndim > XDP_MAX_NDIM)
    XDP_FAIL_(error, "the array has %d axes; it must have 0 to %d", ndim, XDP_MAX_NDIM);
  if (ndim > 0 && !memory->shape)
    XDP_FAIL_(error, "the array has %d axes, and no shape", ndim);
  for (axis = 0; axis < ndim; axis++) {
    if (memory->shape[axis] < 0)
      XDP_FAIL_(error, "axis %d has length %lld", axis, (long long)memory->shape[axis]);
    if (memory->shape[axis] == 0)
      len = 0;
  }
  /* An axis of length 0 counts as 1, so that no product of the others overflows either. */
  gapless = layout->itemsize;
  for (axis = ndim - 1; axis >= 0; axis--) {
    int64_t length = memory->shape[axis] > 0 ? memory->shape[axis] : 1;
    layout->row_major[axis] = gapless;
    if (gapless > INT64_MAX / length)
      XDP_FAIL_(error, "the array has more than 2^63 bytes from axis %d on", axis);
    gapless *= length;
  }
  layout->len = len * (gapless / layout->itemsize);
  if (!memory->data && layout->len > 0)
    XDP_FAIL_(error, "the array has %lld elements, and its data is null", (long long)layout->len);
  layout->is_row_major = layout->is_column_major = true;
  gapless = layout->itemsize;
  for (axis = 0; axis < ndim && layout->len > 0; axis++) {
    int64_t length = memory->shape[axis], stride = xdp_stride_(memory, layout, axis), steps = length - 1;
    if (steps > 0 && (stride == INT64_MIN || (stride < 0 ? -stride : stride) > INT64_MAX / steps))
      XDP_FAIL_(error, "axis %d of length %lld and stride %lld exceeds memory", axis, (long long)length,
                (long long)stride);
    if (length != 1) {
      layout->is_row_major = layout->is_row_major && stride == layout->row_major[axis];
      layout->is_column_major = layout->is_column_major && stride == gapless;
    }
    gapless *= length;
  }
  return true;
}

static inline bool xdp_on_cpu_(const xdp_memory *memory, const char *protocol, xdp_error *error)
{
  if (memory->device_type != XDP_CPU)
    XDP_FAIL_(error, "%s describes memory of the CPU; this is on device (%d, %d)", protocol, memory->device_type,
              memory->device_id);
  return true;
}

/* A reference to the owner. */
typedef struct xdp_owner_ {
  void (*release)(void *owner);
  void *owner;
} xdp_owner_;

static inline xdp_owner_ xdp_owner_of_(const xdp_memory *memory)
{
  xdp_owner_ owner;
  owner.release = memory->release;
  owner.owner = memory->owner;
  return owner;
}

static inline void xdp_give_back_(xdp_owner_ owner)
{
  if (owner.release)
    owner.release(owner.owner);
}

/* ===== DLPack ===== */

/* From dlpack.h, which need not be included, and may be before or after this file. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

#define XDP_MAY_ALIAS_ __attribute__((may_alias))

/* The structs of DLPack 1.1 under names of this file. */
typedef struct XDP_MAY_ALIAS_ xdp_tensor_ {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} xdp_tensor_;

typedef struct XDP_MAY_ALIAS_ xdp_versioned_ {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct xdp_versioned_ *self);
  uint64_t flags;
  xdp_tensor_ tensor;
} xdp_versioned_;

typedef struct XDP_MAY_ALIAS_ xdp_legacy_ {
  xdp_tensor_ tensor;
  void *context;
  void (*deleter)(struct xdp_legacy_ *self);
} xdp_legacy_;

/* One allocation: a managed tensor first, its owner, its shape and its strides. */
typedef struct xdp_dlpack_ {
  union {
    xdp_versioned_ versioned;
    xdp_legacy_ legacy;
  } managed;
  xdp_owner_ owner;
  int64_t shape[XDP_MAX_NDIM], strides[XDP_MAX_NDIM];
} xdp_dlpack_;

static inline void xdp_dlpack_free_(xdp_dlpack_ *export_)
{
  xdp_owner_ owner = export_->owner;
  free(export_);
  xdp_give_back_(owner);
}

static inline void xdp_versioned_free_(xdp_versioned_ *self)
{
  if (self)
    xdp_dlpack_free_((xdp_dlpack_ *)self->context);
}

static inline void xdp_legacy_free_(xdp_legacy_ *self)
{
  if (self)
    xdp_dlpack_free_((xdp_dlpack_ *)self->context);
}

static inline xdp_dlpack_ *xdp_dlpack_new_(const xdp_memory *memory, xdp_tensor_ *tensor, xdp_error *error)
{
  xdp_layout_ layout;
  xdp_dlpack_ *export_;
  int32_t axis;
  if (!xdp_check_(memory, &layout, error))
    return NULL;
  for (axis = 0; axis < memory->ndim; axis++) {
    int64_t stride = xdp_stride_(memory, &layout, axis);
    if (memory->shape[axis] > 1 && stride % layout.itemsize != 0)
      XDP_FAIL_(error, "DLPack counts strides in elements: the stride of axis %d, %lld bytes, is no multiple of %lld",
                axis, (long long)stride, (long long)layout.itemsize);
  }
  export_ = (xdp_dlpack_ *)calloc(1, sizeof *export_);
  if (!export_)
    XDP_FAIL_(error, "out of memory for %zu bytes of a tensor", sizeof *export_);
  for (axis = 0; axis < memory->ndim; axis++) {
    export_->shape[axis] = memory->shape[axis];
    export_->strides[axis] = xdp_stride_(memory, &layout, axis) / layout.itemsize;
  }
  export_->owner = xdp_owner_of_(memory);
  tensor->data = memory->data;
  tensor->device_type = memory->device_type;
  tensor->device_id = memory->device_id;
  tensor->ndim = memory->ndim;
  tensor->code = (uint8_t)xdp_code_(memory->dtype);
  tensor->bits = (uint8_t)xdp_bits_(memory->dtype);
  tensor->lanes = 1;
  tensor->shape = export_->shape;
  tensor->strides = export_->strides;
  tensor->byte_offset = 0;
  return export_;
}

/* A tensor in place. Its consumer calls the deleter once. */
static inline struct DLManagedTensorVersioned *xdp_to_dlpack(const xdp_memory *memory, xdp_error *error)
{
  xdp_tensor_ tensor;
  xdp_dlpack_ *export_ = xdp_dlpack_new_(memory, &tensor, error);
  xdp_versioned_ *managed;
  if (!export_)
    return NULL;
  managed = &export_->managed.versioned;
  managed->major = 1;
  managed->minor = 1;
  managed->context = export_;
  managed->deleter = xdp_versioned_free_;
  managed->flags = memory->readonly ? 1 : 0;
  managed->tensor = tensor;
  return (struct DLManagedTensorVersioned *)(void *)managed;
}

/* The same for consumers of DLPack before 1.0. That struct cannot express read-only memory, which
 * is an error. */
static inline struct DLManagedTensor *xdp_to_dlpack_legacy(const xdp_memory *memory, xdp_error *error)
{
  xdp_tensor_ tensor;
  xdp_dlpack_ *export_;
  xdp_legacy_ *managed;
  if (memory && memory->readonly)
    XDP_FAIL_(error, "read-only memory has no tensor without a version: the consumer must request DLPack 1.0 or newer");
  export_ = xdp_dlpack_new_(memory, &tensor, error);
  if (!export_)
    return NULL;
  managed = &export_->managed.legacy;
  managed->tensor = tensor;
  managed->context = export_;
  managed->deleter = xdp_legacy_free_;
  return (struct DLManagedTensor *)(void *)managed;
}

/* ===== Arrow ===== */

/* The structs of Arrow's C Data interface, under its own guard. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif

/* The texts of a schema, and its child. */
typedef struct xdp_schema_ {
  char format[16];
  char metadata[1700]; /* a shape of XDP_MAX_NDIM numbers is the longest part */
  char *name;
  struct ArrowSchema child, *children[1];
} xdp_schema_;

/* One allocation for a column and its child, which a consumer may move out and release alone. */
typedef struct xdp_column_ {
  int holders;
  xdp_owner_ owner;
  const void *validity[1], *buffers[2];
  struct ArrowArray child, *children[1];
} xdp_column_;

/* The metadata of the child is an allocation of its own, or NULL. */
static inline void xdp_child_schema_release_(struct ArrowSchema *schema)
{
  schema->release = NULL;
  free(schema->private_data);
}

static inline void xdp_schema_release_(struct ArrowSchema *schema)
{
  xdp_schema_ *own = (xdp_schema_ *)schema->private_data;
  if (schema->n_children > 0 && own->child.release)
    own->child.release(&own->child);
  schema->release = NULL;
  free(own->name);
  free(own);
}

static inline void xdp_column_drop_(xdp_column_ *own)
{
  if (__atomic_sub_fetch(&own->holders, 1, __ATOMIC_ACQ_REL) == 0) {
    xdp_owner_ owner = own->owner;
    free(own);
    xdp_give_back_(owner);
  }
}

static inline void xdp_child_release_(struct ArrowArray *array)
{
  array->release = NULL;
  xdp_column_drop_((xdp_column_ *)array->private_data);
}

static inline void xdp_column_release_(struct ArrowArray *array)
{
  xdp_column_ *own = (xdp_column_ *)array->private_data;
  if (array->n_children > 0 && own->child.release)
    own->child.release(&own->child);
  array->release = NULL;
  xdp_column_drop_(own);
}

static inline const char *xdp_arrow_format_(int32_t dtype)
{
  switch (dtype) {
  case XDP_INT8: case XDP_BOOL:
    return "c";
  case XDP_UINT8:
    return "C";
  case XDP_INT16:
    return "s";
  case XDP_UINT16:
    return "S";
  case XDP_INT32:
    return "i";
  case XDP_UINT32:
    return "I";
  case XDP_INT64:
    return "l";
  case XDP_UINT64:
    return "L";
  case XDP_FLOAT16:
    return "e";
  case XDP_FLOAT32:
    return "f";
  case XDP_FLOAT64:
    return "g";
  default:
    return NULL;
  }
}

/* Appends a text with its length before it, as Arrow encodes metadata. */
static inline size_t xdp_append_(char *to, size_t at, const char *text)
{
  size_t len = strlen(text);
  int32_t number = (int32_t)len;
  memcpy(to + at, &number, sizeof number);
  memcpy(to + at + sizeof number, text, len);
  return at + sizeof number + len;
}

static inline void xdp_extension_(char *metadata, const char *name, const char *parameters)
{
  int32_t pairs = 2;
  size_t at = sizeof pairs;
  memcpy(metadata, &pairs, sizeof pairs);
  at = xdp_append_(metadata, at, "ARROW:extension:name");
  at = xdp_append_(metadata, at, name);
  at = xdp_append_(metadata, at, "ARROW:extension:metadata");
  (void)xdp_append_(metadata, at, parameters);
}

#define XDP_BOOL8_BYTES_ 128

/* The schema of the numbers themselves: a column, or the items of its tensors. */
static inline void xdp_numbers_schema_(struct ArrowSchema *schema, const char *format, char *metadata, int32_t dtype)
{
  memset(schema, 0, sizeof *schema);
  schema->format = format;
  if (dtype == XDP_BOOL) {
    xdp_extension_(metadata, "arrow.bool8", "");
    schema->metadata = metadata;
  }
}

static inline bool xdp_schema_new_(const xdp_memory *memory, const char *format, int64_t row_len, const char *name,
                                   struct ArrowSchema *schema, xdp_error *error)
{
  xdp_schema_ *own = (xdp_schema_ *)calloc(1, sizeof *own);
  char *item_metadata = (char *)calloc(1, XDP_BOOL8_BYTES_), *own_name = (char *)malloc(strlen(name) + 1);
  if (!own || !item_metadata || !own_name) {
    free(own);
    free(item_metadata);
    free(own_name);
    XDP_FAIL_(error, "out of memory for %zu bytes of a schema", sizeof *own);
  }
  memcpy(own_name, name, strlen(name) + 1);
  own->name = own_name;
  if (memory->ndim == 1) {
    free(item_metadata);
    xdp_numbers_schema_(schema, format, own->metadata, memory->dtype);
  } else {
    char parameters[1500] = "{\"shape\":[";
    size_t at = strlen(parameters);
    int32_t axis;
    for (axis = 1; axis < memory->ndim; axis++)
      at += (size_t)snprintf(parameters + at, sizeof parameters - at, axis == 1 ? "%lld" : ",%lld",
                             (long long)memory->shape[axis]);
    (void)snprintf(parameters + at, sizeof parameters - at, "]}");
    xdp_extension_(own->metadata, "arrow.fixed_shape_tensor", parameters);
    xdp_numbers_schema_(&own->child, format, item_metadata, memory->dtype);
    own->child.name = "item";
    own->child.private_data = item_metadata;
    own->child.release = xdp_child_schema_release_;
    own->children[0] = &own->child;
    memset(schema, 0, sizeof *schema);
    (void)snprintf(own->format, sizeof own->format, "+w:%lld", (long long)row_len);
    schema->format = own->format;
    schema->metadata = own->metadata;
    schema->n_children = 1;
    schema->children = own->children;
  }
  schema->name = own->name;
  schema->private_data = own;
  schema->release = xdp_schema_release_;
  return true;
}

/* The elements of an array without nulls. */
static inline void xdp_numbers_(struct ArrowArray *array, xdp_column_ *own, int64_t len)
{
  memset(array, 0, sizeof *array);
  array->length = len;
  array->n_buffers = 2;
  array->buffers = own->buffers;
  array->private_data = own;
}

/* A column in place: axis 0 is the rows, and further axes are tensors of a fixed shape. Fills in
 * both structs, which the consumer must release; on failure neither changes. `name` may be NULL.
 * The elements must be row-major without gaps, and must not be written until the release. Bools are
 * Arrow's extension of bytes, arrow.bool8. */
static inline bool xdp_to_arrow(const xdp_memory *memory, const char *name, struct ArrowSchema *schema,
                                struct ArrowArray *array, xdp_error *error)
{
  xdp_layout_ layout;
  xdp_column_ *own;
  const char *format;
  int64_t rows, row_len = 1;
  int32_t axis;
  if (!xdp_check_(memory, &layout, error) || !xdp_on_cpu_(memory, "Arrow's C Data interface", error))
    return false;
  if (!schema || !array)
    XDP_FAIL_(error, "the argument `%s` is null", schema ? "array" : "schema");
  format = xdp_arrow_format_(memory->dtype);
  if (!format)
    XDP_FAIL_(error, "Arrow has no numbers of DLPack's code %d with %d bits", xdp_code_(memory->dtype),
              xdp_bits_(memory->dtype));
  if (memory->ndim == 0)
    XDP_FAIL_(error, "an array of 0 axes is no column, which has 1 or more");
  if (!layout.is_row_major) {
    for (axis = memory->ndim - 1; memory->shape[axis] == 1 || memory->strides[axis] == layout.row_major[axis];)
      axis--;
    XDP_FAIL_(error,
              "Arrow's elements are row-major without gaps: the stride of axis %d is %lld bytes, and must be %lld",
              axis, (long long)memory->strides[axis], (long long)layout.row_major[axis]);
  }
  rows = memory->shape[0];
  for (axis = 1; axis < memory->ndim; axis++)
    row_len = memory->shape[axis] > 0 && row_len > INT32_MAX / memory->shape[axis] ? -1 : row_len * memory->shape[axis];
  if (row_len < 0 || row_len > INT32_MAX)
    XDP_FAIL_(error, "a row has more than 2147483647 elements, the most of Arrow's lists");
  own = (xdp_column_ *)calloc(1, sizeof *own);
  if (!own)
    XDP_FAIL_(error, "out of memory for %zu bytes of a column", sizeof *own);
  if (!xdp_schema_new_(memory, format, row_len, name ? name : "", schema, error)) {
    free(own);
    return false;
  }
  own->owner = xdp_owner_of_(memory);
  own->buffers[1] = memory->data;
  if (memory->ndim == 1) {
    own->holders = 1;
    xdp_numbers_(array, own, rows);
  } else {
    own->holders = 2;
    xdp_numbers_(&own->child, own, layout.len);
    own->child.release = xdp_child_release_;
    own->children[0] = &own->child;
    memset(array, 0, sizeof *array);
    array->length = rows;
    array->n_buffers = 1;
    array->buffers = own->validity;
    array->n_children = 1;
    array->children = own->children;
    array->private_data = own;
  }
  array->release = xdp_column_release_;
  return true;
}

/* ===== MemoryView ===== */

/* Bits of the flags of a request, as in ruby/memory_view.h. */
#define XDP_VIEW_WRITABLE_ 1
#define XDP_VIEW_ROW_MAJOR_ 16
#define XDP_VIEW_COLUMN_MAJOR_ 32

typedef struct xdp_view_ {
  xdp_owner_ owner;
  ssize_t shape[XDP_MAX_NDIM], strides[XDP_MAX_NDIM];
} xdp_view_;

/* The pack template; NULL for numbers that have none. A bool is a byte, a complex number two
 * floats. */
static inline const char *xdp_view_format_(int32_t dtype)
{
  switch (dtype) {
  case XDP_INT8:
    return "c";
  case XDP_UINT8: case XDP_BOOL:
    return "C";
  case XDP_INT16:
    return "s";
  case XDP_UINT16:
    return "S";
  case XDP_INT32:
    return "l";
  case XDP_UINT32:
    return "L";
  case XDP_INT64:
    return "q";
  case XDP_UINT64:
    return "Q";
  case XDP_FLOAT32:
    return "f";
  case XDP_FLOAT64:
    return "d";
  case XDP_COMPLEX64:
    return "ff";
  case XDP_COMPLEX128:
    return "dd";
  default:
    return NULL;
  }
}

static inline xdp_view_ *xdp_view_new_(const xdp_memory *memory, int flags, ssize_t *nbytes, xdp_error *error)
{
  xdp_layout_ layout;
  xdp_view_ *own;
  int32_t axis;
  int wanted = flags & (XDP_VIEW_ROW_MAJOR_ | XDP_VIEW_COLUMN_MAJOR_);
  if (!xdp_check_(memory, &layout, error) || !xdp_on_cpu_(memory, "MemoryView", error))
    return NULL;
  if (!xdp_view_format_(memory->dtype))
    XDP_FAIL_(error, "pack templates have no numbers of DLPack's code %d with %d bits", xdp_code_(memory->dtype),
              xdp_bits_(memory->dtype));
  if (memory->readonly && (flags & XDP_VIEW_WRITABLE_))
    XDP_FAIL_(error, "the memory is read-only");
  if (wanted && !((wanted & XDP_VIEW_ROW_MAJOR_) && layout.is_row_major) &&
      !((wanted & XDP_VIEW_COLUMN_MAJOR_) && layout.is_column_major))
    XDP_FAIL_(error, "the array is not contiguous in the requested order (flags %d)", flags);
  own = (xdp_view_ *)calloc(1, sizeof *own);
  if (!own)
    XDP_FAIL_(error, "out of memory for %zu bytes of a view", sizeof *own);
  for (axis = 0; axis < memory->ndim; axis++) {
    own->shape[axis] = memory->shape[axis];
    own->strides[axis] = xdp_stride_(memory, &layout, axis);
  }
  own->owner = xdp_owner_of_(memory);
  *nbytes = layout.len * layout.itemsize;
  return own;
}

/* Releases what xdp_fill_view took; for the release_func of a producer. */
static inline void xdp_release_view(void *private_data)
{
  if (private_data) {
    xdp_owner_ owner = ((xdp_view_ *)private_data)->owner;
    free(private_data);
    xdp_give_back_(owner);
  }
}

/* Fills in a view for the get_func of a producer, and sets *result, a bool, to whether it could. It
 * is a macro, since it takes the structs of ruby/memory_view.h as well as those of crossdock.h.
 *
 *   static bool image_get(VALUE self, rb_memory_view_t *view, int flags)
 *   {
 *     bool done;
 *     ...
 *     xdp_fill_view(&memory, view, self, flags, &error, &done);
 *     return done;
 *   }
 *   static bool image_release(VALUE self, rb_memory_view_t *view)
 *   {
 *     xdp_release_view(view->private_data);
 *     return true;
 *   }
 */
#define xdp_fill_view(memory, view, object, flags, error, result)                                  \
  do {                                                                                             \
    const xdp_memory *xdp_from_ = (memory);                                                        \
    ssize_t xdp_nbytes_ = 0;                                                                       \
    xdp_view_ *xdp_own_ = xdp_view_new_(xdp_from_, (flags), &xdp_nbytes_, (error));                \
    *(result) = xdp_own_ != NULL;                                                                  \
    if (xdp_own_) {                                                                                \
      (view)->obj = (object);                                                                      \
      (view)->data = xdp_from_->data;                                                              \
      (view)->byte_size = xdp_nbytes_;                                                             \
      (view)->readonly = xdp_from_->readonly;                                                      \
      (view)->format = xdp_view_format_(xdp_from_->dtype);                                         \
      (view)->item_size = xdp_itemsize_(xdp_from_->dtype);                                         \
      (view)->item_desc.components = NULL;                                                         \
      (view)->item_desc.length = 0;                                                                \
      (view)->ndim = xdp_from_->ndim;                                                              \
      (view)->shape = xdp_own_->shape;                                                             \
      (view)->strides = xdp_own_->strides;                                                         \
      (view)->sub_offsets = NULL;                                                                  \
      (view)->private_data = xdp_own_;                                                             \
    }                                                                                              \
  } while (0)

#ifdef __cplusplus
}
#endif

#endif

/* ===== CPython: under its own guard, so that Python.h may also come after a first include ===== */

#if defined(Py_PYTHON_H) && !defined(CROSSDOCK_PRODUCER_PYTHON_H)
#define CROSSDOCK_PRODUCER_PYTHON_H

#ifdef __cplusplus
extern "C" {
#endif

/* For xdp_memory.release of an owner that is a Python object: takes the GIL. Retain it by
 * Py_INCREF. After the interpreter has ended, the object is left. */
static inline void xdp_python_release(void *owner)
{
  if (Py_IsInitialized()) {
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)owner);
    PyGILState_Release(state);
  }
}

/* Capsules that no consumer took release their export; a consumer renames those that it took. An
 * exception may be pending here, so nothing sets or clears one. */
static inline void xdp_capsule_versioned_(PyObject *capsule)
{
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    xdp_versioned_ *managed = (xdp_versioned_ *)PyCapsule_GetPointer(capsule, "dltensor_versioned");
    managed->deleter(managed);
  }
}

static inline void xdp_capsule_legacy_(PyObject *capsule)
{
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    xdp_legacy_ *managed = (xdp_legacy_ *)PyCapsule_GetPointer(capsule, "dltensor");
    managed->deleter(managed);
  }
}

static inline bool xdp_python_memory_(const xdp_memory *memory)
{
  if (!memory)
    PyErr_SetString(PyExc_ValueError, "the argument `memory` is null");
  return memory != NULL;
}

/* A tuple of two integers. */
static inline bool xdp_python_pair_(PyObject *pair, const char *name, int *first, int *second)
{
  if (PyTuple_Check(pair) && PyTuple_Size(pair) == 2 && PyArg_ParseTuple(pair, "ii", first, second))
    return true;
  if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError))
    (void)PyErr_Format(PyExc_TypeError, "%s must be a tuple of two integers", name);
  return false;
}

/* Whether a keyword of __dlpack__ asks for what the memory is. */
static inline bool xdp_python_request_(const xdp_memory *memory, PyObject *dl_device, PyObject *copy)
{
  int type = memory->device_type, id = memory->device_id;
  int copies = copy && copy != Py_None ? PyObject_IsTrue(copy) : 0;
  if (copies < 0)
    return false;
  if (copies) {
    PyErr_SetString(PyExc_BufferError,
                    "__dlpack__ exports the memory in place, and copies nothing: copy the array yourself");
    return false;
  }
  if (dl_device && dl_device != Py_None) {
    if (!xdp_python_pair_(dl_device, "dl_device", &type, &id))
      return false;
    if (type != memory->device_type || id != memory->device_id) {
      (void)PyErr_Format(PyExc_BufferError, "device (%d, %d) was requested; the memory is on (%d, %d)", type, id,
                         memory->device_type, memory->device_id);
      return false;
    }
  }
  return true;
}

/* The method __dlpack__ with its keywords, METH_VARARGS | METH_KEYWORDS, for memory that needs no
 * stream. `memory->owner` must be a Python object, and `memory->release` xdp_python_release, or your
 * own function; retain it once for this call, and release it if the result is NULL. */
static inline PyObject *xdp_python_dlpack(const xdp_memory *memory, PyObject *args, PyObject *kwargs)
{
  static const char *const names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *stream = NULL, *max_version = NULL, *dl_device = NULL, *copy = NULL, *capsule;
  xdp_error error;
  int major = 0, minor = 0;
  void *managed;
  if (!xdp_python_memory_(memory))
    return NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", (char **)(uintptr_t)names, &stream, &max_version,
                                   &dl_device, &copy))
    return NULL;
  if (!xdp_python_request_(memory, dl_device, copy))
    return NULL;
  if (max_version && max_version != Py_None && !xdp_python_pair_(max_version, "max_version", &major, &minor))
    return NULL;
  managed = major >= 1 ? (void *)xdp_to_dlpack(memory, &error) : (void *)xdp_to_dlpack_legacy(memory, &error);
  if (!managed) {
    PyErr_SetString(PyExc_BufferError, error.message);
    return NULL;
  }
  capsule = PyCapsule_New(managed, major >= 1 ? "dltensor_versioned" : "dltensor",
                          major >= 1 ? xdp_capsule_versioned_ : xdp_capsule_legacy_);
  if (!capsule) /* without an owner: the caller releases it */
    free(major >= 1 ? ((xdp_versioned_ *)managed)->context : ((xdp_legacy_ *)managed)->context);
  return capsule;
}

/* The method __dlpack_device__. */
static inline PyObject *xdp_python_dlpack_device(const xdp_memory *memory)
{
  if (!xdp_python_memory_(memory))
    return NULL;
  return Py_BuildValue("(ii)", memory->device_type, memory->device_id);
}

#ifdef __cplusplus
}
#endif

#endif
