// Loops over MemoryView's functions by Ruby's names. Compiled twice: with Ruby's header, as an extension of Ruby, and with
// Crossdock's header, which defines the same names. `cargo xtask bench` does both.

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifdef BESIDE_RUBY
#include <ruby.h>
#include <ruby/memory_view.h>
#include <time.h>

typedef VALUE object_t;
typedef VALUE item_t;

static uint64_t number(item_t item) {
  return RB_FLOAT_TYPE_P(item) ? (uint64_t)RFLOAT_VALUE(item) : (uint64_t)NUM2LL(item);
}

static uint64_t sum_of(item_t item) {
  if (!RB_TYPE_P(item, T_ARRAY)) return number(item);
  uint64_t sum = 0;
  for (long i = 0; i < RARRAY_LEN(item); ++i) sum += number(rb_ary_entry(item, i));
  return sum;
}

static void free_components(rb_memory_view_item_component_t *components, size_t length) {
  (void)length;
  xfree(components);
}
#else
#include <crossdock.h>
#include <crossdock/ruby_names.h>

typedef void *object_t;
typedef xd_value item_t;

static uint64_t number(const xd_value *item) {
  return item->kind == XD_VALUE_FLOAT ? (uint64_t)item->as.f : item->as.u;
}

static uint64_t sum_of(item_t item) {
  if (item.kind != XD_VALUE_LIST) return number(&item);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < item.len; ++i) sum += number(&item.as.items[i]);
  xd_value_free(&item);
  return sum;
}

static void free_components(rb_memory_view_item_component_t *components, size_t length) {
  xd_memory_view_free_components(components, length);
}
#endif

#define LENGTH 100

// ===== the smallest possible producer

struct source {
  const char *format;
  ssize_t item_size;
  char *items;
};

static const ssize_t shape[] = {LENGTH};
static const ssize_t strides_d[] = {8}, strides_iqc[] = {13};

static bool fill_in(object_t object, rb_memory_view_t *view, const struct source *source) {
  rb_memory_view_init_as_byte_array(view, object, source->items, LENGTH * source->item_size, false);
  view->format = source->format;
  view->item_size = source->item_size;
  view->shape = shape;
  view->strides = source->item_size == 8 ? strides_d : strides_iqc;
  return true;
}

static char items_d[LENGTH * 8], items_iqc[LENGTH * 13];
static const struct source SOURCE_D = {"d", 8, items_d}, SOURCE_IQC = {"iqc", 13, items_iqc};

static void fill_items(void) {
  for (int i = 0; i < LENGTH; ++i) {
    const double seven = 7;
    const int32_t one = 1;
    const int64_t two = 2;
    memcpy(items_d + 8 * i, &seven, 8);
    memcpy(items_iqc + 13 * i, &one, 4);
    memcpy(items_iqc + 13 * i + 4, &two, 8);
    items_iqc[13 * i + 12] = 3;
  }
}

static bool get_d(object_t object, rb_memory_view_t *view, int flags) {
  (void)flags;
  return fill_in(object, view, &SOURCE_D);
}

static bool get_iqc(object_t object, rb_memory_view_t *view, int flags) {
  (void)flags;
  return fill_in(object, view, &SOURCE_IQC);
}

static bool release(object_t object, rb_memory_view_t *view) {
  (void)object, (void)view;
  return true;
}

static bool available(object_t object) {
  (void)object;
  return true;
}

static const rb_memory_view_entry_t ENTRY_D = {get_d, release, available}, ENTRY_IQC = {get_iqc, release, available};

static object_t object_d, object_iqc;

#ifdef BESIDE_RUBY
static void make_objects(void) {
  VALUE class_d = rb_define_class("BenchD", rb_cObject), class_iqc = rb_define_class("BenchIqc", rb_cObject);
  rb_memory_view_register(class_d, &ENTRY_D);
  rb_memory_view_register(class_iqc, &ENTRY_IQC);
  rb_gc_register_address(&object_d);
  rb_gc_register_address(&object_iqc);
  object_d = rb_obj_alloc(class_d);
  object_iqc = rb_obj_alloc(class_iqc);
}
#else
static const xd_class CLASS_D = {"BenchD", NULL}, CLASS_IQC = {"BenchIqc", NULL};
static struct {
  const xd_class *klass;
} producer_d = {&CLASS_D}, producer_iqc = {&CLASS_IQC};

static void make_objects(void) {
  rb_memory_view_register(&CLASS_D, &ENTRY_D);
  rb_memory_view_register(&CLASS_IQC, &ENTRY_IQC);
  object_d = &producer_d;
  object_iqc = &producer_iqc;
}
#endif

// ===== the loops: each returns the sum of its results

static uint64_t get_and_release(uint64_t count, object_t object) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    rb_memory_view_t view;
    if (!rb_memory_view_get(object, &view, RUBY_MEMORY_VIEW_STRIDES)) return UINT64_MAX;
    sum += (uint64_t)view.byte_size;
    rb_memory_view_release(&view);
  }
  return sum;
}

static uint64_t get_items(uint64_t count, object_t object) {
  rb_memory_view_t view;
  if (!rb_memory_view_get(object, &view, RUBY_MEMORY_VIEW_SIMPLE)) return UINT64_MAX;
  uint64_t sum = 0;
  ssize_t index[] = {0};
  for (uint64_t i = 0; i < count; ++i) {
    sum += sum_of(rb_memory_view_get_item(&view, index));
    if (++*index == LENGTH) *index = 0;
  }
  rb_memory_view_release(&view);
  return sum;
}

