/* Producers and consumers of Ruby's MemoryView, as a C extension implements them: producers that
   describe whatever a test wants, including contradictions, and consumers that show every field.
   Compiled by the tests, without Crossdock. */

#include <ruby.h>
#include <ruby/memory_view.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static VALUE mProbe;
static long gets, releases;

/* ----- a producer ----- */

typedef struct lender {
  char *bytes, *format;
  ssize_t byte_size, item_size, ndim, offset, *shape, *strides, *sub_offsets;
  bool readonly, sparing, raises, available;
  int only_flags, phantom;
  bool is_others;
} lender;

static void lender_free(void *data)
{
  lender *self = data;
  if (!self->is_others) free(self->bytes);
  free(self->format);
  free(self->shape);
  free(self->strides);
  free(self->sub_offsets);
  free(self);
}

static const rb_data_type_t lender_type = {"Probe::Lender", {NULL, lender_free, NULL}, NULL, NULL, RUBY_TYPED_FREE_IMMEDIATELY};

static lender *lender_of(VALUE object)
{
  lender *self;
  TypedData_Get_Struct(object, lender, &lender_type, self);
  return self;
}

static VALUE lender_alloc(VALUE class)
{
  lender *self = calloc(1, sizeof *self);
  return TypedData_Wrap_Struct(class, &lender_type, self);
}

static VALUE option(VALUE options, const char *name)
{
  return rb_hash_aref(options, ID2SYM(rb_intern(name)));
}

static ssize_t *numbers(VALUE list)
{
  if (NIL_P(list)) return NULL;
  ssize_t *all = malloc((RARRAY_LEN(list) + 1) * sizeof *all);
  for (long k = 0; k < RARRAY_LEN(list); k++) all[k] = NUM2SSIZET(rb_ary_entry(list, k));
  return all;
}

static VALUE lender_initialize(VALUE object, VALUE options)
{
  lender *self = lender_of(object);
  VALUE bytes = option(options, "bytes"), format = option(options, "format"), number;
  if (!NIL_P(bytes)) {
    self->bytes = malloc(RSTRING_LEN(bytes) + 1);
    memcpy(self->bytes, RSTRING_PTR(bytes), RSTRING_LEN(bytes));
    self->byte_size = RSTRING_LEN(bytes);
  }
  if (!NIL_P(number = option(options, "address"))) {
    self->bytes = (char *)NUM2ULL(number);
    self->is_others = true;
  }
  self->format = NIL_P(format) ? NULL : strdup(StringValueCStr(format));
  self->item_size = NIL_P(number = option(options, "item_size")) ? 1 : NUM2SSIZET(number);
  if (!NIL_P(number = option(options, "byte_size"))) self->byte_size = NUM2SSIZET(number);
  self->ndim = NIL_P(number = option(options, "ndim")) ? 1 : NUM2SSIZET(number);
  self->offset = NIL_P(number = option(options, "offset")) ? 0 : NUM2SSIZET(number);
  self->shape = numbers(option(options, "shape"));
  self->strides = numbers(option(options, "strides"));
  self->sub_offsets = numbers(option(options, "sub_offsets"));
  self->readonly = RTEST(option(options, "readonly"));
  self->sparing = RTEST(option(options, "sparing"));
  self->raises = RTEST(option(options, "raises"));
  self->available = !RTEST(option(options, "unavailable"));
  self->only_flags = NIL_P(number = option(options, "only_flags")) ? -1 : NUM2INT(number);
  return object;
}

/* A table of pointers in the bytes, to parts of the same bytes. */
static VALUE lender_point(VALUE object, VALUE at, VALUE to)
{
  lender *self = lender_of(object);
  char *target = NIL_P(to) ? NULL : self->bytes + NUM2LONG(to);
  memcpy(self->bytes + NUM2LONG(at), &target, sizeof target);
  return Qnil;
}

static VALUE lender_poke(VALUE object, VALUE at, VALUE byte)
{
  lender_of(object)->bytes[NUM2LONG(at)] = (char)NUM2INT(byte);
  return Qnil;
}

