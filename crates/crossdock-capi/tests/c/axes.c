/* Views with other axes, arrays of one value and of columns, and comparisons. */

#include "check.h"

static xd_array_t *counted; /* 4 by 6 integers: 0, 1, 2, ... */

/* Whether an array has these axes and, at its last index, this number; frees it. */
static bool is_view(xd_array_t *array, size_t ndim, const ssize_t *shape, int64_t last)
{
  ssize_t index[8] = {0};
  xd_value value;
  CHECK(array != NULL && xd_array_ndim(array) == ndim);
  CHECK(memcmp(xd_array_shape(array), shape, ndim * sizeof *shape) == 0);
  for (size_t axis = 0; axis < ndim; axis++)
    index[axis] = shape[axis] - 1;
  CHECK(xd_array_get(array, index, &value, &error));
  xd_array_free(array);
  return value.as.i == last;
}

#define SHAPE(...) (const ssize_t[]){__VA_ARGS__}

static void views_copy_nothing(void)
{
  uint64_t before = xd_copied_bytes();
  CHECK(is_view(xd_array_swap_axes(counted, 0, 1, &error), 2, SHAPE(6, 4), 23));
  CHECK(is_view(xd_array_move_axis(counted, 1, 0, &error), 2, SHAPE(6, 4), 23));
  CHECK(is_view(xd_array_insert_axis(counted, 1, &error), 3, SHAPE(4, 1, 6), 23));
  CHECK(is_view(xd_array_drop_axis(counted, 0, 2, &error), 1, SHAPE(6), 17));
  CHECK(is_view(xd_array_reverse(counted, 1, &error), 2, SHAPE(4, 6), 18));
  CHECK(is_view(xd_array_flatten(counted, &error), 1, SHAPE(24), 23));
  CHECK(is_view(xd_array_diagonal(counted, 0, 1, 1, &error), 1, SHAPE(4), 22));
  CHECK(is_view(xd_array_windows(counted, 2, SHAPE(2, 3), &error), 4, SHAPE(3, 4, 2, 3), 23));
  CHECK(is_view(xd_array_blocks(counted, 2, SHAPE(2, 3), &error), 4, SHAPE(2, 2, 2, 3), 23));
  xd_array_t *single = xd_array_insert_axis(counted, 0, &error);
  CHECK(is_view(xd_array_squeeze(single, &error), 2, SHAPE(4, 6), 23));
  CHECK(is_view(xd_array_reshape_with(counted, 1, SHAPE(24), XD_ROW_MAJOR, XD_EXPORT_IN_PLACE, &error), 1, SHAPE(24), 23));
  xd_array_free(single);
  CHECK(xd_copied_bytes() == before);
  CHECK(is_view(xd_array_reshape_with(counted, 2, SHAPE(3, 8), XD_COLUMN_MAJOR, XD_EXPORT_COPY_IF_NEEDED, &error), 2, SHAPE(3, 8), 23));
  CHECK(xd_copied_bytes() == before + 192);
}

