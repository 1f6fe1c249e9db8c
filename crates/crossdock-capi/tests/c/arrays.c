/* Arrays: views, elements, copies, files, DLPack. The argument is a folder for files. */

#include "check.h"

static xd_value integer(int64_t number)
{
  xd_value value = {XD_VALUE_INT, {0}, 0, {number}};
  return value;
}

/* The int32 numbers 0, 1, 2, … with the given shape. */
static xd_array_t *ramp(size_t ndim, const ssize_t *shape)
{
  xd_dtype_t *i32 = xd_dtype_parse("<i4", &error);
  xd_array_t *array = xd_array_zeros(i32, ndim, shape, XD_ROW_MAJOR, &error);
  CHECK(array != NULL);
  xd_lease_t *lease = xd_array_lease(array, XD_LEASE_WRITE, &error);
  int32_t *elements = xd_lease_mutable_data(lease);
  for (size_t k = 0; k < xd_array_len(array); k++)
    elements[k] = (int32_t)k;
  xd_lease_release(lease);
  xd_dtype_free(i32);
  return array;
}

/* The integer at an index. */
static int64_t at(const xd_array_t *array, ssize_t i, ssize_t j)
{
  ssize_t index[] = {i, j};
  xd_value value;
  CHECK(xd_array_get(array, index, &value, &error) && value.kind == XD_VALUE_INT);
  return value.as.i;
}

