/* Shared memory, descriptors and sockets, between processes. */

#include "check.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static xd_array_t *numbers(void)
{
  xd_dtype_t *i8 = xd_dtype_parse("<i8", &error);
  ssize_t shape[] = {2, 3};
  xd_array_t *array = xd_array_zeros(i8, 2, shape, XD_ROW_MAJOR, &error);
  xd_value five = {XD_VALUE_INT, {0}, 0, {5}};
  CHECK(array != NULL && xd_array_fill(array, &five, &error));
  xd_dtype_free(i8);
  return array;
}

static int64_t at(const xd_array_t *array, ssize_t row, ssize_t column)
{
  const ssize_t index[] = {row, column};
  xd_value value;
  CHECK(xd_array_get(array, index, &value, &error));
  return value.as.i;
}

static void put(const xd_array_t *array, ssize_t row, ssize_t column, int64_t number)
{
  const ssize_t index[] = {row, column};
  xd_value value = {XD_VALUE_INT, {0}, 0, {number}};
  CHECK(xd_array_set(array, index, &value, &error));
}

/* The child writes into the array that it receives. */
static void an_array_goes_to_a_child_and_back_in_place(void)
{
  int ends[2], status = 1;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    xd_array_t *received = xd_array_receive(ends[1], 0, &error);
    CHECK(received != NULL && at(received, 1, 2) == 5);
    put(received, 1, 2, 77);
    xd_slice reversed[] = {XD_RANGE(XD_OPEN, XD_OPEN, -1)};
    xd_array_t *rows = xd_array_slice(received, 1, reversed, &error);
    CHECK(xd_array_send(rows, ends[1], XD_LEASE_PIN, XD_EXPORT_IN_PLACE, &error));
    _exit(0);
  }
  close(ends[1]);
  xd_array_t *array = numbers(), *shared = xd_array_to_shared(array, XD_ROW_MAJOR, &error);
  CHECK(!xd_array_send(array, ends[0], XD_LEASE_SHARE, XD_EXPORT_IN_PLACE, &error));
  CHECK_ERROR(XD_ERROR_REFUSED, "");
  CHECK(shared != NULL && xd_array_send(shared, ends[0], XD_LEASE_SHARE, XD_EXPORT_IN_PLACE, &error));
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(at(shared, 1, 2) == 77);
  xd_array_t *back = xd_array_receive(ends[0], 48, &error);
  CHECK(back != NULL && at(back, 0, 2) == 77 && xd_array_is_readonly(back) && xd_array_strides(back)[0] == -24);
  CHECK(xd_array_receive(ends[0], 0, &error) == NULL && error == NULL); /* the end */
  CHECK(!xd_array_send(shared, ends[0], XD_LEASE_SHARE, XD_EXPORT_IN_PLACE, &error));
  CHECK_ERROR(XD_ERROR_IO, "");
  xd_array_free(back);
  xd_array_free(shared);
  xd_array_free(array);
  close(ends[0]);
}

