/* The known bugs of the original, one function each: what crashes there, or comes out wrong, is answered soundly here. Writes the id of
 * each. */

#include <pthread.h>
#include <stddef.h>

#include "check.h"

/* ----- a producer that says what it is told, and counts ----- */

typedef struct lender {
  const xd_class *cls;
  xd_memory_view_t says;
  int gets, releases;
} lender;

static const xd_class lender_class = {"lender", NULL};

static bool lender_get(void *obj, xd_memory_view_t *view, int flags)
{
  lender *self = obj;
  (void)flags;
  *view = self->says;
  self->gets++;
  return true;
}

static bool lender_release(void *obj, xd_memory_view_t *view)
{
  ((lender *)obj)->releases++;
  return view->obj == obj;
}

static const xd_memory_view_entry_t lender_entry = {lender_get, lender_release, NULL};

/* Lends bytes. It has to stay where it is. */
static void lend(lender *self, void *bytes, ssize_t nbytes, bool readonly)
{
  memset(self, 0, sizeof *self);
  self->cls = &lender_class;
  CHECK(xd_memory_view_init_as_byte_array(&self->says, self, bytes, nbytes, readonly));
}

static xd_array_t *ramp(const char *typestr, ssize_t len)
{
  xd_dtype_t *dtype = xd_dtype_parse(typestr, &error);
  xd_array_t *array = xd_array_zeros(dtype, 1, &len, XD_ROW_MAJOR, &error);
  CHECK(array != NULL);
  for (ssize_t i = 0; i < len; i++) {
    xd_value value = {XD_VALUE_INT, {0}, 0, {i}};
    CHECK(xd_array_set(array, &i, &value, &error));
  }
  xd_dtype_free(dtype);
  return array;
}

static xd_memory_view_t of_bytes(void *bytes, ssize_t nbytes)
{
  xd_memory_view_t view;
  CHECK(xd_memory_view_init_as_byte_array(&view, NULL, bytes, nbytes, false));
  return view;
}

/* No function finds an item there. */
static void check_outside(const xd_memory_view_t *view, const ssize_t *index, const char *words)
{
  xd_value value = {XD_VALUE_INT, {0}, 0, {1}};
  CHECK_REFUSED(xd_memory_view_get_item_pointer(view, index) != NULL, words);
  CHECK_REFUSED(xd_memory_view_get_item(view, index).kind != XD_VALUE_NIL, words);
  CHECK_REFUSED(xd_memory_view_read_item(view, index, &value, 1) != -1, words);
  CHECK(!xd_memory_view_set_item(view, index, &value, &error));
  CHECK_ERROR(XD_ERROR_BOUNDS, words);
}

/* ----- the bugs ----- */

static void null_strides(void)
{
  unsigned char bytes[6] = {0};
  ssize_t shape[] = {2, 3};
  xd_memory_view_t view = of_bytes(bytes, 6);
  CHECK(view.strides == NULL && xd_memory_view_is_contiguous(&view));
  CHECK(xd_memory_view_is_row_major_contiguous(&view) && xd_memory_view_is_column_major_contiguous(&view));
  CHECK(xd_memory_view_is_row_major_contiguous_strictly(&view) && xd_memory_view_is_column_major_contiguous_strictly(&view));
  view.ndim = 2;
  CHECK(xd_memory_view_is_row_major_contiguous(&view)); /* without a shape, either */
  view.shape = shape;
  CHECK(xd_memory_view_is_contiguous(&view) && xd_memory_view_is_row_major_contiguous_strictly(&view));
  CHECK(!xd_memory_view_is_column_major_contiguous(&view) && !xd_memory_view_is_column_major_contiguous_strictly(&view));
}

