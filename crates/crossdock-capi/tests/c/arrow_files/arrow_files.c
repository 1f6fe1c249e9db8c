/* Arrow IPC files of another library, in the folder that the argument names: "plain.arrow" and the compressed
 * "packed.arrow", each with a batch of three rows and one of the last two of them. */

#include "../arrow.h"
#include "../check.h"

static char path[4096];

static const char *in(const char *folder, const char *name)
{
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void check_rows(xd_batch_t *batch, const char *const *names, const int *counts, size_t rows)
{
  xd_column_t *name = xd_batch_column_named(batch, "name", &error), *count = xd_batch_column_named(batch, "count", &error);
  xd_array_t *numbers = xd_column_array(count, NULL, &error);
  CHECK(xd_batch_len(batch) == rows && numbers != NULL);
  for (size_t row = 0; row < rows; row++) {
    xd_value value;
    ssize_t index = (ssize_t)row;
    CHECK(xd_column_get(name, row, &value, &error) && (value.kind == XD_VALUE_NIL) == (names[row] == NULL));
    CHECK(names[row] == NULL || strcmp(value.as.bytes, names[row]) == 0);
    xd_value_free(&value);
    CHECK(xd_array_get(numbers, &index, &value, &error) && value.as.i == counts[row]);
  }
  xd_array_free(numbers);
  xd_column_free(count);
  xd_column_free(name);
}

static void all(const char *file, const xd_open_options *options)
{
  static const char *const names[] = {"bolt", NULL, "washer"};
  static const int counts[] = {7, 8, 9};
  xd_reader_t *reader = xd_reader_open(file, options, &error);
  CHECK(reader != NULL);
  xd_schema_t *schema = xd_reader_schema(reader, &error);
  CHECK(xd_schema_len(schema) == 2 && strcmp(xd_schema_format(schema, 1), "i") == 0);
  xd_schema_free(schema);
  xd_batch_t *first = xd_reader_next(reader, &error), *second = xd_reader_next(reader, &error);
  CHECK(second != NULL && xd_reader_next(reader, &error) == NULL && error == NULL);
  xd_reader_free(reader);
  check_rows(first, names, counts, 3);
  check_rows(second, names + 1, counts + 1, 2);
  xd_batch_free(first);
  xd_batch_free(second);
}

/* A file that other processes may write has no lease of constant bytes, unless the caller vouches for it. */
static void promises(const char *file)
{
  static const xd_open_options options[] = {{0, 0, 0, NULL, NULL}, {XD_OPENING_CONSTANT, 0, 0, NULL, NULL}};
  for (size_t k = 0; k < COUNT(options); k++) {
    const bool promised = options[k].flags == XD_OPENING_CONSTANT;
    const uint64_t copied = xd_copied_bytes();
    xd_reader_t *reader = xd_reader_open(file, &options[k], &error);
    xd_batch_t *batch = xd_reader_next(reader, &error);
    xd_column_t *column = xd_batch_column(batch, 0, &error);
    xd_text_t *text = xd_column_text(column, &error);
    CHECK((text != NULL) == promised);
    if (text == NULL)
      CHECK_ERROR(XD_ERROR_CONFLICT, "copy each column with `xd_column_compact`");
    if (!promised) {
      struct ArrowSchema schema;
      struct ArrowArray array;
      CHECK(!xd_column_to_arrow(column, &schema, &array, &error));
      CHECK_ERROR(XD_ERROR_CONFLICT, "`xd_column_compact`");
      CHECK(!xd_batch_to_arrow(batch, &schema, &array, &error));
      CHECK_ERROR(XD_ERROR_CONFLICT, "`xd_column_compact`");
      CHECK(xd_batch_lease(batch, XD_LEASE_READ, &error) == NULL);
      CHECK_ERROR(XD_ERROR_CONFLICT, "`xd_column_compact`");
      xd_reader_t *exporting = xd_reader_open(file, &options[k], &error);
      struct ArrowArrayStream stream;
      CHECK(xd_reader_to_arrow(exporting, &stream, &error) && stream.get_next(&stream, &array) != 0);
      CHECK(strstr(stream.get_last_error(&stream), "`xd_column_compact`") != NULL);
      stream.release(&stream);
      xd_reader_free(exporting);
    }
    CHECK(xd_copied_bytes() == copied);
    xd_text_free(text);
    xd_column_t *compact = xd_column_compact(column, &error);
    text = xd_column_text(compact, &error);
    const char *data;
    size_t len;
    CHECK(xd_text_get(text, 2, &data, &len, &error) && len == 6 && memcmp(data, "washer", 6) == 0);
    xd_text_free(text);
    xd_column_free(compact);
    xd_column_free(column);
    xd_batch_free(batch);
    xd_reader_free(reader);
  }
}

/* A copy of a file by this library has the same batches. */
static void saved(const char *folder, const char *name, int32_t compression)
{
  xd_reader_t *reader = xd_reader_open(in(folder, "plain.arrow"), NULL, &error);
  CHECK(xd_reader_save(reader, in(folder, name), compression, &error));
  CHECK(xd_reader_next(reader, &error) == NULL && error == NULL);
  CHECK(!xd_reader_save(reader, in(folder, name), 9, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`compression` is 9");
  xd_reader_free(reader);
  all(in(folder, name), NULL);
}

/* The bytes of a table's message, which are a stream of Arrow IPC, in "sent.arrows". */
static void sent(const char *folder)
{
  xd_reader_t *reader = xd_reader_open(in(folder, "plain.arrow"), NULL, &error);
  xd_batch_t *first = xd_reader_next(reader, &error), *second = xd_reader_next(reader, &error);
  const xd_batch_t *batches[] = {first, second};
  xd_channel_t *channel = xd_channel_new("", 1, 1 << 14, XD_DELIVERY_ONE, false, &error);
  xd_sender_t *sender = xd_sender_new(channel, &error);
  xd_receiver_t *receiver = xd_receiver_new(channel, &error);
  CHECK(xd_sender_send_table(sender, 2, batches, 0, &error));
  xd_array_t *message = xd_receiver_receive(receiver, 0, &error);
  const xd_save_options raw = {0, 0, 0, 0, "raw", 0, NULL, NULL};
  CHECK(message != NULL && xd_array_save(message, in(folder, "sent.arrows"), &raw, &error));
  xd_array_free(message), xd_receiver_free(receiver), xd_sender_free(sender), xd_channel_free(channel);
  xd_batch_free(first), xd_batch_free(second), xd_reader_free(reader);
  all(in(folder, "sent.arrows"), NULL);
}

int main(int count, char **arguments)
{
  CHECK(count == 2);
  static const uint32_t flags[] = {0, XD_OPENING_CONSTANT, XD_OPENING_COPIED};
  for (size_t k = 0; k < COUNT(flags); k++) {
    const xd_open_options options = {flags[k], 0, 0, NULL, NULL};
    all(in(arguments[1], "plain.arrow"), &options);
    all(in(arguments[1], "packed.arrow"), &options);
  }
  saved(arguments[1], "saved.arrow", XD_COMPRESSION_NONE);
  saved(arguments[1], "saved.feather", XD_COMPRESSION_ZSTD);
  saved(arguments[1], "saved.arrows", XD_COMPRESSION_LZ4);
  sent(arguments[1]);
  promises(in(arguments[1], "plain.arrow"));
  const xd_open_options others[] = {{0, 0, 0, "npy", NULL}, {0, 0, 0, NULL, "dtype=uint8; shape=4"}};
  for (size_t k = 0; k < COUNT(others); k++) {
    CHECK(xd_reader_open(in(arguments[1], "plain.arrow"), &others[k], &error) == NULL);
    CHECK_ERROR(XD_ERROR_UNSUPPORTED, "file was expected, which holds arrays and no table");
  }
  const xd_open_options arrow = {0, 0, 0, "arrow", NULL};
  all(in(arguments[1], "plain.arrow"), &arrow);
  const xd_open_options unknown = {1u << 31, 0, 0, NULL, NULL};
  CHECK(xd_reader_open(in(arguments[1], "plain.arrow"), &unknown, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "0x80000000");
  CHECK(xd_reader_open(in(arguments[1], "none.arrow"), NULL, &error) == NULL);
  CHECK_ERROR(XD_ERROR_IO, "none.arrow");
  return 0;
}
