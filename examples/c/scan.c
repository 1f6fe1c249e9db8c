/* A library lends its scans in place: rows of 16-bit levels, with padding behind each row.
 *
 *   cc scan.c $(pkg-config --cflags --libs crossdock)
 */

#include <crossdock.h>

#include <stdint.h>
#include <stdio.h>

struct scan {
  const xd_class *class; /* first, so that a pointer to a scan is an object */
  int borrowers;
  uint16_t levels[2][4]; /* three levels a row, and one of padding */
};

static bool get_view(void *object, xd_memory_view_t *view, int flags)
{
  static const ssize_t shape[] = {2, 3}, strides[] = {8, 2};
  struct scan *scan = object;
  (void)flags; /* Crossdock compares the view with the flags */
  xd_memory_view_init_as_byte_array(view, scan, scan->levels, sizeof scan->levels, false);
  view->format = "S"; /* as in Ruby's Array#pack: an unsigned 16-bit integer */
  view->item_size = 2;
  view->ndim = 2;
  view->shape = shape;
  view->strides = strides;
  scan->borrowers++; /* until it is 0 again, the scan is neither moved nor freed */
  return true;
}

static bool release_view(void *object, xd_memory_view_t *view)
{
  (void)view;
  ((struct scan *)object)->borrowers--;
  return true;
}

static const xd_class scan_class = {"scan", NULL};
static const xd_memory_view_entry_t scan_entry = {get_view, release_view, NULL};

/* A consumer that does not know scans. */
static bool show_and_brighten(void *object)
{
  xd_error_t *error;
  xd_array_t *array = xd_array_from_object(object, XD_MEMORY_VIEW_WRITABLE, &error);
  if (array == NULL) {
    printf("refused: %s\n", xd_error_message(error));
    xd_error_free(error);
    return false;
  }
  char *text = xd_array_to_text(array, NULL);
  printf("%s\n%llu bytes copied\n", text, (unsigned long long)xd_copied_bytes());
  xd_string_free(text);
  xd_value level = {XD_VALUE_UINT, {0}, 0, {65535}};
  ssize_t last[] = {1, 2};
  bool is_set = xd_array_set(array, last, &level, NULL);
  xd_array_free(array); /* calls release_view */
  return is_set;
}

int main(void)
{
  struct scan scan = {&scan_class, 0, {{10, 11, 12}, {20, 21, 22}}};
  show_and_brighten(&scan); /* no producer of scans is registered yet */
  if (!xd_memory_view_register(&scan_class, &scan_entry) || !show_and_brighten(&scan))
    return 1;
  printf("the last level is %d, and %d borrowers are left\n", scan.levels[1][2], scan.borrowers);
  return 0;
}