static void white_space(void)
{
  static const char *const spelt[] = {"f x2 d", " f\tx2\n d ", "\v\ff x2\rd"};
  unsigned char item[14] = {0, 0, 0xc0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40};
  for (size_t k = 0; k < COUNT(spelt); k++) {
    xd_memory_view_item_component_t *components;
    size_t n;
    const char *err = "set";
    CHECK(xd_memory_view_item_size_from_format(spelt[k], &err) == 14 && err == NULL);
    CHECK(xd_memory_view_parse_item_format(spelt[k], &components, &n, &err) == 14 && n == 2 && err == NULL);
    CHECK(components[0].format == 'f' && components[0].offset == 0 && components[0].repeat == 1);
    CHECK(components[1].format == 'd' && components[1].offset == 6 && components[1].little_endian_p);
    xd_value value = xd_memory_view_extract_item_members(item, components, n);
    CHECK(value.kind == XD_VALUE_LIST && value.len == 2 && value.as.items[0].as.f == 1.5 && value.as.items[1].as.f == 2);
    xd_value_free(&value);
    xd_memory_view_free_components(components, n);

    xd_memory_view_t view = of_bytes(item, 14);
    ssize_t first[] = {0};
    view.format = spelt[k];
    view.item_size = 14;
    value = xd_memory_view_get_item(&view, first);
    CHECK(value.len == 2 && value.as.items[1].as.f == 2);
    xd_value_free(&value);
    CHECK(xd_memory_view_prepare_item_desc(&view) && view.item_desc.length == 2);
    xd_memory_view_free_components(view.item_desc.components, view.item_desc.length);
  }
}

static void no_class(void)
{
  static const xd_class alone = {NULL, NULL}, cyclic[2] = {{"a", &cyclic[1]}, {"b", &cyclic[0]}};
  const xd_class *nothing = NULL, *basic = &alone, *lost = &cyclic[0];
  const struct {
    void *obj;
    const char *words;
  } objects[] = {{&nothing, "class"}, {&basic, "producer"}, {&lost, "inherit"}, {NULL, "null"}};
  for (size_t k = 0; k < COUNT(objects); k++) {
    xd_memory_view_t view, before;
    memset(&before, 0x55, sizeof before);
    view = before;
    CHECK(!xd_memory_view_available_p(objects[k].obj) && xd_memory_view_exports(objects[k].obj) == 0);
    CHECK_REFUSED(xd_memory_view_get(objects[k].obj, &view, XD_MEMORY_VIEW_SIMPLE), objects[k].words);
    CHECK(memcmp(&view, &before, sizeof view) == 0);
    CHECK(xd_array_from_object(objects[k].obj, XD_MEMORY_VIEW_SIMPLE, &error) == NULL);
    CHECK(xd_error_kind(error) != XD_ERROR_NONE && xd_error_kind(error) != XD_ERROR_INTERNAL);
    xd_error_free(error);
    error = NULL;
  }
  CHECK_REFUSED(xd_memory_view_register(NULL, &lender_entry), "null");
  CHECK(!xd_memory_view_unregister(NULL));
}

static void empty_axis(void)
{
  unsigned char bytes[8] = {0};
  ssize_t shape[] = {2, 0, 3}, strides[] = {9, 9, 9}, first[] = {0, 0, 0};
  xd_memory_view_t view = of_bytes(bytes, 0);
  view.ndim = 3;
  view.shape = shape;
  check_outside(&view, first, "axis 1 of length 0");
  CHECK(xd_memory_view_is_row_major_contiguous(&view) && xd_memory_view_is_row_major_contiguous_strictly(&view));
  CHECK(xd_memory_view_fill_contiguous_strides(3, 8, shape, true, strides));
  CHECK(strides[0] == 0 && strides[1] == 24 && strides[2] == 8);

  /* A producer that leaves the strides to the hub. */
  lender one;
  lend(&one, bytes, 0, false);
  one.says.ndim = 3;
  one.says.shape = shape;
  CHECK(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_STRIDES) && view.strides != NULL && view.shape[1] == 0);
  check_outside(&view, first, "axis 1 of length 0");
  CHECK(xd_memory_view_release(&view));
}

static void one_axis_indirect(void)
{
  static char words[] = "abcdefgh";
  char *table[] = {words, words + 4, NULL};
  ssize_t shape[] = {3}, strides[] = {sizeof table[0]}, sub_offsets[] = {3}, index[] = {1}, last[] = {2};
  xd_memory_view_t view = of_bytes(table, sizeof table);
  view.shape = shape;
  view.strides = strides;
  view.sub_offsets = sub_offsets;
  CHECK(xd_memory_view_get_item_pointer(&view, index) == words + 7 && xd_memory_view_get_item(&view, index).as.u == 'h');
  CHECK_REFUSED(xd_memory_view_get_item_pointer(&view, last) != NULL, "the pointer at index 2 is null");

  lender one;
  lend(&one, table, sizeof table, true);
  shape[0] = 2;
  one.says.shape = shape;
  one.says.strides = strides;
  one.says.sub_offsets = sub_offsets;
  CHECK_REFUSED(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_STRIDES), "INDIRECT");
  CHECK(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_INDIRECT) && view.sub_offsets[0] == 3);
  CHECK(xd_memory_view_get_item(&view, index).as.u == 'h' && !xd_memory_view_is_contiguous(&view));
  CHECK(xd_memory_view_release(&view));
}

