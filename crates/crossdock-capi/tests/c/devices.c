/* Devices of one's own by callbacks, copies to and from them, and what has no device. */

#include "arrow.h"
#include "check.h"

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

enum { KIND = 7011 };

/* A device whose objects are the numbers of its blocks. */
struct board {
  char *blocks[64];
  size_t live, calls, copied;
  int fails_with, released, is_full;
};

static int allocate(void *context, int32_t ordinal, size_t nbytes, void **object)
{
  struct board *board = context;
  board->calls++;
  if (board->fails_with != 0)
    return board->fails_with;
  for (size_t k = 1; k < COUNT(board->blocks) && !board->is_full; k++)
    if (board->blocks[k] == NULL) {
      board->blocks[k] = malloc(nbytes);
      board->live++;
      *object = (void *)(uintptr_t)(k + 1000 * (size_t)ordinal);
      return 0;
    }
  return 0; /* no memory */
}

static char *block(struct board *board, const void *object)
{
  return board->blocks[(uintptr_t)object % 1000];
}

static int give_back(void *context, int32_t ordinal, void *object, size_t nbytes)
{
  struct board *board = context;
  (void)ordinal, (void)nbytes;
  free(block(board, object));
  board->blocks[(uintptr_t)object % 1000] = NULL;
  board->live--;
  return board->fails_with;
}

static int copy(void *context, int32_t ordinal, const xd_device_copy *copy)
{
  struct board *board = context;
  (void)ordinal;
  if (board->fails_with != 0)
    return board->fails_with;
  char *to = copy->to_host ? copy->to : block(board, copy->to) + copy->to_offset;
  const char *from = copy->from_host ? copy->from : block(board, copy->from) + copy->from_offset;
  memcpy(to, from, copy->nbytes);
  board->copied += copy->nbytes;
  return 0;
}

static void release(void *context)
{
  ((struct board *)context)->released++;
}

static xd_device_driver driver_of(struct board *board)
{
  xd_device_driver driver = {KIND, 2, 1 << 20, "a board", allocate, give_back, copy, release, board};
  return driver;
}

static xd_array_t *numbers(void)
{
  xd_dtype_t *i4 = xd_dtype_parse("<i4", &error);
  ssize_t shape[] = {3, 4};
  int32_t list[12];
  for (int k = 0; k < 12; k++)
    list[k] = k;
  xd_buffer_t *buffer = xd_buffer_copy(list, sizeof list, &error);
  xd_array_t *array = xd_array_from_buffer(buffer, i4, 2, shape, NULL, 0, &error);
  CHECK(array != NULL);
  xd_buffer_free(buffer);
  xd_dtype_free(i4);
  return array;
}

static int64_t at(const xd_array_t *array, ssize_t row, ssize_t column)
{
  const ssize_t index[] = {row, column};
  xd_value value;
  CHECK(xd_array_get(array, index, &value, &error));
  return value.as.i;
}

