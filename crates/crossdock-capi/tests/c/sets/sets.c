/* Reads the set whose name is the argument. */

#include "../check.h"

int main(int argc, char **argv)
{
  CHECK(argc == 2);
  xd_set_t *set = xd_set_connect(argv[1], &error);
  CHECK(set != NULL);
  char *label = xd_set_label(set, &error);
  CHECK(label != NULL && strncmp(label, argv[1], strlen(argv[1])) == 0 && strcmp(label + strlen(argv[1]), "@1") == 0);
  CHECK(xd_set_len(set) == 3 && !xd_set_is_mapped(set));
  char *name = xd_set_name(set, 1, &error);
  CHECK(name != NULL && strcmp(name, "tied") == 0);
  CHECK(xd_set_name(set, 3, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "has 3");
  CHECK(xd_set_get(set, "none", &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "\"none\"");

  xd_array_t *array = xd_set_get(set, "w", &error);
  xd_array_t *tied = xd_set_get(set, name, &error);
  CHECK(array != NULL && tied != NULL && xd_array_ndim(array) == 1 && xd_array_is_readonly(array));
  CHECK(xd_array_address(array) == xd_array_address(tied));
  bool is_table = true;
  CHECK(xd_set_is_table(set, "w", &is_table, &error) && !is_table);
  CHECK(xd_set_is_table(set, "t", &is_table, &error) && is_table);
  CHECK(!xd_set_is_table(set, "none", &is_table, &error));
  CHECK_ERROR(XD_ERROR_BOUNDS, "\"none\"");
  CHECK(xd_set_get(set, "t", &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "a table of 5 rows and 1 columns");
  CHECK(xd_set_table(set, "w", &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "an array, not a table");
  uint64_t copied = xd_copied_bytes();
  xd_reader_t *reader = xd_set_table(set, "t", &error);
  CHECK(reader != NULL);
  xd_batch_t *batch = xd_reader_next(reader, &error);
  CHECK(batch != NULL && xd_batch_len(batch) == 5 && xd_copied_bytes() == copied);
  xd_reader_free(reader);

  /* Arrays and batches keep what they need. */
  xd_set_free(set);
  xd_string_free(label);
  xd_string_free(name);
  ssize_t index[] = {2};
  xd_value value;
  CHECK(xd_array_get(array, index, &value, &error) && value.kind == XD_VALUE_INT && value.as.i == 7);
  CHECK(!xd_array_set(array, index, &value, &error));
  CHECK_ERROR(XD_ERROR_READ_ONLY, "read-only");
  xd_column_t *column = xd_batch_column(batch, 0, &error);
  xd_array_t *numbers = xd_column_array(column, NULL, &error);
  CHECK(numbers != NULL && xd_array_get(numbers, index, &value, &error) && value.as.i == 2);
  xd_array_free(numbers);
  xd_column_free(column);
  xd_batch_free(batch);
  xd_array_free(array);
  xd_array_free(tied);
  CHECK(xd_set_connect("a/b", &error) == NULL);
  CHECK_ERROR(XD_ERROR_MALFORMED, "name of a set");
  CHECK(xd_set_connect("none-holds-this", &error) == NULL);
  CHECK_ERROR(XD_ERROR_IO, "no process holds");
  return 0;
}