static void made(void)
{
  ssize_t shape[] = {2, 3}, strides[] = {12, -4}, negative[] = {2, -3};
  xd_array_t *array = ramp(2, shape);
  CHECK(xd_array_ndim(array) == 2 && xd_array_shape(array)[1] == 3 && xd_array_strides(array)[0] == 12);
  CHECK(xd_array_len(array) == 6 && xd_array_nbytes(array) == 24 && !xd_array_is_readonly(array));
  CHECK(xd_array_is_contiguous(array, XD_ROW_MAJOR) && !xd_array_is_contiguous(array, XD_COLUMN_MAJOR));
  CHECK(!xd_array_is_contiguous(array, 3) && !xd_array_is_indirect(array));

  size_t offset = 99;
  xd_buffer_t *buffer = xd_array_buffer(array, &offset, &error);
  CHECK(offset == 0 && xd_buffer_nbytes(buffer) == 24 && xd_buffer_address(buffer) == xd_array_address(array));
  xd_array_t *mirrored = xd_array_from_buffer(buffer, xd_array_dtype(array), 2, shape, strides, 8, &error);
  CHECK(at(mirrored, 0, 0) == 2 && at(mirrored, 1, 2) == 3);
  CHECK(xd_array_from_buffer(buffer, xd_array_dtype(array), 2, shape, strides, 4, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "bytes");
  CHECK(xd_array_from_buffer(buffer, xd_array_dtype(array), 2, negative, NULL, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "axis 1: -3");
  CHECK(xd_array_zeros(xd_array_dtype(array), 2, shape, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`order` is 0");
  CHECK(is_text(xd_array_to_text(mirrored, &error), "[[2 1 0]\n [5 4 3]]"));
  char *explained = xd_array_explain(mirrored, "torch", &error);
  CHECK(explained != NULL && strstr(explained, "negative strides") != NULL && strstr(explained, "polars") == NULL);
  xd_string_free(explained);
  CHECK(xd_array_explain(mirrored, "bogus", &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "numpy, ");
  explained = xd_array_explain(mirrored, NULL, &error);
  CHECK(explained != NULL && strstr(explained, "numpy.asarray") != NULL && strstr(explained, "PEP 3118") != NULL);
  xd_string_free(explained);
  xd_array_free(mirrored);
  xd_buffer_free(buffer);

  xd_array_t *scalar = ramp(0, NULL);
  xd_value value;
  CHECK(xd_array_get(scalar, NULL, &value, &error) && value.as.i == 0);
  xd_array_free(scalar);
  xd_array_free(array);
}

static void views(void)
{
  ssize_t shape[] = {4, 6}, flat[] = {24}, odd[] = {5}, swap[] = {1, 0}, twice[] = {0, 0};
  xd_array_t *array = ramp(2, shape);
  xd_slice part[] = {XD_RANGE(1, XD_OPEN, 2), XD_RANGE(XD_OPEN, XD_OPEN, -1)};
  xd_array_t *view = xd_array_slice(array, 2, part, &error);
  CHECK(view != NULL && xd_array_shape(view)[0] == 2 && xd_array_shape(view)[1] == 6);
  CHECK(at(view, 0, 0) == 11 && at(view, 1, 5) == 18);
  xd_array_free(view);

  xd_slice column[] = {XD_REST, XD_INDEX(-1)}, wrong[] = {XD_INDEX(4)}, strange[] = {{9, 0, 0, 0, 0}};
  view = xd_array_slice(array, 2, column, &error);
  CHECK(xd_array_ndim(view) == 1 && xd_array_shape(view)[0] == 4);
  xd_array_free(view);
  CHECK(xd_array_slice(array, 1, wrong, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "index 4");
  CHECK(xd_array_slice(array, 1, strange, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`slices[0]`, 9");

  view = xd_array_at(array, "::2, ..., -1", &error);
  CHECK(xd_array_ndim(view) == 1 && xd_array_shape(view)[0] == 2);
  xd_array_free(view);
  CHECK(xd_array_at(array, "::2; 1", &error) == NULL);
  CHECK_ERROR(XD_ERROR_MALFORMED, "");

  view = xd_array_transpose(array, &error);
  CHECK(at(view, 5, 3) == 23 && xd_array_reshape(view, 1, flat, &error) == NULL);
  CHECK_ERROR(XD_ERROR_LAYOUT, "");
  xd_array_free(view);
  view = xd_array_permute(array, 2, swap, &error);
  CHECK(at(view, 5, 3) == 23);
  xd_array_free(view);
  CHECK(xd_array_permute(array, 2, twice, &error) == NULL);
  CHECK_ERROR(XD_ERROR_SHAPE, "");
  view = xd_array_reshape(array, 1, flat, &error);
  CHECK(xd_array_ndim(view) == 1);
  xd_array_t *wide = xd_array_broadcast_to(array, 2, shape, &error);
  CHECK(wide != NULL && xd_array_broadcast_to(array, 1, odd, &error) == NULL);
  CHECK_ERROR(XD_ERROR_SHAPE, "5");
  xd_array_free(wide);
  xd_array_free(view);

  xd_dtype_t *bytes = xd_dtype_parse("|u1", &error);
  view = xd_array_view_as(array, bytes, &error);
  CHECK(xd_array_shape(view)[1] == 24 && xd_array_address(view) == xd_array_address(array));
  xd_array_free(view);
  xd_dtype_free(bytes);
  xd_array_free(array);
}

static void elements(void)
{
  ssize_t shape[] = {2, 2}, index[] = {1, 0}, outside[] = {0, 2}, negative[] = {-1, 0};
  xd_array_t *array = ramp(2, shape);
  xd_value seven = integer(7), large = integer(INT64_C(1) << 40), nil = {0, {0}, 0, {0}}, value;
  CHECK(xd_array_set(array, index, &seven, &error) && at(array, 1, 0) == 7);
  CHECK(!xd_array_set(array, index, &large, &error));
  CHECK_ERROR(XD_ERROR_VALUE, "1099511627776");
  CHECK(!xd_array_set(array, index, &nil, &error));
  CHECK_ERROR(XD_ERROR_VALUE, "nil");
  CHECK(!xd_array_get(array, outside, &value, &error) && value.kind == XD_VALUE_NIL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "index 2");
  CHECK(!xd_array_get(array, negative, &value, &error));
  CHECK_ERROR(XD_ERROR_BOUNDS, "axis 0: -1");
  xd_array_t *constant = xd_array_readonly(array, &error);
  CHECK(!xd_array_set(constant, index, &seven, &error));
  CHECK_ERROR(XD_ERROR_READ_ONLY, "");
  xd_array_free(constant);
  CHECK(xd_array_fill(array, &seven, &error) && at(array, 1, 1) == 7);
  ssize_t three[] = {3, 2, 2};
  xd_array_t *wide = xd_array_broadcast_to(array, 3, three, &error);
  CHECK(!xd_array_fill(wide, &seven, &error));
  CHECK_ERROR(XD_ERROR_LAYOUT, "overlap");
  CHECK(!xd_array_assign(wide, array, XD_CASTING_CHECKED, &error));
  CHECK_ERROR(XD_ERROR_LAYOUT, "overlap");
  xd_array_free(wide);
  xd_array_free(array);
}

/* Every kind of value can be written and read. */
static void values(void)
{
  static const char spelt[] = "[('yes', '|b1'), ('n', '<i8'), ('u', '<u2'), ('x', '<f4'), ('z', '<c8'), ('b', '|S4'), "
                              "('t', '<U3'), ('v', '|V2'), ('day', '<M8[D]'), ('gap', '<m8[s]'), ('grid', '|i1', (2, 1))]";
  xd_dtype_t *dtype = xd_dtype_parse(spelt, &error);
  CHECK(dtype != NULL);
  xd_array_t *array = xd_array_zeros(dtype, 0, NULL, XD_ROW_MAJOR, &error);
  xd_value complex[2], row[1], rows[2], fields[11], record = {XD_VALUE_LIST, {0}, 11, {0}}, back;
  memset(fields, 0, sizeof fields);
  memset(complex, 0, sizeof complex);
  memset(rows, 0, sizeof rows);
  complex[0].kind = complex[1].kind = XD_VALUE_FLOAT;
  complex[0].as.f = 1.5;
  complex[1].as.f = -2;
  row[0] = integer(-3);
  rows[0].kind = rows[1].kind = XD_VALUE_LIST;
  rows[0].len = rows[1].len = 1;
  rows[0].as.items = rows[1].as.items = row;
  fields[0].kind = XD_VALUE_BOOL, fields[0].as.u = 1;
  fields[1] = integer(INT64_MIN);
  fields[2].kind = XD_VALUE_UINT, fields[2].as.u = 65535;
  fields[3].kind = XD_VALUE_FLOAT, fields[3].as.f = 0.25;
  fields[4].kind = XD_VALUE_COMPLEX, fields[4].len = 2, fields[4].as.items = complex;
  fields[5].kind = XD_VALUE_BYTES, fields[5].len = 3, fields[5].as.bytes = "a\0b";
  fields[6].kind = XD_VALUE_TEXT, fields[6].len = 4, fields[6].as.bytes = "\xc3\xa9xy";
  fields[7].kind = XD_VALUE_BYTES, fields[7].len = 2, fields[7].as.bytes = "\0\1";
  fields[8].kind = XD_VALUE_DATETIME, fields[8].as.i = 20000;
  fields[9] = integer(60);
  fields[10].kind = XD_VALUE_LIST, fields[10].len = 2, fields[10].as.items = rows;
  record.as.items = fields;
  CHECK(xd_array_set(array, NULL, &record, &error));

  CHECK(xd_array_get(array, NULL, &back, &error) && back.kind == XD_VALUE_LIST && back.len == 11);
  const xd_value *got = back.as.items;
  CHECK(got[0].kind == XD_VALUE_BOOL && got[0].as.u == 1 && got[1].as.i == INT64_MIN && got[2].as.u == 65535);
  CHECK(got[3].as.f == 0.25 && got[4].kind == XD_VALUE_COMPLEX && got[4].as.items[1].as.f == -2);
  CHECK(got[5].kind == XD_VALUE_BYTES && got[5].len == 3 && memcmp(got[5].as.bytes, "a\0b", 4) == 0);
  CHECK(got[6].kind == XD_VALUE_TEXT && strcmp(got[6].as.bytes, "\xc3\xa9xy") == 0);
  CHECK(got[7].len == 2 && memcmp(got[7].as.bytes, "\0\1", 3) == 0);
  CHECK(got[8].kind == XD_VALUE_DATETIME && got[8].as.i == 20000);
  CHECK(got[9].kind == XD_VALUE_TIMEDELTA && got[9].as.i == 60);
  CHECK(got[10].len == 2 && got[10].as.items[1].as.items[0].as.i == -3);
  /* A value that was read can be written. */
  CHECK(xd_array_set(array, NULL, &back, &error));
  xd_value_free(&back);
  CHECK(back.kind == XD_VALUE_NIL);
  xd_value_free(&back);

  /* Invalid values are refused, and nothing is written. */
  record.len = 10;
  CHECK(!xd_array_set(array, NULL, &record, &error));
  CHECK_ERROR(XD_ERROR_VALUE, "a list of 10");
  record.len = 11;
  fields[6].as.bytes = "\xff\xff\xff\xff";
  CHECK(!xd_array_set(array, NULL, &record, &error));
  CHECK_ERROR(XD_ERROR_MALFORMED, "UTF-8");
  fields[6].kind = 200;
  CHECK(!xd_array_set(array, NULL, &record, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "200");
  fields[6].kind = XD_VALUE_NIL;
  fields[5].as.bytes = NULL;
  CHECK(!xd_array_set(array, NULL, &record, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "null");

  xd_array_t *field = xd_array_field(array, "x", &error);
  CHECK(xd_array_get(field, NULL, &back, &error) && back.as.f == 0.25);
  xd_array_free(field);
  CHECK(xd_array_field(array, "missing", &error) == NULL);
  CHECK_ERROR(XD_ERROR_DTYPE, "missing");
  xd_array_free(array);
  xd_dtype_free(dtype);
}

static void conversions(void)
{
  ssize_t shape[] = {2, 3};
  xd_array_t *array = ramp(2, shape), *turned = xd_array_transpose(array, &error);
  uint64_t before = xd_copied_bytes_here(), ever = xd_copied_bytes();
  xd_array_t *copy = xd_array_copy(turned, XD_ROW_MAJOR, &error);
  CHECK(xd_copied_bytes_here() == before + 24 && xd_copied_bytes() >= ever + 24);
  CHECK(xd_array_is_contiguous(copy, XD_ROW_MAJOR) && at(copy, 2, 1) == 5);
  bool equal = false;
  CHECK(xd_array_equals(copy, turned, &equal, &error) && equal);
  CHECK(xd_array_equals(copy, array, &equal, &error) && !equal);

  xd_dtype_t *u1 = xd_dtype_parse("|u1", &error);
  xd_value large = integer(300);
  xd_array_fill(copy, &large, &error);
  CHECK(xd_array_cast(copy, u1, XD_ROW_MAJOR, XD_CASTING_CHECKED, &error) == NULL);
  CHECK_ERROR(XD_ERROR_VALUE, "300");
  CHECK(xd_array_cast(copy, u1, XD_ROW_MAJOR, 2, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`casting` is 2");
  xd_array_t *narrow = xd_array_cast(copy, u1, XD_ROW_MAJOR, XD_CASTING_SATURATING, &error);
  ssize_t index[] = {0, 0};
  xd_value value;
  CHECK(xd_array_get(narrow, index, &value, &error) && value.kind == XD_VALUE_UINT && value.as.u == 255);
  CHECK(xd_array_assign(copy, turned, XD_CASTING_CHECKED, &error));
  CHECK(xd_array_equals(copy, turned, &equal, &error) && equal);
  CHECK(!xd_array_assign(copy, array, XD_CASTING_CHECKED, &error));
  CHECK_ERROR(XD_ERROR_SHAPE, "");
  xd_dtype_free(u1);
  xd_array_free(narrow);
  xd_array_free(copy);
  xd_array_free(turned);
  xd_array_free(array);
}

static void files(const char *folder)
{
  char path[4096];
  CHECK(snprintf(path, sizeof path, "%s/arrays.npy", folder) < (int)sizeof path);
  ssize_t shape[] = {3, 2};
  xd_array_t *array = ramp(2, shape);
  CHECK(xd_array_save(array, path, NULL, &error));
  xd_array_t *back = xd_array_open(path, &error);
  CHECK(back != NULL && xd_array_is_readonly(back) && at(back, 2, 1) == 5);
  xd_array_free(back);
  CHECK(remove(path) == 0);
  CHECK(xd_array_open(path, &error) == NULL);
  CHECK_ERROR(XD_ERROR_IO, path);
  xd_array_free(array);
}

/* A NIfTI volume of three numbers of two bytes, in the little-endian byte order. */
static void volumes(const char *folder)
{
  static unsigned char volume[352 + 6];
  char path[4096];
  CHECK(snprintf(path, sizeof path, "%s/scan.nii", folder) < (int)sizeof path);
  volume[0] = 348 & 255, volume[1] = 348 >> 8;
  volume[40] = 1, volume[42] = 3, volume[70] = 4;
  volume[110] = 0xb0, volume[111] = 0x43; /* 352 as a float */
  memcpy(volume + 344, "n+1", 4);
  volume[352] = 7, volume[354] = 8, volume[356] = 9;
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(volume, 1, sizeof volume, file) == sizeof volume && fclose(file) == 0);
  xd_array_t *array = xd_array_open(path, &error);
  CHECK(array != NULL && xd_array_ndim(array) == 1 && xd_array_is_readonly(array));
  ssize_t index[] = {2};
  xd_value value;
  CHECK(xd_array_get(array, index, &value, &error) && value.kind == XD_VALUE_INT && value.as.i == 9);
  xd_array_free(array);
  CHECK(remove(path) == 0);
}

static void holders(void)
{
  ssize_t shape[] = {2, 3};
  xd_array_t *array = ramp(2, shape);
  xd_lease_t *lease = xd_array_lease(array, XD_LEASE_SHARE, &error);
  CHECK(lease != NULL && xd_array_lease(array, XD_LEASE_READ, &error) == NULL);
  CHECK(strstr(xd_error_message(error), "MemoryView") == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "a C lease");
  xd_lease_release(lease);
  xd_array_free(array);
}

static void tensors(void)
{
  ssize_t shape[] = {2, 3};
  xd_array_t *array = ramp(2, shape), *turned = xd_array_transpose(array, &error);
  struct DLManagedTensorVersioned *tensor = xd_array_to_dlpack(turned, XD_EXPORT_IN_PLACE, &error);
  CHECK(tensor != NULL && xd_array_lease(array, XD_LEASE_READ, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "");
  xd_array_t *back = xd_array_from_dlpack(tensor, &error);
  CHECK(xd_array_address(back) == xd_array_address(array) && at(back, 2, 1) == 5);
  xd_array_free(back);
  xd_lease_t *lease = xd_array_lease(array, XD_LEASE_READ, &error);
  CHECK(lease != NULL);
  xd_lease_release(lease);

  back = xd_array_from_dlpack_legacy(xd_array_to_dlpack_legacy(array, XD_EXPORT_COPY, &error), &error);
  CHECK(xd_array_is_readonly(back) && xd_array_address(back) != xd_array_address(array));
  CHECK(xd_array_to_dlpack(back, XD_EXPORT_IN_PLACE, &error) == NULL);
  CHECK_ERROR(XD_ERROR_REFUSED, "read-only");
  xd_array_t *trusted = xd_array_from_dlpack(xd_array_to_dlpack(back, XD_EXPORT_TRUST_READONLY, &error), &error);
  CHECK(trusted != NULL && xd_array_is_readonly(trusted) && xd_array_address(trusted) == xd_array_address(back));
  CHECK(xd_array_to_dlpack(back, 0x100, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "0x100");
  xd_array_free(trusted);
  xd_array_free(back);
  xd_array_free(turned);
  xd_array_free(array);
}

/* A second import of a buffer's memory. */
static xd_array_t *import(int32_t *numbers, size_t ndim, const ssize_t *shape)
{
  xd_dtype_t *i32 = xd_dtype_parse("<i4", &error);
  xd_buffer_t *buffer = xd_buffer_adopt(numbers, 400 * sizeof *numbers, XD_BIRTH_ALIASED, NULL, NULL, &error);
  xd_array_t *array = xd_array_from_buffer(buffer, i32, ndim, shape, NULL, 0, &error);
  CHECK(array != NULL);
  xd_buffer_free(buffer);
  xd_dtype_free(i32);
  return array;
}

/* Assignment between two imports of one memory gives the same result as a copy made first. */
static void same_memory_twice(void)
{
  static int32_t numbers[400];
  ssize_t line[] = {400}, square[] = {20, 20};
  for (int k = 0; k < 400; k++)
    numbers[k] = k;
  xd_array_t *one = import(numbers, 1, line), *two = import(numbers, 1, line);
  xd_array_t *behind = xd_array_at(one, "1:", &error), *front = xd_array_at(two, ":-1", &error);
  CHECK(xd_array_assign(behind, front, XD_CASTING_CHECKED, &error));
  for (int k = 1; k < 400; k++)
    CHECK(numbers[0] == 0 && numbers[k] == k - 1);
  xd_array_t *reversed = xd_array_at(two, "::-1", &error);
  CHECK(xd_array_assign(one, reversed, XD_CASTING_CHECKED, &error));
  for (int k = 0; k < 399; k++)
    CHECK(numbers[399] == 0 && numbers[k] == 398 - k);

  xd_array_t *matrix = import(numbers, 2, square);
  struct DLManagedTensorVersioned *tensor = xd_array_to_dlpack(matrix, XD_EXPORT_IN_PLACE, &error);
  xd_array_t *back = xd_array_from_dlpack(tensor, &error), *turned = xd_array_transpose(back, &error);
  CHECK(xd_array_assign(matrix, turned, XD_CASTING_CHECKED, &error));
  for (int k = 0; k < 399; k++)
    CHECK(numbers[k % 20 * 20 + k / 20] == 398 - k);

  /* Without overlap there is no extra copy. */
  xd_array_t *first = xd_array_at(one, ":200", &error), *second = xd_array_at(two, "200:", &error);
  uint64_t before = xd_copied_bytes_here();
  CHECK(xd_array_assign(first, second, XD_CASTING_CHECKED, &error) && xd_copied_bytes_here() - before == 800);
  CHECK(xd_array_assign(one, two, XD_CASTING_CHECKED, &error) && xd_copied_bytes_here() - before == 800);
  xd_array_t *all[] = {one, two, behind, front, reversed, matrix, back, turned, first, second};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    xd_array_free(all[k]);
}

int main(int argc, char **argv)
{
  CHECK(argc == 2);
  made();
  views();
  elements();
  values();
  conversions();
  files(argv[1]);
  volumes(argv[1]);
  holders();
  tensors();
  same_memory_twice();
  return 0;
}