static void overflow(void)
{
  static const struct {
    const char *format;
    int place;
  } formats[] = {{"c9223372036854775808", 0},    {"c18446744073709551615", 0},  {"cc18446744073709551616", 1},
                 {"cq2305843009213693952", 1},   {"c99999999999999999999", 0},  {"x9223372036854775807x", 20},
                 {"|c9223372036854775807q", 21}, {"c9223372036854775807 c", 21}};
  unsigned char bytes[8] = {0};
  for (size_t k = 0; k < COUNT(formats); k++) {
    const char *format = formats[k].format, *place = format + formats[k].place, *err = "not set";
    xd_memory_view_item_component_t *components = NULL;
    size_t n = 99;
    char words[32];
    CHECK(xd_memory_view_item_size_from_format(format, &err) == -1 && err == place);
    err = "not set";
    CHECK(xd_memory_view_parse_item_format(format, &components, &n, &err) == -1 && err == place);
    CHECK(xd_memory_view_parse_item_format(format, &components, &n, NULL) == -1 && components == NULL && n == 99);
    xd_memory_view_t view = of_bytes(bytes, 8);
    view.format = format;
    snprintf(words, sizeof words, "byte %d", formats[k].place);
    CHECK_REFUSED(xd_memory_view_prepare_item_desc(&view), words);
    CHECK(view.item_desc.components == NULL);
    lender one;
    lend(&one, bytes, 8, true);
    one.says.format = format;
    CHECK_REFUSED(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_SIMPLE), words);
  }
  ssize_t shape[] = {2, (ssize_t)1 << 40, (ssize_t)1 << 40}, strides[] = {7, 7, 7};
  CHECK_REFUSED(xd_memory_view_fill_contiguous_strides(3, 8, shape, true, strides), "");
  shape[1] = -1;
  CHECK_REFUSED(xd_memory_view_fill_contiguous_strides(3, 8, shape, false, strides), "-1");
  CHECK(strides[0] == 7 && strides[1] == 7 && strides[2] == 7);
}

static void second_release(void)
{
  static const xd_class quiet_class = {"quiet", NULL};
  static const xd_memory_view_entry_t quiet_entry = {lender_get, NULL, NULL};
  unsigned char bytes[26] = {0};
  lender loud, quiet;
  CHECK(xd_memory_view_register(&quiet_class, &quiet_entry));
  lend(&loud, bytes, 26, false);
  lend(&quiet, bytes, 26, false);
  quiet.cls = &quiet_class;
  lender *both[] = {&loud, &quiet};
  for (size_t k = 0; k < COUNT(both); k++) {
    both[k]->says.format = "iqc"; /* components that are no constants */
    both[k]->says.item_size = 13;
    xd_memory_view_t view;
    CHECK(xd_memory_view_get(both[k], &view, XD_MEMORY_VIEW_FORMAT) && xd_memory_view_exports(both[k]) == 1);
    CHECK(xd_memory_view_prepare_item_desc(&view) && view.item_desc.length == 3);
    xd_memory_view_t copy = view, other;
    CHECK(xd_memory_view_release(&view));
    CHECK(view.item_desc.components == NULL && view.shape == NULL && view.obj == NULL && view.reserved == NULL);
    CHECK_REFUSED(xd_memory_view_release(&view), "released");
    CHECK_REFUSED(xd_memory_view_release(&copy), "released before");
    CHECK(xd_memory_view_exports(both[k]) == 0);
    /* The copy is not taken for the next view, either. */
    CHECK(xd_memory_view_get(both[k], &other, XD_MEMORY_VIEW_FORMAT));
    CHECK_REFUSED(xd_memory_view_release(&copy), "released before");
    CHECK(xd_memory_view_exports(both[k]) == 1 && xd_memory_view_release(&other) && xd_memory_view_exports(both[k]) == 0);
  }
  CHECK(loud.gets == 2 && loud.releases == 2 && xd_memory_view_unregister(&quiet_class));
  xd_memory_view_t by_hand = of_bytes(bytes, 26);
  by_hand.obj = &loud;
  CHECK_REFUSED(xd_memory_view_release(&by_hand), "not given");
  CHECK(loud.releases == 2 && xd_memory_view_exports(&loud) == 0);
}

