/* Code for Ruby's ruby/memory_view.h: a producer of pairs, and a consumer of any object. */

#include <crossdock/ruby_names.h>

#include "check.h"

typedef struct {
  const xd_class *klass;
  int16_t pairs[4][2];
} Pairs;

static const xd_class cPairs = {"Pairs", NULL};

static const ssize_t pairs_shape[1] = {4};

static bool pairs_get(VALUE obj, rb_memory_view_t *view, int flags)
{
  Pairs *self = (Pairs *)obj;
  const char *err;
  rb_memory_view_item_component_t *components;
  (void)flags;
  view->obj = obj;
  view->data = self->pairs;
  view->byte_size = sizeof self->pairs;
  view->readonly = true;
  view->format = "ss>";
  view->item_size = rb_memory_view_parse_item_format(view->format, &components, &view->item_desc.length, &err);
  view->item_desc.components = components;
  view->ndim = 1;
  view->shape = pairs_shape;
  view->strides = &view->item_size;
  view->sub_offsets = NULL;
  view->private_data = components;
  view->_memory_view_entry = NULL;
  return true;
}

static bool pairs_release(VALUE obj, rb_memory_view_t *view)
{
  (void)obj;
  xfree(view->private_data);
  return true;
}

static bool pairs_available_p(VALUE obj)
{
  return obj != NULL;
}

static const rb_memory_view_entry_t entry = {pairs_get, pairs_release, pairs_available_p};
static const rb_memory_view_get_func_t get_func = pairs_get;

/* Bytes without format, shape and strides, as Ruby permits. */
static bool bytes_get(VALUE obj, rb_memory_view_t *view, int flags)
{
  (void)flags;
  rb_memory_view_init_as_byte_array(view, obj, ((Pairs *)obj)->pairs, 16, true);
  return view->format == NULL && view->shape == NULL && view->strides == NULL;
}

static const xd_class cBytes = {"Bytes", NULL};
static const rb_memory_view_entry_t bytes_entry = {bytes_get, NULL, NULL};

/* What crossdock/ruby_names.h says of views. */
static void a_view_always_has_a_format_a_shape_and_strides(void)
{
  Pairs object = {&cBytes, {{1, 2}}};
  rb_memory_view_t view;
  CHECK(rb_memory_view_register((VALUE)&cBytes, &bytes_entry) && rb_memory_view_get(&object, &view, RUBY_MEMORY_VIEW_SIMPLE));
  CHECK(view.format != NULL && view.shape != NULL && view.shape[0] == 16 && view.strides != NULL && view.strides[0] == 1);
  CHECK(view.item_size == 1 && view.item_desc.length == 1 && view.item_desc.components != NULL && view.sub_offsets == NULL);
  CHECK(rb_memory_view_release(&view));
}

int main(void)
{
  a_view_always_has_a_format_a_shape_and_strides();
  Pairs object = {&cPairs, {{1, 2}, {3, 4}, {5, 6}, {7, 0x0801}}};
  VALUE obj = (VALUE)&object;
  rb_memory_view_t view;
  ssize_t last = 3, beyond = 4;

  CHECK(get_func == entry.get_func && rb_memory_view_register((VALUE)&cPairs, &entry));
  CHECK(rb_memory_view_available_p(obj));
  CHECK(rb_memory_view_get(obj, &view, RUBY_MEMORY_VIEW_FORMAT | RUBY_MEMORY_VIEW_STRIDES));
  CHECK(rb_memory_view_is_contiguous(&view) && rb_memory_view_is_row_major_contiguous(&view));
  rb_memory_view_prepare_item_desc(&view);
  CHECK(view.item_desc.length == 2 && rb_memory_view_item_size_from_format(view.format, NULL) == 4);
  xd_value item = rb_memory_view_get_item(&view, &last);
  CHECK(item.len == 2 && item.as.items[0].as.i == 7 && item.as.items[1].as.i == 0x0108);
  xd_value_free(&item);
  item = rb_memory_view_extract_item_members(rb_memory_view_get_item_pointer(&view, &last), view.item_desc.components, 2);
  CHECK(item.len == 2 && item.as.items[0].as.i == 7);
  xd_value_free(&item);
  CHECK(rb_memory_view_get_item_pointer(&view, &beyond) == NULL);
  CHECK(rb_memory_view_release(&view) && !rb_memory_view_release(&view));
  CHECK(!rb_memory_view_get(obj, &view, RUBY_MEMORY_VIEW_WRITABLE));
  CHECK(strstr(xd_last_refusal(), "read-only") != NULL);

  rb_memory_view_init_as_byte_array(&view, obj, object.pairs, sizeof object.pairs, true);
  CHECK(view.ndim == 1 && rb_memory_view_is_column_major_contiguous(&view));
  rb_memory_view_item_component_t *constant = NULL, *single = NULL;
  size_t n;
  CHECK(rb_memory_view_parse_item_format("d", &constant, &n, NULL) == 8 && rb_memory_view_parse_item_format("d2", &single, &n, NULL) == 16);
  xfree(constant);
  xfree(single);
  xfree(malloc(sizeof *constant));
  ssize_t shape[] = {2, 3}, strides[2];
  rb_memory_view_fill_contiguous_strides(2, 4, shape, true, strides);
  CHECK(strides[0] == 12 && strides[1] == 4);
  return 0;
}
