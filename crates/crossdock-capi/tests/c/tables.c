/* Columns, batches and readers, by the structs of Arrow alone. */

#include "arrow.h"
#include "check.h"

/* A table of three rows in static memory: names ("one", null, "three"), counts (7, 8, 9) and pairs
 * of bytes, one of which is null in the second row. */

static int released;

static void release_schema(struct ArrowSchema *schema)
{
  schema->release = NULL;
  released++;
}

static void release_array(struct ArrowArray *array)
{
  array->release = NULL;
  released++;
}

static void release_child_schema(struct ArrowSchema *schema)
{
  schema->release = NULL;
}

static void release_child(struct ArrowArray *array)
{
  array->release = NULL;
}

static const uint8_t valid[] = {0x5}, valid_bytes[] = {0x37};
static const int32_t offsets[] = {0, 3, 3, 8}, counts[] = {7, 8, 9};
static const char text[] = "onethree";
static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6};

static struct ArrowSchema item_schema, child_schemas[3], *child_schema_list[3], *item_schema_list[1];
static struct ArrowArray item, children[3], *child_list[3], *item_list[1];
static const void *item_buffers[2], *text_buffers[3], *count_buffers[2], *pair_buffers[1], *no_validity[1];

static void make(struct ArrowSchema *schema, struct ArrowArray *array)
{
  static const char *const formats[] = {"u", "i", "+w:2"}, *const names[] = {"name", "count", "pair"};
  item_schema = (struct ArrowSchema){"C", "item", NULL, 2, 0, NULL, NULL, release_child_schema, NULL};
  item = (struct ArrowArray){6, -1, 0, 2, 0, item_buffers, NULL, NULL, release_child, NULL};
  item_buffers[0] = valid_bytes;
  item_buffers[1] = bytes;
  text_buffers[0] = valid;
  text_buffers[1] = offsets;
  text_buffers[2] = text;
  count_buffers[1] = counts;
  const void **const buffers[] = {text_buffers, count_buffers, pair_buffers};
  for (int k = 0; k < 3; k++) {
    child_schemas[k] = (struct ArrowSchema){formats[k], names[k], NULL, k == 1 ? 0 : 2, k == 2, item_schema_list, NULL,
                                            release_child_schema, NULL};
    children[k] = (struct ArrowArray){3, k == 0 ? -1 : 0, 0, 3 - k, k == 2, buffers[k], item_list, NULL, release_child, NULL};
    child_schema_list[k] = &child_schemas[k];
    child_list[k] = &children[k];
  }
  item_schema_list[0] = &item_schema;
  item_list[0] = &item;
  *schema = (struct ArrowSchema){"+s", "", NULL, 0, 3, child_schema_list, NULL, release_schema, NULL};
  *array = (struct ArrowArray){3, 0, 0, 1, 3, no_validity, child_list, NULL, release_array, NULL};
  released = 0;
}