/* Writes what it cannot do without, or less. */
static bool sparing_get(void *obj, xd_memory_view_t *view, int flags)
{
  lender *self = obj;
  (void)flags;
  self->gets++;
  view->data = self->says.data;
  if (self->says.item_size == 0)
    return true;
  view->byte_size = self->says.byte_size;
  view->item_size = self->says.item_size;
  view->ndim = 1;
  return true;
}

static void uninitialised(void)
{
  static const xd_class sparing_class = {"sparing", NULL};
  static const xd_memory_view_entry_t sparing_entry = {sparing_get, NULL, NULL};
  unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  ssize_t last[] = {3};
  lender one;
  xd_memory_view_t view, garbage;
  CHECK(xd_memory_view_register(&sparing_class, &sparing_entry));
  lend(&one, bytes, 8, true);
  one.cls = &sparing_class;
  one.says.item_size = 2;
  memset(&garbage, 0x5a, sizeof garbage);
  view = garbage;
  CHECK(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_FORMAT | XD_MEMORY_VIEW_STRIDES));
  CHECK(view.obj == &one && view.sub_offsets == NULL && view.shape[0] == 4 && view.strides[0] == 2);
  CHECK(view.item_desc.length == 1 && strcmp(view.format, "C2") == 0);
  CHECK(xd_memory_view_get_item_pointer(&view, last) == bytes + 6 && xd_memory_view_release(&view));
  one.says.item_size = 0;
  view = garbage;
  CHECK_REFUSED(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_SIMPLE), "not filled in");
  CHECK(memcmp(&view, &garbage, sizeof view) == 0);
  CHECK_REFUSED(xd_memory_view_release(&view), "not given");
  CHECK(memcmp(&view, &garbage, sizeof view) == 0 && xd_memory_view_unregister(&sparing_class));
}

static void null_callbacks(void)
{
  static const xd_class empty_class = {"empty", NULL};
  static const xd_memory_view_entry_t nothing = {NULL, NULL, NULL}, no_get = {NULL, lender_release, NULL},
                                      get_alone = {lender_get, NULL, NULL};
  unsigned char bytes[2] = {0};
  lender one;
  lend(&one, bytes, 2, true);
  one.cls = &empty_class;
  xd_memory_view_t view;
  CHECK_REFUSED(xd_memory_view_register(&empty_class, NULL), "`entry`");
  CHECK_REFUSED(xd_memory_view_register(&empty_class, &nothing), "empty has no `get`");
  CHECK_REFUSED(xd_memory_view_register(&empty_class, &no_get), "empty has no `get`");
  CHECK(!xd_memory_view_available_p(&one) && !xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_SIMPLE));
  CHECK(xd_memory_view_register(&empty_class, &get_alone) && xd_memory_view_available_p(&one));
  CHECK(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_SIMPLE) && xd_memory_view_release(&view));
  CHECK(one.gets == 1 && one.releases == 0 && xd_memory_view_unregister(&empty_class));
}

static void out_of_bounds(void)
{
  static const ssize_t outside[] = {-1, 3, (ssize_t)1 << 40, PTRDIFF_MIN, PTRDIFF_MAX};
  unsigned char bytes[3] = {0};
  xd_array_t *array = ramp("|u1", 3);
  xd_memory_view_t views[2] = {of_bytes(bytes, 3)};
  CHECK(xd_memory_view_get(array, &views[1], XD_MEMORY_VIEW_WRITABLE));
  for (size_t k = 0; k < COUNT(views); k++)
    for (size_t n = 0; n < COUNT(outside); n++)
      check_outside(&views[k], &outside[n], "axis 0 of length 3");
  CHECK(xd_memory_view_release(&views[1]));
  xd_array_free(array);

  /* Of axes that multiply to more than there can be, no item is found beyond the address space. */
  ssize_t huge[] = {4, (ssize_t)1 << 62}, index[] = {3, 5};
  views[0].ndim = 2;
  views[0].shape = huge;
  CHECK_REFUSED(xd_memory_view_get_item_pointer(&views[0], index) != NULL, "bytes");
}

static int freed;

