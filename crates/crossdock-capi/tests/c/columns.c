/* Arrow's C Data and C Device interfaces, by their structs alone. */

#include "arrow.h"
#include "check.h"

static xd_array_t *numbers(void)
{
  ssize_t shape[] = {4};
  xd_dtype_t *f64 = xd_dtype_parse("<f8", &error);
  xd_array_t *array = xd_array_zeros(f64, 1, shape, XD_ROW_MAJOR, &error);
  xd_value half = {XD_VALUE_FLOAT, {0}, 0, {0}};
  half.as.f = 0.5;
  CHECK(xd_array_fill(array, &half, &error));
  xd_dtype_free(f64);
  return array;
}

static void lent(void)
{
  xd_array_t *array = numbers();
  struct ArrowSchema schema;
  struct ArrowArray column;
  CHECK(xd_array_to_arrow(array, "halves", XD_EXPORT_IN_PLACE, &schema, &column, &error));
  CHECK(strcmp(schema.format, "g") == 0 && strcmp(schema.name, "halves") == 0 && column.length == 4);
  CHECK(((const double *)column.buffers[1])[column.offset + 3] == 0.5);
  CHECK((uintptr_t)column.buffers[1] == xd_array_address(array));
  CHECK(xd_array_lease(array, XD_LEASE_WRITE, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "1 read lease");
  schema.release(&schema);
  column.release(&column);
  xd_lease_t *lease = xd_array_lease(array, XD_LEASE_WRITE, &error);
  CHECK(lease != NULL);
  CHECK(!xd_array_to_arrow(array, NULL, XD_EXPORT_IN_PLACE, &schema, &column, &error));
  CHECK_ERROR(XD_ERROR_REFUSED, "write lease");
  CHECK(!xd_array_to_arrow(array, NULL, XD_EXPORT_TRUST_READONLY, &schema, &column, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "0x4");
  xd_lease_release(lease);
  xd_array_free(array);
}

static void there_and_back(void)
{
  xd_array_t *array = numbers(), *back;
  struct ArrowSchema schema;
  struct ArrowArray column;
  struct ArrowDeviceArray device;
  CHECK(xd_array_to_arrow(array, NULL, XD_EXPORT_IN_PLACE, &schema, &column, &error));
  back = xd_array_from_arrow(&schema, &column, NULL, &error);
  CHECK(back != NULL && schema.release == NULL && column.release == NULL);
  CHECK(xd_array_address(back) == xd_array_address(array) && xd_array_is_readonly(back));
  xd_array_free(back);
  CHECK(xd_array_to_arrow_device(array, NULL, XD_EXPORT_IN_PLACE, &schema, &device, &error) && device.device_type == 1);
  back = xd_array_from_arrow_device(&schema, &device, NULL, &error);
  CHECK(back != NULL && xd_array_len(back) == 4);
  xd_array_free(back);
  xd_array_free(array);
}

/* Records are exported as columns, by a copy, and imported again. */
static void records(void)
{
  ssize_t shape[] = {2};
  xd_dtype_t *dtype = xd_dtype_parse("[('a', '<i4'), ('b', '<f8')]", &error);
  xd_array_t *array = xd_array_zeros(dtype, 1, shape, XD_ROW_MAJOR, &error), *back;
  struct ArrowSchema schema;
  struct ArrowArray column;
  bool equal = false;
  CHECK(!xd_array_to_arrow(array, NULL, XD_EXPORT_IN_PLACE, &schema, &column, &error));
  CHECK_ERROR(XD_ERROR_REFUSED, "");
  CHECK(xd_array_to_arrow(array, NULL, XD_EXPORT_COPY_IF_NEEDED, &schema, &column, &error) && schema.n_children == 2);
  back = xd_array_copy_from_arrow(&schema, &column, &error);
  CHECK(back != NULL && xd_array_equals(array, back, &equal, &error) && equal);
  xd_array_free(back);
  xd_array_free(array);
  xd_dtype_free(dtype);
}

static int releases;

static void release_schema(struct ArrowSchema *schema)
{
  schema->release = NULL;
  releases++;
}

static void release_column(struct ArrowArray *column)
{
  column->release = NULL;
  releases++;
}

static void foreign(void)
{
  static const int32_t items[] = {7, 8, 9};
  static const uint8_t valid[] = {5};
  const void *buffers[] = {valid, items};
  for (int nulls = 0; nulls <= 1; nulls++) {
    struct ArrowSchema schema = {"i", "n", NULL, 2, 0, NULL, NULL, release_schema, NULL};
    struct ArrowArray column = {3, 1, 0, 2, 0, buffers, NULL, NULL, release_column, NULL};
    releases = 0;
    if (!nulls)
      column.null_count = 0;
    xd_array_t *array = xd_array_from_arrow(&schema, &column, NULL, &error);
    CHECK((array == NULL) == nulls && releases == 1 + nulls);
    if (nulls)
      CHECK_ERROR(XD_ERROR_VALUE, "1 of 3");
    ssize_t last = 2;
    xd_value value;
    CHECK(nulls || (xd_array_get(array, &last, &value, &error) && value.as.i == 9));
    xd_array_free(array);
    CHECK(releases == 2 && schema.release == NULL && column.release == NULL);
  }
  struct ArrowSchema carried = {"i", "n", NULL, 2, 0, NULL, NULL, release_schema, NULL};
  struct ArrowArray column = {3, 1, 0, 2, 0, buffers, NULL, NULL, release_column, NULL};
  xd_array_t *validity = NULL, *array = xd_array_from_arrow(&carried, &column, &validity, &error);
  CHECK(array != NULL && xd_array_len(array) == 3);
  CHECK(is_text(xd_array_to_text(validity, &error), "[ True False  True]"));
  xd_array_free(array);
  xd_array_free(validity);

  struct ArrowSchema schema = {"i", "n", NULL, 2, 0, NULL, NULL, release_schema, NULL};
  releases = 0;
  CHECK(xd_array_from_arrow(&schema, NULL, NULL, &error) == NULL && releases == 1);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`column`");
  carried = (struct ArrowSchema){"i", "n", NULL, 2, 0, NULL, NULL, release_schema, NULL};
  CHECK(xd_array_from_arrow_device(&carried, NULL, NULL, &error) == NULL && releases == 2);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`column`");
  carried = (struct ArrowSchema){"i", "n", NULL, 2, 0, NULL, NULL, release_schema, NULL};
  CHECK(xd_array_copy_from_arrow(&carried, NULL, &error) == NULL && releases == 3);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`column`");
  column = (struct ArrowArray){3, 0, 0, 2, 0, buffers, NULL, NULL, release_column, NULL};
  CHECK(xd_array_from_arrow(NULL, &column, NULL, &error) == NULL && releases == 4);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`schema`");
}

int main(void)
{
  lent();
  there_and_back();
  records();
  foreign();
  return 0;
}