static bool lender_get(VALUE object, rb_memory_view_t *view, int flags)
{
  lender *self = lender_of(object);
  if (self->raises) rb_raise(rb_eArgError, "this lender raises");
  if (self->only_flags >= 0 && flags != self->only_flags) {
    /* A producer that refuses may leave anything in the struct. */
    view->shape = (ssize_t *)0x10;
    return false;
  }
  gets++;
  if (!self->sparing) {
    rb_memory_view_init_as_byte_array(view, object, NULL, self->byte_size, self->readonly);
    view->format = self->format;
    view->sub_offsets = self->sub_offsets;
    view->strides = self->strides;
    view->obj = object;
  }
  view->data = self->bytes + self->offset;
  view->byte_size = self->byte_size;
  view->item_size = self->item_size;
  view->ndim = self->ndim;
  view->shape = self->shape;
  return true;
}

static bool lender_release(VALUE object, rb_memory_view_t *view)
{
  releases++;
  return true;
}

static bool lender_available(VALUE object)
{
  return lender_of(object)->available;
}

static const rb_memory_view_entry_t whole = {lender_get, lender_release, lender_available}, mute = {lender_get, NULL, lender_available},
                                    shy = {lender_get, lender_release, NULL}, hollow = {NULL, lender_release, lender_available};

static VALUE probe_counts(VALUE module)
{
  return rb_assoc_new(LONG2NUM(gets), LONG2NUM(releases));
}

/* The number of an object's views that Ruby counts. */
static VALUE probe_exports(VALUE module, VALUE object)
{
  st_table *table;
  st_data_t count = 0;
  TypedData_Get_Struct(rb_memory_view_exported_object_registry, st_table, &rb_memory_view_exported_object_registry_data_type, table);
  return st_lookup(table, (st_data_t)object, &count) ? LONG2NUM((long)count) : LONG2FIX(0);
}

/* ----- a consumer ----- */

typedef struct consumer {
  rb_memory_view_t view;
} consumer;

static void consumer_free(void *data)
{
  /* Like Fiddle: in the sweep, also at the end of the process. */
  rb_memory_view_release(&((consumer *)data)->view);
  free(data);
}

static void consumer_mark(void *data)
{
  rb_gc_mark(((consumer *)data)->view.obj);
}

static const rb_data_type_t consumer_type = {"Probe::View", {consumer_mark, consumer_free, NULL}, NULL, NULL, RUBY_TYPED_FREE_IMMEDIATELY};

static consumer *consumer_of(VALUE object)
{
  consumer *self;
  TypedData_Get_Struct(object, consumer, &consumer_type, self);
  return self;
}

/* A view over a struct that held garbage before, or nil. */
static VALUE probe_get(int argc, VALUE *argv, VALUE module)
{
  VALUE object, flags;
  rb_scan_args(argc, argv, "11", &object, &flags);
  rb_memory_view_t view;
  memset(&view, 0x5a, sizeof view);
  if (!rb_memory_view_get(object, &view, NIL_P(flags) ? 0 : NUM2INT(flags))) return Qnil;
  consumer *self = calloc(1, sizeof *self);
  self->view = view;
  return TypedData_Wrap_Struct(rb_path2class("Probe::View"), &consumer_type, self);
}

static VALUE probe_available(VALUE module, VALUE object)
{
  return rb_memory_view_available_p(object) ? Qtrue : Qfalse;
}

static VALUE list(const ssize_t *numbers, ssize_t len)
{
  if (numbers == NULL) return Qnil;
  VALUE all = rb_ary_new();
  for (ssize_t k = 0; k < len; k++) rb_ary_push(all, SSIZET2NUM(numbers[k]));
  return all;
}

static VALUE view_fields(VALUE object)
{
  rb_memory_view_t *view = &consumer_of(object)->view;
  VALUE all = rb_hash_new();
#define SET(name, value) rb_hash_aset(all, ID2SYM(rb_intern(name)), value)
  SET("obj", view->obj);
  SET("data", ULL2NUM((uintptr_t)view->data));
  SET("byte_size", SSIZET2NUM(view->byte_size));
  SET("readonly", view->readonly ? Qtrue : Qfalse);
  SET("format", view->format ? rb_str_new_cstr(view->format) : Qnil);
  SET("item_size", SSIZET2NUM(view->item_size));
  SET("components", view->item_desc.components == NULL ? Qfalse : Qtrue);
  SET("length", SIZET2NUM(view->item_desc.length));
  SET("ndim", SSIZET2NUM(view->ndim));
  SET("shape", list(view->shape, view->ndim));
  SET("strides", list(view->strides, view->ndim));
  SET("sub_offsets", list(view->sub_offsets, view->ndim));
  SET("private_data", view->private_data == NULL ? Qfalse : Qtrue);
  return all;
}

