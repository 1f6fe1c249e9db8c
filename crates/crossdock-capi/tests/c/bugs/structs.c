/* Known bugs of Ruby's MemoryView: formats, structs, and the addresses of items. */

#include <stddef.h>

#include "bugs.h"

/* No function returns an item at this index. */
static void check_outside(const xd_memory_view_t *view, const ssize_t *index, const char *words)
{
  xd_value value = {XD_VALUE_INT, {0}, 0, {1}};
  CHECK_REFUSED(xd_memory_view_get_item_pointer(view, index) != NULL, words);
  CHECK_REFUSED(xd_memory_view_get_item(view, index).kind != XD_VALUE_NIL, words);
  CHECK_REFUSED(xd_memory_view_read_item(view, index, &value, 1) != -1, words);
  CHECK(!xd_memory_view_set_item(view, index, &value, &error));
  CHECK_ERROR(XD_ERROR_BOUNDS, words);
}

static void null_strides(void)
{
  unsigned char bytes[6] = {0};
  ssize_t shape[] = {2, 3};
  xd_memory_view_t view = of_bytes(bytes, 6);
  CHECK(view.strides == NULL && xd_memory_view_is_contiguous(&view));
  CHECK(xd_memory_view_is_row_major_contiguous(&view) && xd_memory_view_is_column_major_contiguous(&view));
  CHECK(xd_memory_view_is_row_major_contiguous_strictly(&view) && xd_memory_view_is_column_major_contiguous_strictly(&view));
  view.ndim = 2;
  CHECK(xd_memory_view_is_row_major_contiguous(&view)); /* also without a shape */
  view.shape = shape;
  CHECK(xd_memory_view_is_contiguous(&view) && xd_memory_view_is_row_major_contiguous_strictly(&view));
  CHECK(!xd_memory_view_is_column_major_contiguous(&view) && !xd_memory_view_is_column_major_contiguous_strictly(&view));
}

static void white_space(void)
{
  static const char *const spelt[] = {"f x2 d", " f\tx2\n d ", "\v\ff x2\rd"};
  unsigned char item[14] = {0, 0, 0xc0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40};
  for (size_t k = 0; k < COUNT(spelt); k++) {
    xd_memory_view_item_component_t *components;
    size_t n;
    const char *err = "set";
    CHECK(xd_memory_view_item_size_from_format(spelt[k], &err) == 14 && err == NULL);
    CHECK(xd_memory_view_parse_item_format(spelt[k], &components, &n, &err) == 14 && n == 2 && err == NULL);
    CHECK(components[0].format == 'f' && components[0].offset == 0 && components[0].repeat == 1);
    CHECK(components[1].format == 'd' && components[1].offset == 6 && components[1].little_endian_p);
    xd_value value = xd_memory_view_extract_item_members(item, components, n);
    CHECK(value.kind == XD_VALUE_LIST && value.len == 2 && value.as.items[0].as.f == 1.5 && value.as.items[1].as.f == 2);
    xd_value_free(&value);
    xd_memory_view_free_components(components, n);

    xd_memory_view_t view = of_bytes(item, 14);
    ssize_t first[] = {0};
    view.format = spelt[k];
    view.item_size = 14;
    value = xd_memory_view_get_item(&view, first);
    CHECK(value.len == 2 && value.as.items[1].as.f == 2);
    xd_value_free(&value);
    CHECK(xd_memory_view_prepare_item_desc(&view) && view.item_desc.length == 2);
    xd_memory_view_free_components(view.item_desc.components, view.item_desc.length);
  }
}

static void empty_axis(void)
{
  unsigned char bytes[8] = {0};
  ssize_t shape[] = {2, 0, 3}, strides[] = {9, 9, 9}, first[] = {0, 0, 0};
  xd_memory_view_t view = of_bytes(bytes, 0);
  view.ndim = 3;
  view.shape = shape;
  check_outside(&view, first, "axis 1 of length 0");
  CHECK(xd_memory_view_is_row_major_contiguous(&view) && xd_memory_view_is_row_major_contiguous_strictly(&view));
  CHECK(xd_memory_view_fill_contiguous_strides(3, 8, shape, true, strides));
  CHECK(strides[0] == 0 && strides[1] == 24 && strides[2] == 8);

  /* A producer that leaves the strides to the hub. */
  lender one;
  lend(&one, bytes, 0, false);
  one.says.ndim = 3;
  one.says.shape = shape;
  CHECK(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_STRIDES) && view.strides != NULL && view.shape[1] == 0);
  check_outside(&view, first, "axis 1 of length 0");
  CHECK(xd_memory_view_release(&view));
}