static void arrays_go_to_a_device_of_callbacks_and_back(struct board *board)
{
  xd_array_t *here = numbers(), *columns = xd_array_at(here, ":, 1:3", &error);
  uint64_t before = xd_copied_bytes();
  xd_array_t *there = xd_array_to_device(here, KIND, 1, &error);
  CHECK(there != NULL && xd_array_device_kind(there) == KIND && xd_array_device_ordinal(there) == 1);
  CHECK(board->live == 1 && board->copied >= 48 && xd_copied_bytes() >= before + 48);
  CHECK(at(there, 1, 1) == 5); /* one element comes here */
  CHECK(xd_array_lease(there, XD_LEASE_PIN, &error) == NULL);
  CHECK_ERROR(XD_ERROR_PLACE, "xd_array_to_device");
  xd_value value;

  /* A part of it comes back, packed where that is needed. */
  xd_array_t *row = xd_array_at(there, "2", &error), *back = xd_array_to_device(row, XD_DEVICE_CPU, 0, &error);
  const ssize_t last[] = {3};
  CHECK(back != NULL && xd_array_get(back, last, &value, &error) && value.as.i == 11);
  xd_array_free(back);
  xd_array_t *packed = xd_array_to_device(columns, KIND, 0, &error), *again = xd_array_to_device(packed, XD_DEVICE_CPU, 0, &error);
  CHECK(again != NULL && at(again, 2, 1) == 10);
  xd_array_t *crossed = xd_array_to_device(packed, KIND, 1, &error); /* between two devices */
  xd_array_t *whole = xd_array_to_device(crossed, XD_DEVICE_CPU, 0, &error);
  CHECK(whole != NULL && at(whole, 0, 1) == 2);
  xd_usage usage;
  CHECK(xd_device_usage(KIND, 1, &usage, &error) && usage.live_count == 2 && usage.live_nbytes >= 48 + 24);
  CHECK(xd_array_map_to_device(here, KIND, 0, &error) == NULL && error == NULL);
  CHECK(xd_array_wait(there, &error) && xd_array_settle(there, &error));

  /* Bytes, and a refusal by the limit, by the driver, and by its error. */
  xd_buffer_t *bytes = xd_buffer_on_device(KIND, 0, 100, &error), *none = xd_buffer_on_device(KIND, 0, 0, &error);
  CHECK(bytes != NULL && none != NULL && xd_buffer_device_kind(bytes) == KIND && xd_buffer_device_ordinal(bytes) == 0);
  size_t live = board->live, asked = board->calls;
  CHECK(xd_buffer_on_device(KIND, 0, 1 << 20, &error) == NULL && board->live == live);
  CHECK_ERROR(XD_ERROR_OUT_OF_MEMORY, "1048576");
  CHECK(xd_buffer_on_device(KIND, 0, SIZE_MAX, &error) == NULL && board->calls == asked);
  CHECK_ERROR(XD_ERROR_OUT_OF_MEMORY, "18446744073709551615");
  board->is_full = 1;
  CHECK(xd_buffer_on_device(KIND, 0, 77, &error) == NULL);
  CHECK_ERROR(XD_ERROR_OUT_OF_MEMORY, "77 bytes");
  board->is_full = 0;
  board->fails_with = -5;
  CHECK(xd_buffer_on_device(KIND, 0, 77, &error) == NULL);
  CHECK_ERROR(XD_ERROR_DEVICE, "`allocate` of a board failed with -5");
  CHECK(xd_array_to_device(there, XD_DEVICE_CPU, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_DEVICE, "`copy` of a board failed with -5, for 48 bytes");
  uint64_t failed = xd_ledger_failed_releases();
  xd_buffer_free(bytes);
  board->fails_with = 0;
  CHECK(xd_ledger_failed_releases() == failed + 1);
  char *failures = xd_device_take_release_errors(&error);
  CHECK(failures != NULL && strstr(failures, "`free` of a board failed with -5, for 100 bytes") != NULL);
  xd_string_free(failures);
  CHECK(is_text(xd_device_take_release_errors(&error), ""));

#ifndef _WIN32
  /* A child of a fork calls nothing. */
  size_t calls = board->calls;
  pid_t child = fork();
  if (child == 0) {
    CHECK(xd_buffer_on_device(KIND, 0, 8, &error) == NULL && board->calls == calls);
    CHECK_ERROR(XD_ERROR_DEVICE, "parent");
    live = board->live;
    xd_array_free(there);
    CHECK(board->live == live);
    xd_buffer_free(none);
    xd_array_free(crossed), xd_array_free(whole), xd_array_free(packed), xd_array_free(again);
    xd_array_free(columns), xd_array_free(here), xd_array_free(row);
    CHECK(xd_device_unregister(KIND, &error) && board->released == 0 && board->live == live);
    _exit(0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
#endif

  xd_buffer_free(none);
  xd_array_free(crossed), xd_array_free(whole), xd_array_free(packed), xd_array_free(again);
  xd_array_free(columns), xd_array_free(here), xd_array_free(there);
  CHECK(board->live == 1);
  CHECK(xd_device_unregister(KIND, &error) && board->released == 0); /* the row keeps its memory */
  back = xd_array_to_device(row, XD_DEVICE_CPU, 0, &error);
  CHECK(back != NULL && xd_array_get(back, last, &value, &error) && value.as.i == 11);
  xd_array_free(back);
  xd_array_free(row);
  CHECK(board->live == 0 && board->released == 1);
}

/* Its objects are no addresses, even if its kind has some elsewhere. */
static void memory_without_addresses_is_not_exported(void)
{
  struct board board;
  memset(&board, 0, sizeof board);
  xd_device_driver driver = driver_of(&board);
  driver.kind = XD_DEVICE_EXT_DEV;
  CHECK(xd_device_register(&driver, &error));
  xd_array_t *here = numbers(), *there = xd_array_to_device(here, XD_DEVICE_EXT_DEV, 0, &error);
  xd_array_t *row = xd_array_at(there, "1", &error);
  xd_column_t *column = xd_column_from_array(row, "n", &error);
  const xd_column_t *columns[] = {column};
  xd_batch_t *batch = xd_batch_from_columns(1, columns, &error);
  CHECK(column != NULL && batch != NULL);
  struct ArrowSchema schema;
  struct ArrowDeviceArray array;
  CHECK(!xd_array_to_arrow_device(there, "n", 0, &schema, &array, &error));
  CHECK_ERROR(XD_ERROR_REFUSED, "has none");
  CHECK(!xd_column_to_arrow_device(column, &schema, &array, &error));
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "has none");
  CHECK(!xd_batch_to_arrow_device(batch, &schema, &array, &error));
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "has none");
  xd_batch_free(batch), xd_column_free(column), xd_array_free(row), xd_array_free(there), xd_array_free(here);
  CHECK(xd_device_unregister(XD_DEVICE_EXT_DEV, &error) && board.released == 1 && board.live == 0);
}

static void a_driver_without_its_parts_is_refused(void)
{
  struct board board, other;
  memset(&board, 0, sizeof board), memset(&other, 0, sizeof other);
  xd_device_driver driver = driver_of(&board);
  CHECK(!xd_device_register(NULL, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`driver`");
  driver.count = -1;
  CHECK(!xd_device_register(&driver, &error) && board.released == 1);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "-1");
  driver = driver_of(&board), driver.copy = NULL;
  CHECK(!xd_device_register(&driver, &error) && board.released == 2);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`driver->copy`");
  driver = driver_of(&board), driver.name = NULL;
  CHECK(!xd_device_register(&driver, &error) && board.released == 3);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`driver->name`");
  driver = driver_of(&board), driver.kind = XD_DEVICE_CPU;
  CHECK(!xd_device_register(&driver, &error) && board.released == 4);
  CHECK_ERROR(XD_ERROR_CONFLICT, "cpu");
  driver = driver_of(&other);
  CHECK(xd_device_register(&driver, &error));
  driver = driver_of(&board);
  CHECK(!xd_device_register(&driver, &error) && board.released == 5 && other.released == 0);
  CHECK_ERROR(XD_ERROR_CONFLICT, "");
  CHECK(xd_device_name(KIND, 2, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "2 devices");
  CHECK(xd_device_name(KIND, -1, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "");
  CHECK(is_text(xd_device_name(KIND, 1, &error), "a board"));
  int32_t kinds[8];
  size_t count = xd_device_kinds(kinds, COUNT(kinds));
  CHECK(count >= 2 && kinds[0] == XD_DEVICE_CPU && xd_device_kinds(NULL, SIZE_MAX) == count && xd_device_kinds(kinds, 0) == count);
  CHECK(xd_device_unregister(KIND, &error) && other.released == 1);
  CHECK(!xd_device_unregister(KIND, &error));
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "");
}

static void devices_that_do_not_exist_are_refused(void)
{
  xd_array_t *array = numbers();
  int32_t kind, ordinal;
  CHECK(xd_device_parse("cuda:3", &kind, &ordinal, &error) && kind == XD_DEVICE_CUDA && ordinal == 3);
  CHECK(is_text(xd_device_to_text(kind, ordinal, &error), "cuda:3") && xd_device_parse("cpu", NULL, NULL, &error));
  CHECK(!xd_device_parse("toaster:1", &kind, &ordinal, &error) && kind == 0 && ordinal == 0);
  CHECK_ERROR(XD_ERROR_MALFORMED, "toaster");
  CHECK(xd_array_to_device(array, XD_DEVICE_VULKAN, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "");
  CHECK(xd_array_to_device(array, INT32_MIN, INT32_MAX, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "");
  CHECK(xd_array_to_device(array, XD_DEVICE_CPU, 7, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "");
  CHECK(xd_array_to_device(array, XD_DEVICE_CUDA, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "xd_device_register_cuda");
  CHECK(xd_device_register_cuda(&error) && xd_device_register_cuda(&error) && xd_device_register_opencl(&error));
  xd_array_t *same = xd_array_to_device(array, XD_DEVICE_CPU, 0, &error);
  bool equal = false;
  CHECK(same != NULL && xd_array_equals(array, same, &equal, &error) && equal);
  CHECK(xd_stream_new(XD_DEVICE_CPU, 0, &error) == NULL && error == NULL); /* it has none */
  CHECK(xd_stream_wrap(XD_DEVICE_CPU, 0, NULL, &error) == NULL && error == NULL);
  xd_event_t *event = (xd_event_t *)&event;
  /* So the stream may be NULL: the work is done when the call returns. */
  CHECK(xd_array_assign_in(array, same, XD_CASTING_CHECKED, NULL, &event, &error) && event == NULL);
  event = (xd_event_t *)&event;
  xd_array_t *again = xd_array_to_device_in(array, XD_DEVICE_CPU, 0, NULL, &event, &error);
  CHECK(again != NULL && event == NULL && xd_array_equals(array, again, &equal, &error) && equal);
  xd_array_free(again);
  xd_array_free(same);
  xd_array_free(array);
}

/* Copies in a stream, on a device of CUDA if there is one, or its driver without a GPU. */
static void streams_of_cuda_copy_in_order(void)
{
  xd_stream_t *stream = xd_stream_new(XD_DEVICE_CUDA, 0, &error);
  if (stream == NULL) {
    CHECK_ERROR(XD_ERROR_UNSUPPORTED, "");
    return;
  }
  xd_array_t *here = numbers();
  xd_event_t *event = NULL;
  xd_array_t *there = xd_array_to_device_in(here, XD_DEVICE_CUDA, 0, stream, &event, &error);
  CHECK(there != NULL);
  if (event != NULL)
    CHECK(xd_stream_wait(stream, event, &error) && xd_event_wait(event, &error) && xd_event_is_done(event));
  xd_event_free(event);
  xd_array_t *back = xd_array_to_device_in(there, XD_DEVICE_CPU, 0, stream, NULL, &error);
  CHECK(back != NULL && xd_stream_synchronize(stream, &error) && at(back, 2, 3) == 11);
  event = xd_stream_record(stream, &error);
  CHECK(event != NULL && xd_event_wait(event, &error) && xd_stream_raw(stream) != NULL);
  xd_event_free(event);
  xd_array_free(back), xd_array_free(there), xd_array_free(here);
  xd_stream_free(stream);
  puts("streams of cuda:0");
}

int main(void)
{
  struct board board;
  memset(&board, 0, sizeof board);
  a_driver_without_its_parts_is_refused();
  xd_device_driver driver = driver_of(&board);
  CHECK(xd_device_register(&driver, &error));
  arrays_go_to_a_device_of_callbacks_and_back(&board);
  memory_without_addresses_is_not_exported();
  devices_that_do_not_exist_are_refused();
  streams_of_cuda_copy_in_order();
  return 0;
}
