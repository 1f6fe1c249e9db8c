/* MemoryView: producers and consumers, and their errors. */

#include "check.h"

/* ----- a producer: a grid of doubles whose rows are apart ----- */

typedef struct grid {
  const xd_class *cls;
  double *items;
  ssize_t shape[2], strides[2];
  int gets, releases;
} grid;

static const xd_class grid_class = {"grid", NULL};
static const xd_class small_grid_class = {"small grid", &grid_class};

static bool grid_get(void *obj, xd_memory_view_t *view, int flags)
{
  grid *self = obj;
  (void)flags;
  xd_memory_view_init_as_byte_array(view, obj, self->items, self->shape[0] * self->strides[0], false);
  view->format = "d";
  view->item_size = 8;
  view->ndim = 2;
  view->shape = self->shape;
  view->strides = self->strides;
  view->private_data = self;
  self->gets++;
  return true;
}

static bool grid_release(void *obj, xd_memory_view_t *view)
{
  grid *self = obj;
  self->releases++;
  return view->private_data == obj;
}

static bool grid_available(void *obj)
{
  return ((grid *)obj)->items != NULL;
}

static const xd_memory_view_entry_t grid_entry = {grid_get, grid_release, grid_available};

static double grid_items[12] = {0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1};

static grid new_grid(const xd_class *cls)
{
  grid made = {cls, grid_items, {3, 3}, {32, 8}, 0, 0};
  return made;
}

static void registered(void)
{
  grid one = new_grid(&grid_class), small = new_grid(&small_grid_class);
  xd_memory_view_t view;

  CHECK(!xd_memory_view_available_p(&one) && !xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_SIMPLE));
  CHECK(strstr(xd_last_refusal(), "grid") != NULL);
  CHECK(xd_memory_view_register(&grid_class, &grid_entry));
  CHECK(!xd_memory_view_register(&grid_class, &grid_entry));
  CHECK(strstr(xd_last_refusal(), "already") != NULL);
  CHECK(!xd_memory_view_register(xd_array_class(), &grid_entry));

  memset(&view, 0xaa, sizeof view);
  CHECK(xd_memory_view_available_p(&one) && xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_STRIDES | XD_MEMORY_VIEW_FORMAT));
  CHECK(view.obj == &one && view.ndim == 2 && view.shape[0] == 3 && view.strides[0] == 32 && !view.readonly);
  CHECK(view.item_desc.length == 1 && view.item_desc.components[0].format == 'd' && view.item_desc.components[0].size == 8);
  CHECK(xd_memory_view_exports(&one) == 1);

  ssize_t index[] = {2, 1}, outside[] = {2, 3}, negative[] = {-1, 0};
  xd_value value = xd_memory_view_get_item(&view, index);
  CHECK(value.kind == XD_VALUE_FLOAT && value.as.f == 7);
  CHECK(xd_memory_view_get_item_pointer(&view, index) == &grid_items[9]);
  CHECK(xd_memory_view_get_item_pointer(&view, outside) == NULL);
  CHECK(strstr(xd_last_refusal(), "index 3") != NULL);
  CHECK(xd_memory_view_get_item(&view, negative).kind == XD_VALUE_NIL);
  CHECK(strstr(xd_last_refusal(), "index -1") != NULL);
  CHECK(xd_memory_view_read_item(&view, index, &value, 1) == 1 && value.as.f == 7);
  CHECK(xd_memory_view_read_item(&view, outside, &value, 1) == -1);
  CHECK(!xd_memory_view_is_contiguous(&view));

  /* Release works, whatever the consumer wrote into the struct. */
  view.private_data = NULL;
  view.obj = &view;
  view.shape = NULL;
  CHECK(xd_memory_view_release(&view) && one.releases == 1 && xd_memory_view_exports(&one) == 0);

  /* A class inherits its producer. After a refusal the struct is unchanged. */
  memset(&view, 0xaa, sizeof view);
  xd_memory_view_t copy = view;
  CHECK(!xd_memory_view_get(&small, &view, XD_MEMORY_VIEW_ROW_MAJOR));
  CHECK(memcmp(&view, &copy, sizeof view) == 0 && small.gets == small.releases);
  CHECK(xd_memory_view_get(&small, &view, XD_MEMORY_VIEW_SIMPLE) && xd_memory_view_release(&view));
  small.items = NULL;
  CHECK(!xd_memory_view_available_p(&small));

  /* A view outlives its producer's registration. */
  CHECK(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_SIMPLE));
  CHECK(xd_memory_view_unregister(&grid_class) && !xd_memory_view_unregister(&grid_class));
  CHECK(xd_memory_view_release(&view) && one.releases == one.gets);
  CHECK(!xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_SIMPLE));
}