static uint64_t parse(uint64_t count, const char *format) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    rb_memory_view_item_component_t *components;
    size_t length;
    const char *err;
    sum += (uint64_t)rb_memory_view_parse_item_format(format, &components, &length, &err) + length;
    free_components(components, length);
  }
  return sum;
}

#ifndef BESIDE_RUBY
// Crossdock's additions: arrays as objects, and items without an intermediate value.

static xd_array_t *array_of_d(void) {
  const ssize_t axis[] = {LENGTH};
  xd_dtype_t *dtype = xd_dtype_parse_pack("d", NULL);
  xd_array_t *array = xd_array_zeros(dtype, 1, axis, XD_ROW_MAJOR, NULL);
  xd_dtype_free(dtype);
  return array;
}

// Each thread has its own array until the program ends.
static uint64_t get_and_release_array(uint64_t count) {
  static _Thread_local xd_array_t *array;
  if (!array) array = array_of_d();
  return get_and_release(count, array);
}

#include "floors.h"

static uint64_t get_and_release_by_hand(uint64_t count, bool of_producer) {
  static struct hand_array array = {
    .counter = 1, .data = items_d, .ndim = 1, .item_size = 8, .byte_size = sizeof items_d, .shape = {LENGTH}, .strides = {8},
    .format = "d"};
  hand_records[1].entry = &ENTRY_D;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    rb_memory_view_t view;
    const bool got = of_producer ? by_hand_get(object_d, &view, RUBY_MEMORY_VIEW_STRIDES)
                                 : by_hand_get_array(&array, &view, RUBY_MEMORY_VIEW_STRIDES);
    if (!got) return UINT64_MAX;
    sum += (uint64_t)view.byte_size;
    by_hand_release(&view);
  }
  return sum;
}

static uint64_t parse_by_hand(uint64_t count, const char *format) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    rb_memory_view_item_component_t *components;
    size_t length;
    sum += (uint64_t)by_hand_parse(format, &components, &length) + length;
    free(components);
  }
  return sum;
}

typedef ssize_t read_item_t(const xd_memory_view_t *, const ssize_t *, xd_value *, size_t);

static uint64_t read_items(uint64_t count, object_t object, read_item_t *read_item) {
  xd_memory_view_t view;
  if (!xd_memory_view_get(object, &view, XD_MEMORY_VIEW_SIMPLE)) return UINT64_MAX;
  uint64_t sum = 0;
  ssize_t index[] = {0};
  for (uint64_t i = 0; i < count; ++i) {
    xd_value members[3];
    const ssize_t length = read_item(&view, index, members, 3);
    for (ssize_t m = 0; m < length; ++m) sum += number(&members[m]);
    if (++*index == LENGTH) *index = 0;
  }
  xd_memory_view_release(&view);
  return sum;
}
#endif

static uint64_t run(const char *name, uint64_t count) {
  if (!strcmp(name, "get")) return get_and_release(count, object_d);
  if (!strcmp(name, "item-d")) return get_items(count, object_d);
  if (!strcmp(name, "item-iqc")) return get_items(count, object_iqc);
  if (!strcmp(name, "parse-d")) return parse(count, "d");
  if (!strcmp(name, "parse-iqc")) return parse(count, "iqc");
  if (!strcmp(name, "parse-long")) return parse(count, "ccc2f3x2d4q!<");
#ifndef BESIDE_RUBY
  if (!strcmp(name, "get-array")) return get_and_release_array(count);
  if (!strcmp(name, "read-d")) return read_items(count, object_d, xd_memory_view_read_item);
  if (!strcmp(name, "read-iqc")) return read_items(count, object_iqc, xd_memory_view_read_item);
  if (!strcmp(name, "hand-get-array")) return get_and_release_by_hand(count, false);
  if (!strcmp(name, "hand-get")) return get_and_release_by_hand(count, true);
  if (!strcmp(name, "hand-read-d")) return read_items(count, object_d, by_hand_read);
  if (!strcmp(name, "hand-read-iqc")) return read_items(count, object_iqc, by_hand_read);
  if (!strcmp(name, "hand-parse-iqc")) return parse_by_hand(count, "iqc");
#endif
  return UINT64_MAX;
}

static void begin(void) {
  fill_items();
  make_objects();
}

#ifdef BESIDE_RUBY
static VALUE timed(VALUE self, VALUE name, VALUE count) {
  (void)self;
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  const uint64_t sum = run(StringValueCStr(name), NUM2ULL(count));
  clock_gettime(CLOCK_MONOTONIC, &end);
  const long long ns = (end.tv_sec - start.tv_sec) * 1000000000LL + (end.tv_nsec - start.tv_nsec);
  return rb_ary_new_from_args(2, LL2NUM(ns), ULL2NUM(sum));
}

void Init_views(void) {
  begin();
  rb_define_singleton_method(rb_define_module("Views"), "run", timed, 2);
}
#else
// `Functions` in `bench/src/c_interface.rs` is the same, field by field.
__attribute__((visibility("default"))) const struct {
  void (*begin)(void);
  uint64_t (*run)(const char *name, uint64_t count);
} crossdock_bench_views = {begin, run};
#endif