static void count_freed(void *context)
{
  (void)context;
  freed++;
}

static void owner_changes(void)
{
  static unsigned char bytes[4] = {1, 2, 3, 4};
  ssize_t shape[] = {4}, last[] = {3};
  xd_buffer_t *buffer = xd_buffer_adopt(bytes, 4, XD_BIRTH_SOLE, count_freed, NULL, &error);
  xd_dtype_t *u1 = xd_dtype_parse("|u1", &error);
  xd_array_t *array = xd_array_from_buffer(buffer, u1, 1, shape, NULL, 0, &error);
  xd_memory_view_t view;
  /* Who wants to write is told who reads, and the other way round. */
  CHECK(xd_memory_view_get(array, &view, XD_MEMORY_VIEW_SIMPLE) && view.readonly);
  CHECK(xd_array_lease(array, XD_LEASE_WRITE, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "MemoryView");
  CHECK(xd_memory_view_release(&view));
  CHECK(xd_memory_view_get(array, &view, XD_MEMORY_VIEW_WRITABLE) && !view.readonly);
  CHECK(xd_array_lease(array, XD_LEASE_READ, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "");
  /* The owner lets go: the memory is still there. */
  xd_array_free(array);
  xd_dtype_free(u1);
  xd_buffer_free(buffer);
  CHECK(freed == 0 && xd_memory_view_get_item(&view, last).as.u == 4);
  CHECK(xd_memory_view_release(&view) && freed == 1);

  /* A producer asks whether it is viewed; what it changes all the same, a view has by itself. */
  lender one;
  lend(&one, bytes, 4, true);
  one.says.shape = shape;
  CHECK(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_SIMPLE) && xd_memory_view_exports(&one) == 1);
  shape[0] = 1 << 20;
  CHECK(view.shape[0] == 4 && xd_memory_view_get_item(&view, last).as.u == 4);
  CHECK(xd_memory_view_release(&view) && xd_memory_view_exports(&one) == 0);

  /* Flags are kept to, although the producer ignores them. */
  ssize_t strides[] = {2};
  shape[0] = 2;
  one.says.strides = strides;
  CHECK_REFUSED(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_WRITABLE), "read-only");
  CHECK_REFUSED(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_ROW_MAJOR), "ROW_MAJOR");
  CHECK_REFUSED(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_ANY_CONTIGUOUS), "[2]");
  CHECK(one.gets == 4 && one.releases == 4);
  CHECK_REFUSED(xd_memory_view_get(&one, &view, 1 << 20), "0x100000");
  CHECK(one.gets == 4);
}

static void contiguity_rules(void)
{
  static const struct {
    ssize_t ndim, shape[3], strides[3];
    bool numpys, originals;
  } cases[] = {
    {3, {2, (ssize_t)1 << 61, 8}, {0, 64, 8}, false, false}, /* the product wraps to 0 */
    {2, {1, 3}, {999, 8}, true, false},
    {2, {3, 0}, {24, 8}, true, false},
    {2, {3, 0}, {0, 8}, true, true},
    {2, {2, 3}, {24, 8}, true, true},
    {2, {2, 3}, {-24, 8}, false, false},
  };
  for (size_t k = 0; k < COUNT(cases); k++) {
    unsigned char byte = 0;
    xd_memory_view_t view = of_bytes(&byte, 1);
    view.item_size = 8;
    view.ndim = cases[k].ndim;
    view.shape = cases[k].shape;
    view.strides = cases[k].strides;
    CHECK(xd_memory_view_is_row_major_contiguous(&view) == cases[k].numpys);
    CHECK(xd_memory_view_is_row_major_contiguous_strictly(&view) == cases[k].originals);
  }
}

/* Views that are held when the program ends: of arrays and producers that are gone, some released by then, some never. */
static xd_memory_view_t at_exit[64], in_thread[4];

static bool apart_get(void *obj, xd_memory_view_t *view, int flags)
{
  (void)flags;
  int *holders = malloc(sizeof *holders + 4);
  *holders = 1;
  CHECK(xd_memory_view_init_as_byte_array(view, obj, holders + 1, 4, true));
  memset(holders + 1, 7, 4);
  view->private_data = holders;
  return true;
}

/* The object is gone. */
static bool apart_release(void *obj, xd_memory_view_t *view)
{
  (void)obj;
  free(view->private_data);
  return true;
}

