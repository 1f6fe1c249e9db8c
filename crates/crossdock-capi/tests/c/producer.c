/* The header for producers: what it refuses, and whose memory it releases when. */

#include <crossdock_producer.h>

#include "check.h"

static int released;

static void release(void *owner)
{
  (void)owner;
  released++;
}

static double numbers[24];
static const int64_t shape[] = {2, 3, 4};
static xdp_error why;

static xdp_memory described(void)
{
  xdp_memory memory = xdp_describe(numbers, XDP_FLOAT64, 3, shape);
  memory.release = release;
  return memory;
}

/* All exports refuse a description, with these words, and release nothing. */
static void refused(const xdp_memory *memory, const char *words)
{
  struct ArrowSchema schema, unchanged_schema;
  struct ArrowArray column, unchanged_column;
  xd_memory_view_t view;
  bool is_done = true;
  int before = released;
  memset(&schema, 0xa5, sizeof schema), memset(&unchanged_schema, 0xa5, sizeof schema);
  memset(&column, 0xa5, sizeof column), memset(&unchanged_column, 0xa5, sizeof column);
  CHECK(xdp_to_dlpack(memory, &why) == NULL);
  if (strstr(why.message, words) == NULL)
    fprintf(stderr, "no \"%s\" in: %s\n", words, why.message);
  CHECK(strstr(why.message, words) != NULL);
  CHECK(xdp_to_dlpack(memory, NULL) == NULL && xdp_to_dlpack_legacy(memory, NULL) == NULL);
  CHECK(!xdp_to_arrow(memory, NULL, &schema, &column, &why) && strstr(why.message, words) != NULL);
  CHECK(memcmp(&schema, &unchanged_schema, sizeof schema) == 0 && memcmp(&column, &unchanged_column, sizeof column) == 0);
  xdp_fill_view(memory, &view, NULL, 0, &why, &is_done);
  CHECK(!is_done && strstr(why.message, words) != NULL && released == before);
}

static void what_is_no_array_is_refused_with_its_numbers(void)
{
  int64_t negative[] = {2, -3, 4}, huge[] = {INT64_MAX, INT64_MAX, 2}, far[] = {8, INT64_MAX, 8}, most[] = {8, INT64_MIN, 8};
  int64_t empty_and_huge[] = {0, INT64_MAX, INT64_MAX};
  xdp_memory memory;
  refused(NULL, "`memory`");
  memory = described(), memory.dtype = 7, refused(&memory, "dtype is 7");
  memory = described(), memory.dtype = -1, refused(&memory, "dtype is -1");
  memory = described(), memory.ndim = 65, refused(&memory, "65 axes");
  memory = described(), memory.ndim = -1, refused(&memory, "-1 axes");
  memory = described(), memory.ndim = INT32_MAX, refused(&memory, "2147483647 axes");
  memory = described(), memory.shape = NULL, refused(&memory, "no shape");
  memory = described(), memory.data = NULL, refused(&memory, "24 elements");
  memory = described(), memory.shape = negative, refused(&memory, "axis 1 has length -3");
  memory = described(), memory.shape = huge, refused(&memory, "2^63 bytes from axis");
  memory = described(), memory.shape = empty_and_huge, refused(&memory, "2^63 bytes from axis 2");
  memory = described(), memory.strides = far, refused(&memory, "axis 1 of length 3 and stride 9223372036854775807");
  memory = described(), memory.strides = most, refused(&memory, "axis 1 of length 3 and stride -9223372036854775808");
}

static void a_protocol_refuses_what_it_cannot_express(void)
{
  struct ArrowSchema schema;
  struct ArrowArray column;
  xd_memory_view_t view;
  int64_t uneven[] = {96, 32, 12}, turned[] = {8, 16, 48}, wide[] = {1, 1 << 20, 1 << 12};
  bool is_done;
  xdp_memory memory = described();
  memory.strides = uneven;
  CHECK(xdp_to_dlpack(&memory, &why) == NULL && strstr(why.message, "axis 2, 12 bytes, is no multiple of 8") != NULL);
  memory.strides = turned;
  CHECK(!xdp_to_arrow(&memory, NULL, &schema, &column, &why) && strstr(why.message, "axis 2 is 48 bytes, and must be 8") != NULL);
  xdp_fill_view(&memory, &view, NULL, XD_MEMORY_VIEW_ROW_MAJOR, &why, &is_done);
  CHECK(!is_done && strstr(why.message, "flags 28") != NULL);
  xdp_fill_view(&memory, &view, NULL, XD_MEMORY_VIEW_COLUMN_MAJOR, &why, &is_done);
  CHECK(is_done && view.strides[2] == 48 && view.byte_size == 192 && why.message[0] == 0);
  xdp_release_view(view.private_data);
  CHECK(released == 1);
  xdp_release_view(NULL);

  memory = described(), memory.readonly = true;
  CHECK(xdp_to_dlpack_legacy(&memory, &why) == NULL && strstr(why.message, "read-only") != NULL);
  xdp_fill_view(&memory, &view, NULL, XD_MEMORY_VIEW_WRITABLE, &why, &is_done);
  CHECK(!is_done && strstr(why.message, "read-only") != NULL);

  memory = described(), memory.dtype = XDP_COMPLEX64;
  CHECK(!xdp_to_arrow(&memory, NULL, &schema, &column, &why) && strstr(why.message, "code 5 with 64 bits") != NULL);
  memory.dtype = XDP_BFLOAT16;
  xdp_fill_view(&memory, &view, NULL, 0, &why, &is_done);
  CHECK(!is_done && strstr(why.message, "code 4 with 16 bits") != NULL);

  memory = described(), memory.ndim = 0;
  CHECK(!xdp_to_arrow(&memory, NULL, &schema, &column, &why) && strstr(why.message, "0 axes") != NULL);
  memory = described(), memory.shape = wide, memory.dtype = XDP_UINT8;
  CHECK(!xdp_to_arrow(&memory, NULL, &schema, &column, &why) && strstr(why.message, "2147483647") != NULL);
  memory = described();
  CHECK(!xdp_to_arrow(&memory, NULL, NULL, &column, &why) && strstr(why.message, "`schema`") != NULL);
  CHECK(!xdp_to_arrow(&memory, NULL, &schema, NULL, &why) && strstr(why.message, "`array`") != NULL);
  memory.device_type = 2, memory.device_id = 1; /* cuda:1 */
  CHECK(!xdp_to_arrow(&memory, NULL, &schema, &column, &why) && strstr(why.message, "(2, 1)") != NULL);
  CHECK(released == 1);
}

