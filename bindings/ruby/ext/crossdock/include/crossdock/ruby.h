/* Crossdock for extensions in C.
 *
 * Extensions cannot be linked with each other, so the gem exports a table of functions:
 *
 *   const xdr_api *crossdock = xdr_api_get();
 *   VALUE array = crossdock->view(object, false);
 *
 * `xdr_api_get` requires the gem. In `extconf.rb`, `require "crossdock"` and
 * `$INCFLAGS << " -I#{Crossdock.include_dir}"` find this header.
 *
 * Ruby's own `rb_memory_view_get` reads a `Crossdock::Array`: shape, strides, format and item size
 * are always filled in and checked. All functions must be called with Ruby's lock held, and may
 * raise.
 */

#ifndef CROSSDOCK_RUBY_H
#define CROSSDOCK_RUBY_H

#include <ruby.h>
#include <ruby/memory_view.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the table below. Later versions append functions. */
#define XDR_API_VERSION 1

/* Memory that an extension lends. */
typedef struct xdr_memory {
  /* The address of element 0. */
  void *data;
  /* The dtype: a name (`float32`), or any of NumPy's spellings (`<f4`, `[('x', '<f4')]`). */
  const char *dtype;
  ssize_t ndim;
  /* `ndim` lengths. */
  const ssize_t *shape;
  /* `ndim` distances in bytes, or NULL for a C-contiguous (row-major) array. */
  const ssize_t *strides;
  bool readonly;
  /* An object that is kept alive and pinned until the memory was last used; or Qnil. */
  VALUE owner;
  /* Called once after the memory was last used, with Ruby's lock held and outside of a collection,
     before `owner` is released; never at the end of the process. Or NULL. */
  void (*release)(void *context);
  void *context;
} xdr_memory;

typedef struct xdr_api {
  uint32_t version;
  uint32_t nbytes;
  /* A zero-copy array on the caller's memory. If it raises, `release` was called. */
  VALUE (*array_from_memory)(const xdr_memory *memory);
  /* `Crossdock.view(object, writable: …)`: a checked zero-copy array on the memory of an object that
     exports a MemoryView or has an adapter. */
  VALUE (*view)(VALUE object, bool writable);
  /* Whether an object is a `Crossdock::Array`. Never raises. */
  bool (*is_array)(VALUE object);
  /* The address of an item of any view, by `ndim` indices. Raises IndexError out of bounds. */
  void *(*item_pointer)(const rb_memory_view_t *view, const ssize_t *indices);
} xdr_api;

/* The name of the data type of the object that holds the table. */
#define XDR_API_TYPE "crossdock/api"

/* The table. Raises LoadError if the gem is older than this header. */
static inline const xdr_api *xdr_api_get(void)
{
  static const xdr_api *found;
  if (found == NULL) {
    rb_require("crossdock");
    VALUE holder = rb_const_get(rb_path2class("Crossdock"), rb_intern("API"));
    if (!RB_TYPE_P(holder, T_DATA) || !RTYPEDDATA_P(holder) ||
        strcmp(RTYPEDDATA_TYPE(holder)->wrap_struct_name, XDR_API_TYPE) != 0)
      rb_raise(rb_eTypeError, "Crossdock::API is no table of functions");
    const xdr_api *api = (const xdr_api *)DATA_PTR(holder);
    if (api->version < XDR_API_VERSION || api->nbytes < sizeof *api)
      rb_raise(rb_eLoadError, "the gem crossdock has version %u of its functions, and this extension needs %u",
               api->version, XDR_API_VERSION);
    found = api;
  }
  return found;
}

#ifdef __cplusplus
}
#endif

#endif
