/* Known bugs of Ruby's MemoryView: lending and releasing. */

#include <pthread.h>

#include "bugs.h"

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
    both[k]->says.format = "iqc"; /* components that are not constants */
    both[k]->says.item_size = 13;
    xd_memory_view_t view;
    CHECK(xd_memory_view_get(both[k], &view, XD_MEMORY_VIEW_FORMAT) && xd_memory_view_exports(both[k]) == 1);
    CHECK(xd_memory_view_prepare_item_desc(&view) && view.item_desc.length == 3);
    xd_memory_view_t copy = view, other;
    CHECK(xd_memory_view_release(&view));
    CHECK(view.item_desc.components == NULL && view.shape == NULL && view.obj == NULL && view.reserved == NULL);
    CHECK_REFUSED(xd_memory_view_release(&view), "released");
    CHECK_REFUSED(xd_memory_view_release(&copy), "already released");
    CHECK(xd_memory_view_exports(both[k]) == 0);
    /* The copy does not count as the next view, either. */
    CHECK(xd_memory_view_get(both[k], &other, XD_MEMORY_VIEW_FORMAT));
    CHECK_REFUSED(xd_memory_view_release(&copy), "already released");
    CHECK(xd_memory_view_exports(both[k]) == 1 && xd_memory_view_release(&other) && xd_memory_view_exports(both[k]) == 0);
  }
  CHECK(loud.gets == 2 && loud.releases == 2 && xd_memory_view_unregister(&quiet_class));
  xd_memory_view_t by_hand = of_bytes(bytes, 26);
  by_hand.obj = &loud;
  CHECK_REFUSED(xd_memory_view_release(&by_hand), "not exported");
  CHECK(loud.releases == 2 && xd_memory_view_exports(&loud) == 0);
}

/* Writes the required fields, or fewer. */
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
  CHECK_REFUSED(xd_memory_view_release(&view), "not exported");
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
  /* A writer's refusal names the reader, and a reader's the writer. */
  CHECK(xd_memory_view_get(array, &view, XD_MEMORY_VIEW_SIMPLE) && view.readonly);
  CHECK(xd_array_lease(array, XD_LEASE_WRITE, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "MemoryView");
  CHECK(xd_memory_view_release(&view));
  CHECK(xd_memory_view_get(array, &view, XD_MEMORY_VIEW_WRITABLE) && !view.readonly);
  CHECK(xd_array_lease(array, XD_LEASE_READ, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "");
  /* The owner frees its handles; the memory stays. */
  xd_array_free(array);
  xd_dtype_free(u1);
  xd_buffer_free(buffer);
  CHECK(freed == 0 && xd_memory_view_get_item(&view, last).as.u == 4);
  CHECK(xd_memory_view_release(&view) && freed == 1);

  /* A producer can count its views. A view has its own copy of values that the producer changes. */
  lender one;
  lend(&one, bytes, 4, true);
  one.says.shape = shape;
  CHECK(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_SIMPLE) && xd_memory_view_exports(&one) == 1);
  shape[0] = 1 << 20;
  CHECK(view.shape[0] == 4 && xd_memory_view_get_item(&view, last).as.u == 4);
  CHECK(xd_memory_view_release(&view) && xd_memory_view_exports(&one) == 0);

  /* The hub enforces flags that the producer ignores. */
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

/* Views that exist when the program ends, of freed arrays and producers: some are released at exit, some never. */
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

/* The object has been freed. */
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

int main(void)
{
  static const bug bugs[] = {
    {"no-class", no_class},
    {"second-release", second_release},
    {"uninitialised", uninitialised},
    {"null-callbacks", null_callbacks},
    {"owner-changes", owner_changes},
    {"exit", at_the_end},
  };
  meet(bugs, COUNT(bugs));
  return 0;
}