static const int32_t dtypes[] = {XDP_INT8, XDP_INT16, XDP_INT32, XDP_INT64, XDP_UINT8, XDP_UINT16, XDP_UINT32, XDP_UINT64,
  XDP_FLOAT16, XDP_FLOAT32, XDP_FLOAT64, XDP_BFLOAT16, XDP_COMPLEX64, XDP_COMPLEX128, XDP_BOOL};
static const char *const names[] = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
  "float16", "float32", "float64", "bfloat16", "complex64", "complex128", "bool"};

/* Whether an array is the memory, element for element, in place; frees it. */
static bool is_in_place(xd_array_t *array, const char *dtype, const ssize_t *strides)
{
  char *text = xd_dtype_to_text(xd_array_dtype(array), &error);
  bool same = text != NULL && strcmp(text, dtype) == 0 && xd_array_ndim(array) == 3 && xd_array_address(array) == (uintptr_t)numbers &&
    (strides == NULL || memcmp(xd_array_strides(array), strides, 3 * sizeof *strides) == 0);
  if (!same)
    fprintf(stderr, "%s instead of %s\n", text == NULL ? xd_error_message(error) : text, dtype);
  xd_string_free(text);
  xd_array_free(array);
  return same;
}

static void every_dtype_arrives_in_place(void)
{
  static const int64_t steps[] = {-64, 32, 16};
  static const ssize_t expected[] = {-64, 32, 16};
  for (size_t k = 0; k < COUNT(dtypes); k++) {
    int before = released;
    xdp_memory memory = described();
    memory.dtype = dtypes[k];
    CHECK(is_in_place(xd_array_from_dlpack(xdp_to_dlpack(&memory, NULL), &error), names[k], NULL));
    CHECK(is_in_place(xd_array_from_dlpack_legacy(xdp_to_dlpack_legacy(&memory, NULL), &error), names[k], NULL));
    CHECK(released == before + 2);
    if (xdp_arrow_format_(dtypes[k])) {
      struct ArrowSchema schema;
      struct ArrowArray column;
      CHECK(xdp_to_arrow(&memory, "numbers", &schema, &column, NULL) && strcmp(schema.name, "numbers") == 0);
      CHECK(is_in_place(xd_array_from_arrow(&schema, &column, NULL, &error), names[k], NULL));
      CHECK(released == before + 3);
    }
  }
  /* Any strides: the first axis backwards. */
  xdp_memory memory = described();
  memory.dtype = XDP_INT16, memory.strides = steps, memory.readonly = true;
  xd_array_t *array = xd_array_from_dlpack(xdp_to_dlpack(&memory, NULL), &error);
  CHECK(array != NULL && xd_array_is_readonly(array) && is_in_place(array, "int16", expected));
}

/* A consumer may move the items out of a column, and release them after it. */
static void items_outlive_their_column(void)
{
  struct ArrowSchema schema, item_schema;
  struct ArrowArray column, items;
  xdp_memory memory = described();
  int before = released;
  CHECK(xdp_to_arrow(&memory, NULL, &schema, &column, NULL));
  items = *column.children[0], column.children[0]->release = NULL;
  item_schema = *schema.children[0], schema.children[0]->release = NULL;
  column.release(&column);
  schema.release(&schema);
  CHECK(released == before && column.release == NULL && items.buffers[1] == numbers && strcmp(item_schema.name, "item") == 0);
  items.release(&items);
  item_schema.release(&item_schema);
  CHECK(released == before + 1);
}

static void empty_arrays_and_single_elements_are_arrays(void)
{
  static const int64_t empty[] = {0, 3, 4};
  struct ArrowSchema schema;
  struct ArrowArray column;
  xd_array_t *array;
  xdp_memory memory = xdp_describe(NULL, XDP_INT32, 3, empty);
  array = xd_array_from_dlpack(xdp_to_dlpack(&memory, &why), &error);
  CHECK(array != NULL && xd_array_len(array) == 0);
  xd_array_free(array);
  CHECK(xdp_to_arrow(&memory, NULL, &schema, &column, &why));
  array = xd_array_from_arrow(&schema, &column, NULL, &error);
  CHECK(array != NULL && xd_array_len(array) == 0);
  xd_array_free(array);
  memory = xdp_describe(numbers, XDP_FLOAT64, 0, NULL);
  array = xd_array_from_dlpack(xdp_to_dlpack(&memory, &why), &error);
  CHECK(array != NULL && xd_array_ndim(array) == 0 && xd_array_address(array) == (uintptr_t)numbers);
  xd_array_free(array);
}

int main(void)
{
  what_is_no_array_is_refused_with_its_numbers();
  a_protocol_refuses_what_it_cannot_express();
  every_dtype_arrives_in_place();
  items_outlive_their_column();
  empty_arrays_and_single_elements_are_arrays();
  return 0;
}