static void imported(void)
{
  grid one = new_grid(&grid_class);
  CHECK(xd_memory_view_register(&grid_class, &grid_entry));
  xd_array_t *array = xd_array_from_object(&one, XD_MEMORY_VIEW_WRITABLE, &error);
  CHECK(array != NULL && !xd_array_is_readonly(array) && xd_array_address(array) == (uintptr_t)grid_items);
  xd_array_t *row = xd_array_at(array, "1", &error);
  xd_array_free(array);
  ssize_t index[] = {2};
  xd_value value;
  CHECK(xd_array_get(row, index, &value, &error) && value.as.f == 5 && one.releases == 0);
  xd_array_free(row);
  CHECK(one.gets == 1 && one.releases == 1);
  CHECK(xd_array_from_object(&one, XD_MEMORY_VIEW_COLUMN_MAJOR, &error) == NULL);
  CHECK_ERROR(XD_ERROR_LAYOUT, "[32, 8]");
  CHECK(xd_memory_view_unregister(&grid_class));
}

/* ----- producers with errors ----- */

static int bad;

static bool bad_get(void *obj, xd_memory_view_t *view, int flags)
{
  static const ssize_t negative[] = {-1, 3}, far_shape[] = {2, 3}, far_strides[] = {(ssize_t)1 << 40, 8};
  if (!grid_get(obj, view, flags))
    return false;
  switch (bad) {
  case 0: return false;
  case 1: view->shape = negative; break;
  case 2: view->item_size = 4; break;
  case 3: view->format = "d<>"; break;
  case 4: view->ndim = -1; break;
  case 5: view->data = NULL; break;
  case 6: view->byte_size = -8; break;
  /* 48 bytes of items with an extent above 2^40: a size of 64 is neither. */
  case 7: view->byte_size = 64; view->shape = far_shape; view->strides = far_strides; break;
  case 8: view->data = (void *)(intptr_t)-64; break;
  case 9: view->data = (void *)INTPTR_MAX; break;
  }
  return true;
}

static void refused(void)
{
  static const xd_class bad_class = {"bad", NULL};
  static const xd_memory_view_entry_t bad_entry = {bad_get, grid_release, NULL};
  grid one = new_grid(&bad_class);
  xd_memory_view_t view, before;
  memset(&before, 0x55, sizeof before);

  CHECK(xd_memory_view_register(&bad_class, &bad_entry) && xd_memory_view_available_p(&one));
  for (bad = 0; bad <= 9; bad++) {
    view = before;
    CHECK(!xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_SIMPLE));
    CHECK(memcmp(&view, &before, sizeof view) == 0 && strlen(xd_last_refusal()) > 10);
  }
  /* Invalid views were released; refused ones were not. */
  CHECK(one.gets == 10 && one.releases == 9 && xd_memory_view_exports(&one) == 0);
  CHECK(xd_memory_view_unregister(&bad_class));
}

/* ----- a producer that forwards requests ----- */

typedef struct window {
  const xd_class *cls;
  void *of;
} window;

static bool window_get(void *obj, xd_memory_view_t *view, int flags)
{
  window *self = obj;
  return self->of != NULL && xd_memory_view_get(self->of, view, flags);
}