static void one_axis_indirect(void)
{
  static char words[] = "abcdefgh";
  char *table[] = {words, words + 4, NULL};
  ssize_t shape[] = {3}, strides[] = {sizeof table[0]}, sub_offsets[] = {3}, index[] = {1}, last[] = {2};
  xd_memory_view_t view = of_bytes(table, sizeof table);
  view.shape = shape;
  view.strides = strides;
  view.sub_offsets = sub_offsets;
  CHECK(xd_memory_view_get_item_pointer(&view, index) == words + 7 && xd_memory_view_get_item(&view, index).as.u == 'h');
  CHECK_REFUSED(xd_memory_view_get_item_pointer(&view, last) != NULL, "the pointer at index 2 is null");

  lender one;
  lend(&one, table, sizeof table, true);
  shape[0] = 2;
  one.says.shape = shape;
  one.says.strides = strides;
  one.says.sub_offsets = sub_offsets;
  CHECK_REFUSED(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_STRIDES), "INDIRECT");
  CHECK(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_INDIRECT) && view.sub_offsets[0] == 3);
  CHECK(xd_memory_view_get_item(&view, index).as.u == 'h' && !xd_memory_view_is_contiguous(&view));
  CHECK(xd_memory_view_release(&view));
}

static void overflow(void)
{
  static const struct {
    const char *format;
    int place;
  } formats[] = {{"c9223372036854775808", 0},    {"c18446744073709551615", 0},  {"cc18446744073709551616", 1},
                 {"cq2305843009213693952", 1},   {"c99999999999999999999", 0},  {"x9223372036854775807x", 20},
                 {"|c9223372036854775807q", 21}, {"c9223372036854775807 c", 21}};
  unsigned char bytes[8] = {0};
  for (size_t k = 0; k < COUNT(formats); k++) {
    const char *format = formats[k].format, *place = format + formats[k].place, *err = "not set";
    xd_memory_view_item_component_t *components = NULL;
    size_t n = 99;
    char words[32];
    CHECK(xd_memory_view_item_size_from_format(format, &err) == -1 && err == place);
    err = "not set";
    CHECK(xd_memory_view_parse_item_format(format, &components, &n, &err) == -1 && err == place);
    CHECK(xd_memory_view_parse_item_format(format, &components, &n, NULL) == -1 && components == NULL && n == 0);
    xd_memory_view_t view = of_bytes(bytes, 8);
    view.format = format;
    snprintf(words, sizeof words, "byte %d", formats[k].place);
    CHECK_REFUSED(xd_memory_view_prepare_item_desc(&view), words);
    CHECK(view.item_desc.components == NULL);
    lender one;
    lend(&one, bytes, 8, true);
    one.says.format = format;
    CHECK_REFUSED(xd_memory_view_get(&one, &view, XD_MEMORY_VIEW_SIMPLE), words);
  }
  ssize_t shape[] = {2, (ssize_t)1 << 40, (ssize_t)1 << 40}, strides[] = {7, 7, 7};
  CHECK_REFUSED(xd_memory_view_fill_contiguous_strides(3, 8, shape, true, strides), "");
  shape[1] = -1;
  CHECK_REFUSED(xd_memory_view_fill_contiguous_strides(3, 8, shape, false, strides), "-1");
  CHECK(strides[0] == 7 && strides[1] == 7 && strides[2] == 7);
}

