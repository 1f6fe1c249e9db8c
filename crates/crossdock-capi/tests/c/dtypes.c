/* Dtypes, in every dialect. */

#include "check.h"

static void scalars(void)
{
  static const struct { const char *typestr, *text; int32_t kind; size_t itemsize, alignment; char order; } rows[] = {
    {"|b1", "bool", XD_DTYPE_BOOL, 1, 1, 0},
    {"<i2", "int16", XD_DTYPE_INT, 2, 2, '<'},
    {">u8", ">uint64", XD_DTYPE_UINT, 8, 8, '>'},
    {"<f2", "float16", XD_DTYPE_FLOAT, 2, 2, '<'},
    {"<c16", "complex128", XD_DTYPE_COMPLEX, 16, 8, '<'},
    {"|S5", "S5", XD_DTYPE_BYTES, 5, 1, 0},
    {"<U2", "U2", XD_DTYPE_TEXT, 8, 4, '<'},
    {"|V3", "V3", XD_DTYPE_VOID, 3, 1, 0},
    {"<M8[ns]", "datetime64[ns]", XD_DTYPE_DATETIME, 8, 8, '<'},
    {"<m8[s]", "timedelta64[s]", XD_DTYPE_TIMEDELTA, 8, 8, '<'},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    xd_dtype_t *dtype = xd_dtype_parse(rows[i].typestr, &error);
    CHECK(dtype != NULL);
    CHECK(xd_dtype_kind(dtype) == rows[i].kind && xd_dtype_itemsize(dtype) == rows[i].itemsize);
    CHECK(xd_dtype_alignment(dtype) == rows[i].alignment && xd_dtype_byte_order(dtype) == rows[i].order);
    CHECK(is_text(xd_dtype_to_text(dtype, &error), rows[i].text));
    CHECK(is_text(xd_dtype_to_typestr(dtype, &error), rows[i].typestr));
    CHECK(xd_dtype_field_count(dtype) == 0 && xd_dtype_base(dtype) == NULL && xd_dtype_shape(dtype) == NULL);
    xd_dtype_t *again = xd_dtype_clone(dtype, &error);
    CHECK(xd_dtype_equals(dtype, again) && !xd_dtype_equals(dtype, NULL));
    xd_dtype_free(dtype);
    xd_dtype_free(again);
  }
  static const char *const names[] = {"float64", ">int16", "datetime64[ns]", "bfloat16", "bool"};
  for (size_t i = 0; i < COUNT(names); i++) {
    xd_dtype_t *dtype = xd_dtype_parse(names[i], &error);
    CHECK(dtype != NULL && is_text(xd_dtype_to_text(dtype, &error), names[i]));
    xd_dtype_free(dtype);
  }
  CHECK(xd_dtype_parse("flaot64", &error) == NULL);
  CHECK_ERROR(XD_ERROR_MALFORMED, "write a name such as float32");
  CHECK(xd_dtype_parse("|O", &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "");
  CHECK(xd_dtype_parse("\xff", &error) == NULL);
  CHECK_ERROR(XD_ERROR_MALFORMED, "UTF-8");
}

static void dlpack(void)
{
  uint8_t code = 9, bits = 9;
  uint16_t lanes = 9;
  xd_dtype_t *dtype = xd_dtype_from_dlpack(4, 16, 1, &error);
  CHECK(xd_dtype_kind(dtype) == XD_DTYPE_BFLOAT);
  CHECK(xd_dtype_to_dlpack(dtype, &code, &bits, &lanes, &error) && code == 4 && bits == 16 && lanes == 1);
  CHECK(xd_dtype_to_dlpack(dtype, NULL, NULL, NULL, &error));
  xd_dtype_t *swapped = xd_dtype_with_byte_order(dtype, '>', &error);
  CHECK(!xd_dtype_to_dlpack(swapped, &code, &bits, &lanes, &error));
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, ">bfloat16");
  CHECK(xd_dtype_with_byte_order(dtype, '!', &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`order`");
  xd_dtype_free(dtype);
  xd_dtype_free(swapped);
  CHECK(xd_dtype_from_dlpack(2, 64, 4, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "4 lanes");
}

static void templates(void)
{
  xd_dtype_t *dtype = xd_dtype_parse_pack("|cq2", &error), *grid, *complex;
  CHECK(is_text(xd_dtype_to_text(dtype, &error), "{f0: int8 @0, f1: (2,)int64 @8; 24}"));
  grid = xd_dtype_parse_pack("s>3", &error);
  CHECK(is_text(xd_dtype_to_pack(grid, false, &error), "s>3"));
  xd_dtype_free(grid);
  xd_dtype_free(dtype);
  CHECK(xd_dtype_parse_pack("ccc4a", &error) == NULL);
  CHECK_ERROR(XD_ERROR_MALFORMED, "byte 4");
  CHECK(xd_dtype_parse_pack("q2305843009213693952", &error) == NULL);
  CHECK_ERROR(XD_ERROR_OVERFLOW, "byte 0");
  complex = xd_dtype_parse("<c16", &error);
  CHECK(xd_dtype_to_pack(complex, false, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "complex128");
  CHECK(is_text(xd_dtype_to_pack(complex, true, &error), "dd"));
  xd_dtype_free(complex);
}

static void trees(void)
{
  xd_dtype_t *f64 = xd_dtype_parse("<f8", &error), *u8 = xd_dtype_parse("|u1", &error);
  ssize_t shape[] = {2, 3}, negative[] = {-1};
  xd_dtype_t *grid = xd_dtype_subarray(u8, 2, shape, &error);
  CHECK(xd_dtype_kind(grid) == XD_DTYPE_SUBARRAY && xd_dtype_itemsize(grid) == 6 && xd_dtype_ndim(grid) == 2);
  CHECK(xd_dtype_shape(grid)[1] == 3 && xd_dtype_equals(xd_dtype_base(grid), u8));
  CHECK(xd_dtype_subarray(u8, 1, negative, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "`shape` is negative at axis 0: -1");
  CHECK(xd_dtype_subarray(u8, 65, shape, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "65 axes");

  const char *names[] = {"price", "codes"};
  const xd_dtype_t *parts[] = {f64, grid};
  size_t offsets[] = {8, 0}, far[] = {9, 0};
  xd_dtype_t *packed = xd_dtype_record(2, names, parts, NULL, 0, &error);
  CHECK(is_text(xd_dtype_to_text(packed, &error), "{price: float64 @0, codes: (2, 3)uint8 @8; 14}"));
  xd_dtype_t *placed = xd_dtype_record(2, names, parts, offsets, 16, &error);
  CHECK(xd_dtype_kind(placed) == XD_DTYPE_RECORD && xd_dtype_field_count(placed) == 2);
  CHECK(!xd_dtype_equals(packed, placed));
  CHECK(xd_dtype_record(2, names, parts, far, 16, &error) == NULL);
  CHECK_ERROR(XD_ERROR_DTYPE, "16");
  parts[1] = NULL;
  CHECK(xd_dtype_record(2, names, parts, NULL, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`dtypes[1]`");

  xd_field field;
  CHECK(xd_dtype_field(placed, 1, &field) && field.name_len == 5 && memcmp(field.name, "codes", 5) == 0);
  CHECK(field.offset == 0 && xd_dtype_equals(field.dtype, grid));
  CHECK(xd_dtype_find_field(placed, "price", &field) && field.offset == 8);
  CHECK(xd_dtype_find_field(placed, "price", NULL) && !xd_dtype_find_field(placed, "volume", &field));
  CHECK(!xd_dtype_field(placed, 2, &field) && !xd_dtype_field(f64, 0, &field));

  xd_dtype_free(f64);
  xd_dtype_free(u8);
  xd_dtype_free(grid);
  xd_dtype_free(packed);
  xd_dtype_free(placed);
}

int main(void)
{
  scalars();
  dlpack();
  templates();
  trees();
  return 0;
}