static void passed_on(void)
{
  static const xd_class window_class = {"window", NULL};
  static const xd_memory_view_entry_t window_entry = {window_get, NULL, NULL};
  grid one = new_grid(&grid_class);
  window on_grid = {&window_class, &one}, on_window = {&window_class, &on_grid}, on_nothing = {&window_class, NULL};
  xd_memory_view_t view;
  CHECK(xd_memory_view_register(&grid_class, &grid_entry) && xd_memory_view_register(&window_class, &window_entry));
  CHECK_REFUSED(xd_memory_view_get(&on_window, &view, XD_MEMORY_VIEW_ROW_MAJOR), "the class grid: ROW_MAJOR");
  CHECK(strstr(xd_last_refusal(), "[32, 8]") != NULL && strstr(xd_last_refusal(), "the class window: ") == xd_last_refusal());
  CHECK(xd_array_from_object(&on_grid, XD_MEMORY_VIEW_COLUMN_MAJOR, &error) == NULL);
  CHECK_ERROR(XD_ERROR_REFUSED, "the class grid: COLUMN_MAJOR");
  CHECK_REFUSED(xd_memory_view_get(&on_nothing, &view, XD_MEMORY_VIEW_SIMPLE), "without a reason");
  CHECK(one.gets == one.releases && xd_memory_view_unregister(&window_class) && xd_memory_view_unregister(&grid_class));
}

/* ----- arrays are objects ----- */

static void arrays(void)
{
  ssize_t shape[] = {2, 2}, index[] = {1, 0};
  xd_dtype_t *dtype = xd_dtype_parse_pack("|iqc", &error);
  xd_array_t *array = xd_array_zeros(dtype, 2, shape, XD_ROW_MAJOR, &error);
  xd_memory_view_t view, constant;
  CHECK(*(const xd_class **)array == xd_array_class());
  CHECK(xd_memory_view_get(array, &view, XD_MEMORY_VIEW_WRITABLE));
  CHECK(xd_memory_view_get(array, &constant, XD_MEMORY_VIEW_SIMPLE) && constant.readonly && !view.readonly);
  CHECK(xd_memory_view_exports(array) == 2 && view.item_size == 24 && view.item_desc.length == 3);
  CHECK(xd_memory_view_is_row_major_contiguous(&view) && !xd_memory_view_is_column_major_contiguous(&view));

  xd_value members[3] = {{XD_VALUE_INT, {0}, 0, {-1}}, {XD_VALUE_INT, {0}, 0, {1}}, {XD_VALUE_INT, {0}, 0, {7}}};
  xd_value list = {XD_VALUE_LIST, {0}, 3, {0}}, got[4];
  list.as.items = members;
  CHECK(xd_memory_view_set_item(&view, index, &list, &error));
  CHECK(!xd_memory_view_set_item(&constant, index, &list, &error));
  CHECK_ERROR(XD_ERROR_READ_ONLY, "XD_MEMORY_VIEW_WRITABLE");
  members[2].as.i = 1000;
  members[0].as.i = 5;
  CHECK(!xd_memory_view_set_item(&view, index, &list, &error));
  CHECK_ERROR(XD_ERROR_VALUE, "1000");
  list.len = 2;
  CHECK(!xd_memory_view_set_item(&view, index, &list, &error));
  CHECK_ERROR(XD_ERROR_VALUE, "2");
  CHECK(!xd_memory_view_set_item(&view, index, &members[0], &error));
  CHECK_ERROR(XD_ERROR_VALUE, "");

  CHECK(xd_memory_view_read_item(&view, index, got, 4) == 3 && got[0].as.i == -1 && got[1].as.i == 1 && got[2].as.i == 7);
  CHECK(xd_memory_view_read_item(&view, index, got, 1) == 3 && xd_memory_view_read_item(&view, index, NULL, 0) == 3);
  xd_value item = xd_memory_view_get_item(&constant, index);
  CHECK(item.kind == XD_VALUE_LIST && item.len == 3 && item.as.items[2].as.i == 7);
  xd_value_free(&item);

  /* A view alone keeps the memory alive. */
  xd_array_free(array);
  xd_dtype_free(dtype);
  CHECK(xd_memory_view_read_item(&view, index, got, 4) == 3);
  CHECK(xd_memory_view_release(&view) && xd_memory_view_release(&constant));

  /* A dtype without a template is refused, or approximated by numbers. */
  dtype = xd_dtype_parse("<c16", &error);
  array = xd_array_zeros(dtype, 1, shape, XD_ROW_MAJOR, &error);
  CHECK(!xd_memory_view_get(array, &view, XD_MEMORY_VIEW_SIMPLE) && strstr(xd_last_refusal(), "complex128") != NULL);
  xd_array_t *told = xd_array_approximated(array, &error);
  CHECK(xd_memory_view_get(told, &view, XD_MEMORY_VIEW_SIMPLE) && strcmp(view.format, "dd") == 0);
  CHECK(xd_memory_view_release(&view));
  xd_array_free(told);
  xd_array_free(array);
  xd_dtype_free(dtype);
}