static void out_of_bounds(void)
{
  static const ssize_t outside[] = {-1, 3, (ssize_t)1 << 40, PTRDIFF_MIN, PTRDIFF_MAX};
  unsigned char bytes[3] = {0};
  xd_array_t *array = ramp("|u1", 3);
  xd_memory_view_t views[2] = {of_bytes(bytes, 3)};
  CHECK(xd_memory_view_get(array, &views[1], XD_MEMORY_VIEW_WRITABLE));
  for (size_t k = 0; k < COUNT(views); k++)
    for (size_t n = 0; n < COUNT(outside); n++)
      check_outside(&views[k], &outside[n], "axis 0 of length 3");
  CHECK(xd_memory_view_release(&views[1]));
  xd_array_free(array);

  /* If the product of the axes overflows, no item is beyond the address space. */
  ssize_t huge[] = {4, (ssize_t)1 << 62}, index[] = {3, 5};
  views[0].ndim = 2;
  views[0].shape = huge;
  CHECK_REFUSED(xd_memory_view_get_item_pointer(&views[0], index) != NULL, "bytes");
}

static void contiguity_rules(void)
{
  static const struct {
    ssize_t ndim, shape[3], strides[3];
    bool numpys, originals;
  } cases[] = {
    {3, {2, (ssize_t)1 << 61, 8}, {0, 64, 8}, false, false}, /* the product wraps to 0 */
    {2, {1, 3}, {999, 8}, true, false},
    {2, {3, 0}, {24, 8}, true, false},
    {2, {3, 0}, {0, 8}, true, true},
    {2, {2, 3}, {24, 8}, true, true},
    {2, {2, 3}, {-24, 8}, false, false},
  };
  for (size_t k = 0; k < COUNT(cases); k++) {
    unsigned char byte = 0;
    xd_memory_view_t view = of_bytes(&byte, 1);
    view.item_size = 8;
    view.ndim = cases[k].ndim;
    view.shape = cases[k].shape;
    view.strides = cases[k].strides;
    CHECK(xd_memory_view_is_row_major_contiguous(&view) == cases[k].numpys);
    CHECK(xd_memory_view_is_row_major_contiguous_strictly(&view) == cases[k].originals);
  }
}

static void char_sign(void)
{
  unsigned char byte = 0xff;
  ssize_t first[] = {0};
  xd_memory_view_t view = of_bytes(&byte, 1);
  view.format = "c";
  xd_value value = xd_memory_view_get_item(&view, first);
  CHECK(value.kind == XD_VALUE_INT && value.as.i == -1);
  CHECK(!xd_memory_view_set_item(&view, first, &(xd_value){XD_VALUE_INT, {0}, 0, {128}}, &error));
  CHECK_ERROR(XD_ERROR_VALUE, "128");
  view.format = "C";
  CHECK(xd_memory_view_get_item(&view, first).as.i == 255);
  xd_array_t *array = ramp("|i1", 1);
  CHECK(xd_memory_view_get(array, &view, XD_MEMORY_VIEW_FORMAT) && strcmp(view.format, "c") == 0 && xd_memory_view_release(&view));
  xd_array_free(array);
}

static void flags_of_components(void)
{
  xd_memory_view_item_component_t *components;
  size_t n;
  CHECK(sizeof *components == 32 && offsetof(xd_memory_view_item_component_t, native_size_p) == 1);
  CHECK(offsetof(xd_memory_view_item_component_t, little_endian_p) == 2);
  CHECK(xd_memory_view_parse_item_format("qq>q!<q!>", &components, &n, NULL) == 32 && n == 4);
  for (size_t k = 0; k < n; k++) {
    const unsigned char *bytes = (const unsigned char *)&components[k];
    CHECK(bytes[0] == 'q' && bytes[1] == k / 2 && bytes[2] == (k + 1) % 2);
  }
  xd_memory_view_free_components(components, n);
}

int main(void)
{
  static const bug bugs[] = {
    {"null-strides", null_strides},
    {"white-space", white_space},
    {"empty-axis", empty_axis},
    {"one-axis-indirect", one_axis_indirect},
    {"overflow", overflow},
    {"out-of-bounds", out_of_bounds},
    {"contiguity-rules", contiguity_rules},
    {"char-sign", char_sign},
    {"flags-of-components", flags_of_components},
  };
  meet(bugs, COUNT(bugs));
  return 0;
}