static xd_batch_t *table(void)
{
  struct ArrowSchema schema;
  struct ArrowArray array;
  make(&schema, &array);
  CHECK(xd_batch_from_arrow(&schema, NULL, XD_CHECKS_FULL, &error) == NULL && schema.release == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`array`");
  make(&schema, &array);
  CHECK(xd_column_from_arrow(NULL, &array, XD_CHECKS_FULL, &error) == NULL && array.release == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`schema`");
  make(&schema, &array);
  xd_batch_t *batch = xd_batch_from_arrow(&schema, &array, XD_CHECKS_FULL, &error);
  CHECK(batch != NULL && schema.release == NULL && array.release == NULL && released == 1);
  return batch;
}

static void facts(void)
{
  xd_batch_t *batch = table();
  CHECK(xd_batch_len(batch) == 3 && xd_batch_column_count(batch) == 3);
  xd_schema_t *schema = xd_batch_schema(batch, &error);
  CHECK(xd_schema_len(schema) == 3 && strcmp(xd_schema_name(schema, 1), "count") == 0);
  CHECK(strcmp(xd_schema_format(schema, 2), "+w:2") == 0);
  CHECK(strcmp(xd_schema_type(schema, 2), "fixed_size_list<item: uint8>[2]") == 0);
  CHECK(xd_schema_is_nullable(schema, 0) && !xd_schema_is_nullable(schema, 1) && !xd_schema_is_nullable(schema, 9));
  CHECK(xd_schema_name(schema, 3) == NULL && xd_schema_format(schema, 3) == NULL);
  CHECK(xd_schema_index(schema, "pair", &error) == 2 && xd_schema_index(schema, "none", &error) == -1 && error == NULL);
  xd_schema_free(schema);
  CHECK(is_text(xd_batch_to_text(batch, &error),
                "    name  count       pair\n0    one      7     [1, 2]\n1   null      8  [3, null]\n2  three      9     [5, 6]\n\n"
                "[3 rows x 3 columns]"));
  CHECK(xd_batch_column(batch, 3, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "3 columns");
  CHECK(xd_batch_column_named(batch, "colour", &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "\"name\", \"count\", \"pair\"");
  xd_batch_free(batch);
  CHECK(released == 2);
}

static void numbers_in_place(void)
{
  xd_batch_t *batch = table();
  xd_column_t *column = xd_batch_column_named(batch, "count", &error);
  xd_array_t *array = xd_column_array(column, NULL, &error), *validity;
  CHECK(array != NULL && xd_array_address(array) == (uintptr_t)counts && xd_array_is_readonly(array));
  size_t count = 9, bit_offset = 9;
  CHECK(xd_column_null_count(column, &count, &error) && count == 0);
  CHECK(xd_column_validity(column, &bit_offset, &error) == NULL && error == NULL && bit_offset == 0);
  xd_column_free(column);
  xd_batch_free(batch);
  CHECK(released == 1); /* the array keeps the memory alive */
  xd_array_free(array);
  CHECK(released == 2);

  batch = table();
  column = xd_batch_column(batch, 2, &error);
  CHECK(xd_column_array(column, NULL, &error) == NULL);
  CHECK_ERROR(XD_ERROR_VALUE, "1 of 6");
  xd_column_t *part = xd_column_slice(column, 2, 1, &error), *child = xd_column_child(part, 0, &error);
  array = xd_column_array(part, &validity, &error);
  CHECK(array != NULL && validity == NULL && xd_array_address(array) == (uintptr_t)bytes + 4);
  CHECK(xd_column_child_count(part) == 1 && xd_column_len(child) == 2 && strcmp(xd_column_name(child), "item") == 0);
  CHECK(xd_column_child(part, 1, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "1 children");
  xd_column_free(child);
  xd_column_free(part);
  child = xd_column_child(column, 0, &error);
  xd_array_free(array);
  array = xd_column_array(child, &validity, &error);
  CHECK(array != NULL && is_text(xd_array_to_text(validity, &error), "[ True  True  True False  True  True]"));
  CHECK(xd_array_address(array) == (uintptr_t)bytes);
  xd_array_free(validity);
  xd_array_free(array);
  xd_column_free(child);
  xd_column_free(column);
  xd_batch_free(batch);
  CHECK(released == 2);
}

static void text_in_place(void)
{
  xd_batch_t *batch = table();
  xd_column_t *column = xd_batch_column(batch, 0, &error);
  CHECK(strcmp(xd_column_type(column), "string") == 0 && strcmp(xd_column_format(column), "u") == 0);
  xd_text_t *read = xd_column_text(column, &error);
  const char *data;
  size_t len, count, bit_offset;
  CHECK(read != NULL && xd_text_len(read) == 3);
  CHECK(xd_text_get(read, 2, &data, &len, &error) && data == text + 3 && len == 5);
  CHECK(xd_text_get(read, 1, &data, &len, &error) && data == NULL && len == 0);
  CHECK(!xd_text_get(read, 3, &data, &len, &error));
  CHECK_ERROR(XD_ERROR_BOUNDS, "3 elements");
  CHECK(xd_column_null_count(column, &count, &error) && count == 1);
  CHECK(xd_column_array(column, NULL, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "string");
  xd_column_t *rest = xd_column_slice(column, 1, 2, &error);
  xd_buffer_t *bits = xd_column_validity(rest, &bit_offset, &error);
  xd_array_t *starts = xd_column_offsets(rest, &error);
  CHECK(xd_buffer_address(bits) == (uintptr_t)valid && bit_offset == 1);
  CHECK(xd_array_address(starts) == (uintptr_t)&offsets[1] && xd_array_len(starts) == 3);
  CHECK(xd_column_slice(column, 2, 2, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "elements 2..4 are out of bounds for a column of 3 elements");
  CHECK(is_text(xd_column_to_text(rest, &error), "[null, 'three']"));
  xd_array_free(starts);
  xd_buffer_free(bits);
  xd_column_free(rest);
  xd_column_free(column);
  xd_batch_free(batch);
  CHECK(released == 1 && xd_text_get(read, 0, &data, &len, &error) && memcmp(data, "one", len) == 0);
  xd_text_free(read);
  CHECK(released == 2);
}

static void values(void)
{
  xd_batch_t *batch = table();
  xd_column_t *names = xd_batch_column(batch, 0, &error), *pairs = xd_batch_column(batch, 2, &error);
  xd_value value;
  CHECK(xd_column_get(names, 0, &value, &error) && value.kind == XD_VALUE_TEXT && strcmp(value.as.bytes, "one") == 0);
  xd_value_free(&value);
  CHECK(xd_column_get(names, 1, &value, &error) && value.kind == XD_VALUE_NIL);
  CHECK(xd_column_get(pairs, 1, &value, &error) && value.kind == XD_VALUE_LIST && value.len == 2);
  CHECK(value.as.items[0].as.u == 3 && value.as.items[1].kind == XD_VALUE_NIL);
  xd_value_free(&value);
  CHECK(!xd_column_get(names, 3, &value, &error) && value.kind == XD_VALUE_NIL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "3 elements");
  xd_column_free(names);
  xd_column_free(pairs);
  xd_batch_free(batch);
}

/* Slices, other names and an export, all on the same memory. */
static void views_and_exports(void)
{
  static const char *const new_names[] = {"n", "who"};
  const size_t indices[] = {1, 0};
  struct ArrowSchema schema;
  struct ArrowArray array;
  xd_batch_t *batch = table(), *rows = xd_batch_slice(batch, 1, 2, &error);
  xd_batch_t *selected = xd_batch_select(rows, 2, indices, &error), *renamed = xd_batch_rename(selected, 2, new_names, &error);
  CHECK(xd_batch_len(renamed) == 2 && xd_batch_column_count(renamed) == 2);
  CHECK(xd_batch_slice(batch, 2, 2, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "rows 2..4 are out of bounds for a batch of 3 rows");
  const size_t beyond = 7;
  CHECK(xd_batch_select(batch, 1, &beyond, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "column 7");
  CHECK(xd_batch_rename(batch, 1, new_names, &error) == NULL);
  CHECK_ERROR(XD_ERROR_SHAPE, "1 names");
  CHECK(xd_batch_to_arrow(renamed, &schema, &array, &error));
  xd_batch_free(renamed);
  xd_batch_free(selected);
  xd_batch_free(rows);
  xd_batch_free(batch);
  CHECK(released == 1 && array.length == 2 && strcmp(schema.children[1]->name, "who") == 0);
  CHECK(array.children[1]->offset + array.offset == 1 && array.children[1]->buffers[2] == (const void *)text);
  batch = xd_batch_from_arrow(&schema, &array, XD_CHECKS_FULL, &error);
  CHECK(is_text(xd_batch_to_text(batch, &error), "   n    who\n0  8   null\n1  9  three\n\n[2 rows x 2 columns]"));
  xd_lease_t *lease = xd_batch_lease(batch, XD_LEASE_READ, &error);
  CHECK(lease != NULL && xd_lease_data(lease) == NULL && xd_lease_nbytes(lease) == 0 && xd_lease_kind(lease) == XD_LEASE_READ);
  CHECK(xd_batch_lease(batch, XD_LEASE_WRITE, &error) == NULL);
  CHECK_ERROR(XD_ERROR_READ_ONLY, "");
  xd_batch_free(batch);
  CHECK(released == 1);
  xd_lease_release(lease);
  CHECK(released == 2);
}

/* Columns of arrays of this library: an export excludes writers until it is released. */
static void from_arrays(void)
{
  ssize_t shape[] = {3};
  struct ArrowSchema schema;
  struct ArrowArray exported;
  xd_dtype_t *record = xd_dtype_parse("[('a', '<i4'), ('b', '<f8')]", &error), *f64 = xd_dtype_parse("<f8", &error);
  xd_array_t *array = xd_array_zeros(f64, 1, shape, XD_ROW_MAJOR, &error);
  xd_column_t *column = xd_column_from_array(array, "zeros", &error);
  const xd_column_t *twice[] = {column, NULL};
  CHECK(xd_batch_from_columns(2, twice, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`columns[1]`");
  twice[1] = column;
  xd_batch_t *batch = xd_batch_from_columns(2, twice, &error);
  CHECK(batch != NULL && xd_batch_to_arrow(batch, &schema, &exported, &error));
  CHECK((uintptr_t)exported.children[1]->buffers[1] == xd_array_address(array));
  CHECK(xd_array_lease(array, XD_LEASE_WRITE, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "1 read lease");
  schema.release(&schema);
  exported.release(&exported);
  xd_lease_t *lease = xd_array_lease(array, XD_LEASE_WRITE, &error);
  CHECK(lease != NULL && !xd_column_to_arrow(column, &schema, &exported, &error));
  CHECK_ERROR(XD_ERROR_CONFLICT, "zeros");
  xd_lease_release(lease);
  xd_batch_free(batch);
  xd_column_free(column);
  xd_array_free(array);

  array = xd_array_zeros(record, 1, shape, XD_ROW_MAJOR, &error);
  batch = xd_batch_from_records(array, &error);
  xd_array_t *back = xd_batch_to_records(batch, &error);
  bool equal = false;
  CHECK(back != NULL && xd_array_equals(array, back, &equal, &error) && equal);
  column = xd_batch_column(batch, 1, &error);
  xd_column_t *compact = xd_column_compact(column, &error);
  CHECK(strcmp(xd_column_name(compact), "b") == 0 && xd_column_len(compact) == 3);
  xd_column_free(compact);
  xd_column_free(column);
  xd_array_free(back);
  xd_array_free(array);
  xd_batch_free(batch);
  xd_dtype_free(record);
  xd_dtype_free(f64);
}

/* A stream of two batches, then an error. */

static int given, stream_released;

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
  struct ArrowArray unused;
  (void)stream;
  make(out, &unused);
  return 0;
}

static xd_reader_t *self;

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
  struct ArrowSchema unused;
  (void)stream;
  /* A producer that uses its own reader gets an error, and no deadlock. */
  if (self != NULL) {
    CHECK(xd_reader_next(self, &error) == NULL);
    CHECK_ERROR(XD_ERROR_CONFLICT, "another call");
  }
  if (given++ == 2)
    return 5;
  make(&unused, out);
  return 0;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
  (void)stream;
  return "the tape broke";
}

static void release_stream(struct ArrowArrayStream *stream)
{
  stream->release = NULL;
  stream_released++;
}

static struct ArrowArrayStream new_stream(void)
{
  struct ArrowArrayStream stream = {stream_schema, stream_next, stream_error, release_stream, NULL};
  given = stream_released = 0;
  return stream;
}

static void readers(void)
{
  struct ArrowArrayStream stream = new_stream(), exported;
  xd_reader_t *reader = self = xd_reader_from_arrow(&stream, XD_CHECKS_SHAPE, &error);
  CHECK(reader != NULL && stream.release == NULL && stream_released == 0);
  xd_schema_t *schema = xd_reader_schema(reader, &error);
  CHECK(xd_schema_len(schema) == 3 && given == 0);
  xd_schema_free(schema);
  xd_batch_t *first = xd_reader_next(reader, &error), *second = xd_reader_next(reader, &error);
  CHECK(first != NULL && second != NULL && xd_reader_next(reader, &error) == NULL);
  CHECK_ERROR(XD_ERROR_IO, "the tape broke");
  CHECK(xd_reader_next(reader, &error) == NULL); /* no end, but the failure again */
  CHECK_ERROR(XD_ERROR_IO, "the tape broke");
  xd_reader_free(reader);
  self = NULL;
  CHECK(stream_released == 1);

  /* The same batches as a stream of this library, and back. */
  const xd_batch_t *list[] = {first, second};
  reader = xd_reader_from_batches(2, list, &error);
  CHECK(reader != NULL && xd_reader_to_arrow(reader, &exported, &error));
  CHECK(xd_reader_next(reader, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CLOSED, "exported");
  CHECK(!xd_reader_to_arrow(reader, &exported, &error));
  CHECK_ERROR(XD_ERROR_CLOSED, "exported");
  xd_reader_free(reader);
  struct ArrowArray array;
  CHECK(exported.get_next(&exported, &array) == 0 && array.length == 3);
  array.release(&array);
  reader = xd_reader_from_arrow(&exported, XD_CHECKS_FULL, &error);
  xd_batch_t *last = xd_reader_next(reader, &error);
  CHECK(xd_batch_len(last) == 3 && xd_reader_next(reader, &error) == NULL && error == NULL);
  xd_batch_free(last);
  xd_reader_free(reader);

  const size_t one = 0;
  xd_batch_t *other = xd_batch_select(first, 1, &one, &error);
  const xd_batch_t *mixed[] = {first, other};
  CHECK(xd_reader_from_batches(2, mixed, &error) == NULL);
  CHECK_ERROR(XD_ERROR_DTYPE, "batch 1 has another schema than batch 0: it");
  xd_batch_free(other);
  xd_batch_free(first);
  xd_batch_free(second);
}

/* The C Device interface, on the CPU: the same memory, in both directions. */
static void devices(void)
{
  xd_batch_t *batch = table();
  struct ArrowSchema schema;
  struct ArrowDeviceArray exported;
  CHECK(xd_batch_to_arrow_device(batch, &schema, &exported, &error));
  CHECK(exported.device_type == 1 && exported.sync_event == NULL && exported.array.length == 3);
  CHECK(exported.array.children[0]->buffers[2] == (const void *)text);
  xd_batch_t *back = xd_batch_from_arrow_device(&schema, &exported, XD_CHECKS_FULL, &error);
  CHECK(back != NULL && schema.release == NULL && exported.array.release == NULL && xd_batch_len(back) == 3);

  xd_column_t *column = xd_batch_column_named(back, "count", &error);
  CHECK(xd_column_to_arrow_device(column, &schema, &exported, &error));
  CHECK(exported.device_type == 1 && exported.array.buffers[1] == (const void *)counts);
  xd_column_free(column);
  CHECK(xd_column_from_arrow_device(&schema, &exported, 7, &error) == NULL && schema.release == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`checks` is 7");
  column = xd_batch_column_named(back, "name", &error);
  CHECK(xd_column_to_arrow_device(column, &schema, &exported, &error));
  xd_column_free(column);
  column = xd_column_from_arrow_device(&schema, &exported, XD_CHECKS_FULL, &error);
  CHECK(column != NULL && is_text(xd_column_to_text(column, &error), "['one', null, 'three']"));
  xd_column_free(column);

  const xd_batch_t *list[] = {batch, back};
  struct ArrowDeviceArrayStream stream;
  xd_reader_t *reader = xd_reader_from_batches(2, list, &error);
  CHECK(reader != NULL && xd_reader_to_arrow_device(reader, 1, &stream, &error) && stream.device_type == 1);
  CHECK(!xd_reader_to_arrow_device(reader, 1, &stream, &error));
  CHECK_ERROR(XD_ERROR_CLOSED, "exported");
  xd_reader_free(reader);
  reader = xd_reader_from_arrow_device(&stream, XD_CHECKS_FULL, &error);
  CHECK(reader != NULL && stream.release == NULL);
  for (int k = 0; k < 2; k++) {
    xd_batch_t *next = xd_reader_next(reader, &error);
    CHECK(xd_batch_len(next) == 3);
    xd_batch_free(next);
  }
  CHECK(xd_reader_next(reader, &error) == NULL && error == NULL);
  xd_reader_free(reader);
  CHECK(xd_reader_from_arrow_device(NULL, XD_CHECKS_FULL, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "stream");
  xd_batch_free(batch);
  CHECK(released == 1);
  xd_batch_free(back);
  CHECK(released == 2);
}

/* What contradicts itself is refused, and released once. */
static void hostile(void)
{
  struct ArrowSchema schema;
  struct ArrowArray array;
  static const int32_t backwards[] = {0, 9, 3, 8};
  static const char broken[] = "one\xff\xff\xff\xff\xff";
  make(&schema, &array);
  text_buffers[1] = backwards;
  CHECK(xd_batch_from_arrow(&schema, &array, XD_CHECKS_FULL, &error) == NULL && released == 2);
  CHECK_ERROR(XD_ERROR_BOUNDS, "offset 9");
  make(&schema, &array);
  text_buffers[1] = backwards;
  xd_batch_t *batch = xd_batch_from_arrow(&schema, &array, XD_CHECKS_SHAPE, &error);
  xd_column_t *column = xd_batch_column(batch, 0, &error);
  xd_value value;
  CHECK(!xd_column_get(column, 0, &value, &error) && value.kind == XD_VALUE_NIL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "");
  xd_column_free(column);
  xd_batch_free(batch);
  CHECK(released == 2);

  make(&schema, &array);
  text_buffers[2] = broken;
  batch = xd_batch_from_arrow(&schema, &array, XD_CHECKS_SHAPE, &error);
  column = xd_batch_column(batch, 0, &error);
  xd_text_t *read = xd_column_text(column, &error);
  const char *data;
  size_t len;
  CHECK(!xd_text_get(read, 2, &data, &len, &error) && data == NULL && len == 0);
  CHECK_ERROR(XD_ERROR_MALFORMED, "UTF-8");
  xd_text_free(read);
  xd_column_free(column);
  xd_batch_free(batch);

  make(&schema, &array);
  child_list[1] = NULL;
  CHECK(xd_batch_from_arrow(&schema, &array, XD_CHECKS_SHAPE, &error) == NULL && released == 2);
  CHECK_ERROR(XD_ERROR_MALFORMED, "");
  make(&schema, &array);
  CHECK(xd_batch_from_arrow(&schema, &array, 7, &error) == NULL && released == 2);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`checks` is 7");
  make(&schema, &array);
  CHECK(xd_batch_from_arrow(&schema, NULL, XD_CHECKS_SHAPE, &error) == NULL && released == 1);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`array`");
  struct ArrowArrayStream stream = new_stream();
  CHECK(xd_reader_from_arrow(&stream, 7, &error) == NULL && stream_released == 1);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`checks` is 7");
}

int main(void)
{
  facts();
  devices();
  numbers_in_place();
  text_in_place();
  values();
  views_and_exports();
  from_arrays();
  readers();
  hostile();
  return 0;
}
