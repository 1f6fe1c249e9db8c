/* An extension that creates and imports arrays, with the header alone. */

#include <crossdock/ruby.h>
#include <stddef.h>
#include <stdlib.h>

_Static_assert(sizeof(xdr_memory) == 72 && offsetof(xdr_memory, owner) == 48, "as the gem has it");
_Static_assert(sizeof(xdr_api) == 40 && offsetof(xdr_api, item_pointer) == 32, "as the gem has it");
_Static_assert(sizeof(rb_memory_view_t) == 112 && offsetof(rb_memory_view_t, _memory_view_entry) == 104, "as the gem has it");

static int released;

static void give_back(void *samples)
{
  released++;
  free(samples);
}

/* `n` samples in columns of two, the last one first. */
static VALUE make(VALUE module, VALUE count, VALUE dtype)
{
  long n = NUM2LONG(count);
  float *samples = malloc((n + 1) * sizeof *samples);
  for (long k = 0; k < n; k++) samples[k] = k / 2.0f;
  ssize_t shape[] = {n / 2, 2}, strides[] = {-(ssize_t)(2 * sizeof *samples), sizeof *samples};
  xdr_memory memory = {samples + (n > 1 ? n - 2 : 0), StringValueCStr(dtype), 2, shape, strides, false, Qnil, give_back, samples};
  return xdr_api_get()->array_from_memory(&memory);
}

/* The bytes of a String that the array keeps. */
static VALUE wrap(VALUE module, VALUE string)
{
  ssize_t shape[] = {RSTRING_LEN(string)};
  xdr_memory memory = {RSTRING_PTR(string), "uint8", 1, shape, NULL, true, string, NULL, NULL};
  return xdr_api_get()->array_from_memory(&memory);
}

/* Axes without their lengths, as a faulty extension would pass them. */
static VALUE make_badly(VALUE module, VALUE ndim, VALUE has_shape)
{
  static char bytes[8];
  ssize_t shape[] = {2, 2};
  xdr_memory memory = {bytes, "uint8", NUM2SSIZET(ndim), RTEST(has_shape) ? shape : NULL, NULL, false, Qnil, NULL, NULL};
  return xdr_api_get()->array_from_memory(&memory);
}

static VALUE sum(VALUE module, VALUE object)
{
  const xdr_api *crossdock = xdr_api_get();
  VALUE array = crossdock->view(object, false);
  rb_memory_view_t view;
  if (!crossdock->is_array(array) || !rb_memory_view_get(array, &view, RUBY_MEMORY_VIEW_STRIDES)) rb_raise(rb_eArgError, "no view");
  double total = 0;
  for (ssize_t k = 0; view.ndim == 1 && k < view.shape[0]; k++) {
    VALUE item = rb_memory_view_extract_item_members((char *)view.data + k * view.strides[0], &(rb_memory_view_item_component_t){view.format[0], .size = view.item_size, .repeat = 1, .little_endian_p = 1}, 1);
    total += NUM2DBL(item);
  }
  rb_memory_view_release(&view);
  RB_GC_GUARD(array);
  return DBL2NUM(total);
}

static VALUE byte_at(VALUE module, VALUE array, VALUE index)
{
  rb_memory_view_t view;
  if (!rb_memory_view_get(array, &view, 0)) return Qnil;
  ssize_t at = NUM2SSIZET(index);
  unsigned char *byte = xdr_api_get()->item_pointer(&view, &at);
  VALUE value = INT2FIX(*byte);
  rb_memory_view_release(&view);
  return value;
}

static VALUE count_released(VALUE module)
{
  return INT2FIX(released);
}

void Init_extension(void)
{
  VALUE module = rb_define_module("Extension");
  rb_define_singleton_method(module, "make", make, 2);
  rb_define_singleton_method(module, "wrap", wrap, 1);
  rb_define_singleton_method(module, "make_badly", make_badly, 2);
  rb_define_singleton_method(module, "sum", sum, 1);
  rb_define_singleton_method(module, "byte_at", byte_at, 2);
  rb_define_singleton_method(module, "released", count_released, 0);
}