static void release_at_exit(void)
{
  ssize_t first[] = {0};
  for (size_t k = 0; k < COUNT(at_exit); k += 1 + k % 2) {
    bool is = xd_memory_view_get_item(&at_exit[k], first).as.u == 7 && xd_memory_view_release(&at_exit[k])
      && !xd_memory_view_release(&at_exit[k]);
    if (!is) {
      fprintf(stderr, "view %zu at exit: %s\n", k, xd_last_refusal());
      _Exit(1);
    }
  }
}

static void *hold_in_thread(void *array)
{
  for (size_t k = 0; k < COUNT(in_thread); k++)
    CHECK(xd_memory_view_get(array, &in_thread[k], XD_MEMORY_VIEW_SIMPLE));
  return array;
}

static void at_the_end(void)
{
  static const xd_class apart_class = {"apart", NULL};
  static const xd_memory_view_entry_t apart_entry = {apart_get, apart_release, NULL};
  pthread_t thread;
  xd_array_t *array = ramp("|u1", 8), *seven = xd_array_at(array, "7:", &error);
  lender *object = calloc(1, sizeof *object);
  object->cls = &apart_class;
  CHECK(atexit(release_at_exit) == 0 && xd_memory_view_register(&apart_class, &apart_entry));
  for (size_t k = 0; k < COUNT(at_exit); k++)
    CHECK(xd_memory_view_get(k % 3 == 0 ? (void *)object : (void *)seven, &at_exit[k], XD_MEMORY_VIEW_SIMPLE));
  CHECK(pthread_create(&thread, NULL, hold_in_thread, array) == 0 && pthread_join(thread, NULL) == 0);
  free(object);
  xd_array_free(seven);
  xd_array_free(array);
  CHECK(xd_memory_view_unregister(&apart_class));
}

static void char_sign(void)
{
  unsigned char byte = 0xff;
  ssize_t first[] = {0};
  xd_memory_view_t view = of_bytes(&byte, 1);
  view.format = "c";
  xd_value value = xd_memory_view_get_item(&view, first);
  CHECK(value.kind == XD_VALUE_INT && value.as.i == -1);
  CHECK(!xd_memory_view_set_item(&view, first, &(xd_value){XD_VALUE_INT, {0}, 0, {128}}, &error));
  CHECK_ERROR(XD_ERROR_VALUE, "128");
  view.format = "C";
  CHECK(xd_memory_view_get_item(&view, first).as.i == 255);
  xd_array_t *array = ramp("|i1", 1);
  CHECK(xd_memory_view_get(array, &view, XD_MEMORY_VIEW_FORMAT) && strcmp(view.format, "c") == 0 && xd_memory_view_release(&view));
  xd_array_free(array);
}

static void flags_of_components(void)
{
  xd_memory_view_item_component_t *components;
  size_t n;
  CHECK(sizeof *components == 32 && offsetof(xd_memory_view_item_component_t, native_size_p) == 1);
  CHECK(offsetof(xd_memory_view_item_component_t, little_endian_p) == 2);
  CHECK(xd_memory_view_parse_item_format("qq>q!<q!>", &components, &n, NULL) == 32 && n == 4);
  for (size_t k = 0; k < n; k++) {
    const unsigned char *bytes = (const unsigned char *)&components[k];
    CHECK(bytes[0] == 'q' && bytes[1] == k / 2 && bytes[2] == (k + 1) % 2);
  }
  xd_memory_view_free_components(components, n);
}

int main(void)
{
  static const struct {
    const char *id;
    void (*run)(void);
  } bugs[] = {
    {"null-strides", null_strides},
    {"white-space", white_space},
    {"no-class", no_class},
    {"empty-axis", empty_axis},
    {"one-axis-indirect", one_axis_indirect},
    {"overflow", overflow},
    {"second-release", second_release},
    {"uninitialised", uninitialised},
    {"null-callbacks", null_callbacks},
    {"out-of-bounds", out_of_bounds},
    {"owner-changes", owner_changes},
    {"contiguity-rules", contiguity_rules},
    {"exit", at_the_end},
    {"char-sign", char_sign},
    {"flags-of-components", flags_of_components},
  };
  CHECK(xd_memory_view_register(&lender_class, &lender_entry));
  for (size_t k = 0; k < COUNT(bugs); k++) {
    bugs[k].run();
    puts(bugs[k].id);
  }
  return 0;
}