/* ----- structs filled in by the caller ----- */

static void by_hand(void)
{
  unsigned char bytes[24] = {1, 2, 0, 0, 0, 0, 0, 0, 0xff};
  xd_memory_view_t view;
  ssize_t one[] = {1}, end[] = {24}, shape[] = {4, 3, 2}, strides[3];

  CHECK(xd_memory_view_init_as_byte_array(&view, NULL, bytes, 24, true) && view.reserved == NULL);
  CHECK(xd_memory_view_get_item(&view, one).as.u == 2 && xd_memory_view_get_item(&view, end).kind == XD_VALUE_NIL);
  CHECK(xd_memory_view_is_contiguous(&view) && xd_memory_view_is_row_major_contiguous_strictly(&view));
  CHECK(!xd_memory_view_init_as_byte_array(&view, NULL, bytes, -1, true));

  view.format = "l";
  view.item_size = 4;
  xd_value value = {XD_VALUE_INT, {0}, 0, {-2}};
  CHECK(!xd_memory_view_set_item(&view, one, &value, &error));
  CHECK_ERROR(XD_ERROR_READ_ONLY, "");
  view.readonly = false;
  CHECK(xd_memory_view_set_item(&view, one, &value, &error) && bytes[4] == 0xfe);
  CHECK(view.item_desc.components == NULL && xd_memory_view_get_item(&view, one).as.i == -2);
  CHECK(xd_memory_view_prepare_item_desc(&view) && view.item_desc.length == 1);
  CHECK(xd_memory_view_get_item(&view, one).as.i == -2);
  xd_memory_view_free_components(view.item_desc.components, view.item_desc.length);

  /* Items that claim to be smaller than their format. */
  view.item_desc.components = NULL;
  view.item_size = 2;
  CHECK(xd_memory_view_get_item(&view, one).kind == XD_VALUE_NIL && strlen(xd_last_refusal()) > 0);
  view.format = "l?";
  CHECK(!xd_memory_view_prepare_item_desc(&view) && strstr(xd_last_refusal(), "byte 1") != NULL);

  CHECK(xd_memory_view_fill_contiguous_strides(3, 8, shape, false, strides));
  CHECK(strides[0] == 8 && strides[1] == 32 && strides[2] == 96);
}

static void formats(void)
{
  xd_memory_view_item_component_t *components = NULL, wrong;
  size_t n = 99;
  const char *err = "set", *format = "fx2d";
  CHECK(xd_memory_view_parse_item_format(format, &components, &n, &err) == 14 && n == 2 && err == NULL);
  unsigned char item[14] = {0, 0, 0xc0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40};
  CHECK(xd_memory_view_extract_item_members(item, components, 0).kind == XD_VALUE_NIL);
  memset(&wrong, 0xee, sizeof wrong);
  CHECK(xd_memory_view_extract_item_members(item, &wrong, 1).kind == XD_VALUE_NIL);
  wrong = components[0];
  wrong.repeat = SIZE_MAX;
  CHECK(xd_memory_view_extract_item_members(item, &wrong, 1).kind == XD_VALUE_NIL);
  xd_memory_view_free_components(components, n);

  format = "ccc4a";
  CHECK(xd_memory_view_parse_item_format(format, &components, &n, &err) == -1 && err == format + 4);
  CHECK(xd_memory_view_item_size_from_format(format, NULL) == -1);
  CHECK(xd_memory_view_item_size_from_format("|iqc", &err) == 24 && err == NULL);
  n = 99;
  CHECK(xd_memory_view_parse_item_format("x3", &components, &n, NULL) == 3 && n == 0 && components == NULL);
  n = 99;
  CHECK(xd_memory_view_parse_item_format(NULL, &components, &n, NULL) == 1 && n == 99);
}

int main(void)
{
  registered();
  imported();
  refused();
  passed_on();
  arrays();
  by_hand();
  formats();
  return 0;
}