static VALUE view_item(VALUE object, VALUE index)
{
  ssize_t at[64];
  for (long k = 0; k < RARRAY_LEN(index) && k < 64; k++) at[k] = NUM2SSIZET(rb_ary_entry(index, k));
  return rb_memory_view_get_item(&consumer_of(object)->view, at);
}

static VALUE view_poke(VALUE object, VALUE index, VALUE byte)
{
  ssize_t at[64];
  for (long k = 0; k < RARRAY_LEN(index) && k < 64; k++) at[k] = NUM2SSIZET(rb_ary_entry(index, k));
  *(char *)rb_memory_view_get_item_pointer(&consumer_of(object)->view, at) = (char)NUM2INT(byte);
  return Qnil;
}

static VALUE view_contiguity(VALUE object)
{
  rb_memory_view_t *view = &consumer_of(object)->view;
  return rb_assoc_new(rb_memory_view_is_row_major_contiguous(view) ? Qtrue : Qfalse, rb_memory_view_is_column_major_contiguous(view) ? Qtrue : Qfalse);
}

static VALUE view_release(VALUE object)
{
  return rb_memory_view_release(&consumer_of(object)->view) ? Qtrue : Qfalse;
}

/* The result of the producer's release function for a released struct, and for a foreign one. */
static VALUE view_release_directly(VALUE object)
{
  rb_memory_view_t *view = &consumer_of(object)->view;
  return view->_memory_view_entry->release_func(view->obj, view) ? Qtrue : Qfalse;
}

/* Views that are never released. */
static VALUE probe_leak(VALUE module, VALUE object)
{
  rb_memory_view_t *view = calloc(1, sizeof *view);
  return rb_memory_view_get(object, view, 0) ? Qtrue : Qfalse;
}

/* Many times in a thread: get and release. */
static VALUE probe_exchange(VALUE module, VALUE object, VALUE count)
{
  rb_memory_view_t view;
  for (long k = NUM2LONG(count); k > 0; k--) {
    memset(&view, 0, sizeof view);
    if (!rb_memory_view_get(object, &view, RUBY_MEMORY_VIEW_STRIDES)) return Qfalse;
    if (!rb_memory_view_release(&view)) return Qfalse;
  }
  return Qtrue;
}

static void producer(const char *name, const rb_memory_view_entry_t *entry)
{
  VALUE class = rb_define_class_under(mProbe, name, rb_cObject);
  rb_define_alloc_func(class, lender_alloc);
  rb_define_method(class, "initialize", lender_initialize, 1);
  rb_define_method(class, "point", lender_point, 2);
  rb_define_method(class, "poke", lender_poke, 2);
  rb_memory_view_register(class, entry);
}

void Init_probe(void)
{
#ifdef HAVE_RB_EXT_RACTOR_SAFE
  rb_ext_ractor_safe(true);
#endif
  mProbe = rb_define_module("Probe");
  producer("Lender", &whole);
  producer("Mute", &mute);
  producer("Shy", &shy);
  producer("Hollow", &hollow);
  rb_define_singleton_method(mProbe, "counts", probe_counts, 0);
  rb_define_singleton_method(mProbe, "exports", probe_exports, 1);
  rb_define_singleton_method(mProbe, "get", probe_get, -1);
  rb_define_singleton_method(mProbe, "available?", probe_available, 1);
  rb_define_singleton_method(mProbe, "leak", probe_leak, 1);
  rb_define_singleton_method(mProbe, "exchange", probe_exchange, 2);
  VALUE class = rb_define_class_under(mProbe, "View", rb_cObject);
  rb_undef_alloc_func(class);
  rb_define_method(class, "fields", view_fields, 0);
  rb_define_method(class, "item", view_item, 1);
  rb_define_method(class, "poke", view_poke, 2);
  rb_define_method(class, "contiguity", view_contiguity, 0);
  rb_define_method(class, "release", view_release, 0);
  rb_define_method(class, "release_directly", view_release_directly, 0);
}