static void what_is_no_socket_or_too_large_is_refused(void)
{
  xd_array_t *array = numbers();
  int ends[2], file = open("/dev/null", O_RDWR);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  CHECK(!xd_array_send(array, -1, XD_LEASE_SHARE, XD_EXPORT_COPY, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`socket` is -1");
  CHECK(xd_array_receive(-7, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "-7");
  CHECK(!xd_array_send(array, file, XD_LEASE_SHARE, XD_EXPORT_COPY, &error));
  CHECK_ERROR(XD_ERROR_IO, "");
  CHECK(xd_array_receive(file, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_IO, "");
  CHECK(!xd_array_send(array, ends[0], 99, XD_EXPORT_COPY, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "99");
  CHECK(!xd_array_send(array, ends[0], XD_LEASE_SHARE, 1u << 30, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "0x40000000");
  uint64_t before = xd_copied_bytes();
  CHECK(xd_array_send(array, ends[0], XD_LEASE_SHARE, XD_EXPORT_COPY_IF_NEEDED, &error) && xd_copied_bytes() >= before + 48);
  CHECK(xd_array_receive(ends[1], 47, &error) == NULL);
  CHECK_ERROR(XD_ERROR_REFUSED, "48");
  CHECK(write(ends[0], "this is no message of Crossdock", 31) == 31);
  CHECK(xd_array_receive(ends[1], 0, &error) == NULL);
  CHECK(error != NULL);
  xd_error_free(error);
  error = NULL;
  for (int type = 0; type < 2; type++) {
    int packets[2];
    CHECK(socketpair(AF_UNIX, type == 0 ? SOCK_SEQPACKET : SOCK_DGRAM, 0, packets) == 0);
    CHECK(!xd_array_send(array, packets[0], XD_LEASE_SHARE, XD_EXPORT_COPY_IF_NEEDED, &error));
    CHECK_ERROR(XD_ERROR_UNSUPPORTED, "SOCK_STREAM");
    CHECK(xd_array_receive(packets[1], 0, &error) == NULL);
    CHECK_ERROR(XD_ERROR_UNSUPPORTED, "SOCK_STREAM");
    close(packets[0]), close(packets[1]);
  }
  close(ends[0]), close(ends[1]), close(file);
  xd_array_free(array);
}

static void a_descriptor_and_a_text_are_an_array(void)
{
  xd_array_t *array = numbers();
  int fd = -1;
  CHECK(xd_array_to_fd(array, XD_LEASE_SHARE, XD_EXPORT_IN_PLACE, &fd, &error) == NULL && fd == -1);
  CHECK_ERROR(XD_ERROR_REFUSED, "");
  char *text = xd_array_to_fd(array, XD_LEASE_SHARE, XD_EXPORT_COPY_IF_NEEDED, &fd, &error);
  CHECK(text != NULL && fd > 0);
  xd_array_t *same = xd_array_from_fd(fd, text, &error), *twice = xd_array_from_fd(fd, text, &error);
  CHECK(same != NULL && twice != NULL && at(same, 1, 1) == 5);
  put(same, 0, 0, 9);
  CHECK(at(twice, 0, 0) == 9 && at(array, 0, 0) == 5);
  close(fd); /* the arrays have their maps */
  CHECK(at(twice, 0, 0) == 9);
  CHECK(xd_array_from_fd(fd, text, &error) == NULL);
  CHECK(xd_error_kind(error) != XD_ERROR_NONE);
  xd_error_free(error);
  CHECK(xd_array_from_fd(0, "nonsense", &error) == NULL);
  CHECK_ERROR(XD_ERROR_MALFORMED, "");
  xd_string_free(text);
  xd_array_free(same);
  xd_array_free(twice);
  xd_array_free(array);
}

static void memory_that_is_not_to_be_had_is_refused(void)
{
  CHECK(xd_buffer_shared(SIZE_MAX, NULL, &error) == NULL);
  CHECK_ERROR(XD_ERROR_OUT_OF_MEMORY, "18446744073709551615 bytes");
  CHECK(xd_buffer_shared((size_t)PTRDIFF_MAX, NULL, &error) == NULL);
  CHECK_ERROR(XD_ERROR_OUT_OF_MEMORY, "9223372036854775807 bytes");
  char name[300];
  memset(name, 'n', sizeof name);
  name[299] = 0;
  CHECK(xd_buffer_shared(8, name, &error) == NULL);
  CHECK_ERROR(XD_ERROR_VALUE, "name of shared memory has 299 bytes");
}

static void memory_is_mapped_denied_and_sealed(void)
{
  xd_buffer_t *buffer = xd_buffer_shared(4096, "crossdock-test", &error);
  int fd = -1;
  uint64_t offset = 1;
  CHECK(buffer != NULL && xd_buffer_fd(buffer, &fd, &offset, &error) && fd > 0 && offset == 0);
  xd_buffer_t *other = xd_buffer_map_fd(fd, 0, 4096, true, &error);
  xd_lease_t *writing = xd_buffer_lease(buffer, XD_LEASE_SHARE, &error), *reading = xd_buffer_lease(other, XD_LEASE_PIN, &error);
  CHECK(writing != NULL && reading != NULL);
  *(volatile uint8_t *)xd_lease_mutable_data(writing) = 42;
  CHECK(*(const volatile uint8_t *)xd_lease_data(reading) == 42);
  CHECK(!xd_buffer_seal(buffer, &error)); /* a lease, and another map */
  CHECK_ERROR(XD_ERROR_CONFLICT, "");
  xd_lease_release(writing);
  xd_lease_release(reading);
  CHECK(xd_buffer_nbytes(buffer) == 4096);
  xd_buffer_free(other);
  CHECK(xd_buffer_map_fd(fd, 4000, 4096, false, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "4096");
  CHECK(xd_buffer_map_fd(-1, 0, 1, false, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "-1");
  CHECK(xd_buffer_deny_new_writers(buffer, &error) && xd_buffer_map_fd(fd, 0, 4096, true, &error) == NULL);
  CHECK_ERROR(XD_ERROR_READ_ONLY, "");
  CHECK(xd_buffer_seal(buffer, &error) && xd_buffer_is_readonly(buffer));
  xd_lease_t *constant = xd_buffer_lease(buffer, XD_LEASE_READ, &error);
  CHECK(constant != NULL && *(const uint8_t *)xd_lease_data(constant) == 42);
  xd_lease_release(constant);
  xd_buffer_free(buffer);
  buffer = xd_buffer_alloc(10, &error);
  CHECK(!xd_buffer_seal(buffer, &error) && xd_buffer_nbytes(buffer) == 10);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "");
  xd_buffer_free(buffer);
}

int main(void)
{
  an_array_goes_to_a_child_and_back_in_place();
  what_is_no_socket_or_too_large_is_refused();
  a_descriptor_and_a_text_are_an_array();
  memory_that_is_not_to_be_had_is_refused();
  memory_is_mapped_denied_and_sealed();
  return 0;
}
