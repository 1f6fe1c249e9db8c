/* Reads a table with text and nulls in place: names from the program's own memory, by Arrow's structs, beside prices from an
 * array. The table is sliced, looked at and exported again, and nothing is copied.
 *
 *   cc table.c $(pkg-config --cflags --libs crossdock) */

#include <crossdock.h>

#include <stdio.h>
#include <stdlib.h>

/* Arrow's structs; nanoarrow.h and arrow/c/abi.h have them, too. */
struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct ArrowArray **children, *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

/* Prints the error and exits. */
static void *must(void *made, xd_error_t *error)
{
  if (made == NULL) {
    fprintf(stderr, "%s: %s\n", xd_error_kind_name(xd_error_kind(error)), xd_error_message(error));
    exit(1);
  }
  return made;
}

/* The memory is static, so a release only marks the struct. */
static void release_schema(struct ArrowSchema *schema)
{
  schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
  array->release = NULL;
}

/* "bolt", a null, "washer". */
static xd_column_t *names(void)
{
  static const uint8_t valid[] = {5}; /* bits 0 and 2 */
  static const int32_t offsets[] = {0, 4, 4, 10};
  static const void *buffers[] = {valid, offsets, "boltwasher"};
  struct ArrowSchema schema = {"u", "name", NULL, 2, 0, NULL, NULL, release_schema, NULL};
  struct ArrowArray array = {3, 1, 0, 3, 0, buffers, NULL, NULL, release_array, NULL};
  xd_error_t *error;
  return must(xd_column_from_arrow(&schema, &array, XD_CHECKS_FULL, &error), error);
}

static xd_column_t *prices(void)
{
  static double numbers[] = {0.25, 0.5, 0.125};
  ssize_t shape[] = {3};
  xd_error_t *error;
  xd_buffer_t *buffer = must(xd_buffer_adopt(numbers, sizeof numbers, XD_BIRTH_SOLE, NULL, NULL, &error), error);
  xd_dtype_t *f64 = must(xd_dtype_parse("<f8", &error), error);
  xd_array_t *array = must(xd_array_from_buffer(buffer, f64, 1, shape, NULL, 0, &error), error);
  xd_column_t *column = must(xd_column_from_array(array, "price", &error), error);
  xd_array_free(array); /* handles keep the memory */
  xd_dtype_free(f64);
  xd_buffer_free(buffer);
  return column;
}

int main(void)
{
  xd_error_t *error;
  const uint64_t copied = xd_copied_bytes();
  xd_column_t *columns[] = {names(), prices()};
  xd_batch_t *all = must(xd_batch_from_columns(2, (const xd_column_t *const *)columns, &error), error);
  xd_batch_t *batch = must(xd_batch_slice(all, 1, 2, &error), error);
  xd_column_free(columns[0]);
  xd_column_free(columns[1]);
  xd_batch_free(all);

  /* Text is read in place, under a lease. */
  xd_column_t *column = must(xd_batch_column_named(batch, "name", &error), error);
  xd_text_t *text = must(xd_column_text(column, &error), error);
  for (size_t i = 0; i < xd_text_len(text); i++) {
    const char *data;
    size_t len;
    if (!xd_text_get(text, i, &data, &len, &error))
      must(NULL, error);
    printf("%.*s\n", data == NULL ? 1 : (int)len, data == NULL ? "-" : data);
  }
  xd_text_free(text);
  xd_column_free(column);

  /* To any Arrow library, in place. */
  struct ArrowSchema schema;
  struct ArrowArray array;
  if (!xd_batch_to_arrow(batch, &schema, &array, &error))
    must(NULL, error);
  const double *price = array.children[1]->buffers[1];
  int ok = price[array.children[1]->offset] == 0.5 && xd_copied_bytes() == copied;
  schema.release(&schema);
  array.release(&array);
  xd_batch_free(batch);
  return ok ? 0 : 1;
}