static void axes_that_do_not_exist_are_refused(void)
{
  CHECK(xd_array_swap_axes(counted, 0, 2, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "2");
  CHECK(xd_array_move_axis(counted, SIZE_MAX, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "18446744073709551615");
  CHECK(xd_array_drop_axis(counted, 1, 6, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "6");
  CHECK(xd_array_insert_axis(counted, 4, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "4");
  CHECK(xd_array_reverse(counted, 9, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "9");
  CHECK(xd_array_diagonal(counted, 1, 1, 0, &error) == NULL);
  CHECK(error != NULL);
  xd_error_free(error);
  xd_array_t *far = xd_array_diagonal(counted, 0, 1, PTRDIFF_MIN, &error); /* outside */
  CHECK(far != NULL && xd_array_len(far) == 0);
  xd_array_free(far);
  CHECK(xd_array_windows(counted, 1, SHAPE(2), &error) == NULL);
  CHECK(error != NULL);
  xd_error_free(error);
  CHECK(xd_array_windows(counted, 2, SHAPE(5, 1), &error) == NULL);
  CHECK(error != NULL);
  xd_error_free(error);
  CHECK(xd_array_blocks(counted, 2, SHAPE(3, 3), &error) == NULL);
  CHECK(error != NULL);
  xd_error_free(error);
  CHECK(xd_array_blocks(counted, 2, SHAPE(0, -1), &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "-1");
  CHECK(xd_array_windows(counted, SIZE_MAX, SHAPE(1), &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "18446744073709551615 axes");
  CHECK(xd_array_reshape_with(counted, 1, SHAPE(24), 7, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "7");
  CHECK(xd_array_reshape_with(counted, 1, SHAPE(23), XD_ROW_MAJOR, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_SHAPE, "23");
}

static void arrays_of_one_value_and_of_columns(void)
{
  xd_dtype_t *f4 = xd_dtype_parse("<f4", &error), *u1 = xd_dtype_parse("|u1", &error);
  xd_value half = {XD_VALUE_FLOAT, {0}, 0, {0}}, value;
  half.as.f = 0.5;
  xd_array_t *halves = xd_array_full(f4, 1, SHAPE(3), &half, XD_ROW_MAJOR, &error);
  CHECK(halves != NULL && xd_array_get(halves, SHAPE(2), &value, &error) && value.as.f == 0.5);
  CHECK(xd_array_full(u1, 1, SHAPE(3), &half, XD_ROW_MAJOR, &error) == NULL);
  CHECK_ERROR(XD_ERROR_VALUE, "0.5");

  xd_array_t *bytes = xd_array_zeros(u1, 1, SHAPE(3), XD_ROW_MAJOR, &error);
  const xd_array_t *columns[] = {halves, bytes};
  const char *names[] = {"half", "byte"};
  xd_array_t *records = xd_array_from_columns(2, names, columns, &error), *field = xd_array_field(records, "half", &error);
  CHECK(field != NULL && xd_array_get(field, SHAPE(0), &value, &error) && value.as.f == 0.5);
  names[1] = "half";
  CHECK(xd_array_from_columns(2, names, columns, &error) == NULL);
  CHECK(error != NULL);
  xd_error_free(error);
  error = NULL;
  names[1] = NULL;
  CHECK(xd_array_from_columns(2, names, columns, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`names[1]`");
  names[1] = "byte", columns[1] = NULL;
  CHECK(xd_array_from_columns(2, names, columns, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`arrays[1]`");
  CHECK(xd_array_from_columns(0, NULL, NULL, &error) == NULL);
  CHECK(xd_error_kind(error) != XD_ERROR_ARGUMENT);
  xd_error_free(error);
  error = NULL;
  columns[1] = counted;
  CHECK(xd_array_from_columns(2, names, columns, &error) == NULL);
  CHECK(error != NULL);
  xd_error_free(error);
  error = NULL;

  xd_array_t *swapped = xd_array_to_byte_order(halves, '>', &error);
  CHECK(swapped != NULL && xd_dtype_byte_order(xd_array_dtype(swapped)) == '>');
  CHECK(xd_array_get(swapped, SHAPE(1), &value, &error) && value.as.f == 0.5);
  CHECK(xd_array_to_byte_order(halves, '?', &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "63");

  bool close = false, differ = false;
  ssize_t index[] = {-1};
  half.as.f = 0.5001;
  xd_array_t *near = xd_array_full(f4, 1, SHAPE(3), &half, XD_ROW_MAJOR, &error);
  CHECK(xd_array_all_close(halves, near, 1e-3, 0, false, &close, &error) && close);
  CHECK(xd_array_all_close(halves, near, 1e-6, 0, false, &close, &error) && !close);
  CHECK(xd_array_first_difference(halves, swapped, index, &differ, &error) && !differ && index[0] == -1);
  half.as.f = 7;
  CHECK(xd_array_set(swapped, SHAPE(2), &half, &error));
  CHECK(xd_array_first_difference(halves, swapped, index, &differ, &error) && differ && index[0] == 2);
  CHECK(xd_array_first_difference(halves, swapped, NULL, &differ, &error) && differ);
  CHECK(!xd_array_all_close(halves, counted, 0, 0, false, &close, &error));
  CHECK_ERROR(XD_ERROR_SHAPE, "[3] and [4, 6]");

  CHECK(xd_array_backing(halves) == XD_BACKING_HEAP && xd_array_birth(halves) == XD_BIRTH_SOLE && xd_array_is_whole(halves, &error));
  CHECK(xd_array_backing(NULL) == XD_BACKING_OTHER && xd_array_birth(NULL) == 0);
  size_t offset;
  xd_buffer_t *buffer = xd_array_buffer(halves, &offset, &error), *part = xd_buffer_slice(buffer, 4, 4, &error);
  CHECK(xd_buffer_backing(part) == XD_BACKING_HEAP && xd_buffer_birth(part) == XD_BIRTH_SOLE);
  CHECK(xd_buffer_retained_nbytes(part) >= 12 && xd_buffer_nbytes(part) == 4);
  xd_buffer_free(part), xd_buffer_free(buffer);
  xd_array_free(near), xd_array_free(swapped), xd_array_free(field), xd_array_free(records);
  xd_array_free(bytes), xd_array_free(halves);
  xd_dtype_free(f4), xd_dtype_free(u1);
}

int main(void)
{
  xd_dtype_t *i8 = xd_dtype_parse("<i8", &error);
  xd_buffer_t *buffer;
  int64_t numbers[24];
  for (int k = 0; k < 24; k++)
    numbers[k] = k;
  buffer = xd_buffer_copy(numbers, sizeof numbers, &error);
  counted = xd_array_from_buffer(buffer, i8, 2, SHAPE(4, 6), NULL, 0, &error);
  CHECK(counted != NULL);
  xd_buffer_free(buffer);
  xd_dtype_free(i8);
  views_copy_nothing();
  axes_that_do_not_exist_are_refused();
  arrays_of_one_value_and_of_columns();
  xd_array_free(counted);
  return 0;
}
