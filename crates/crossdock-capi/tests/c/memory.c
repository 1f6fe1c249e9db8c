/* Errors, buffers and leases. */

#include "check.h"

static void versions(void)
{
  CHECK(xd_version() == XD_VERSION);
  CHECK(strcmp(xd_version_string(), XD_VERSION_STRING) == 0);
}

static void threads(void)
{
  size_t before = xd_num_threads();
  CHECK(before >= 1);
  CHECK(xd_set_num_threads(3, &error) && xd_num_threads() == 3);
  CHECK(!xd_set_num_threads(0, &error) && xd_num_threads() == 3);
  CHECK_ERROR(XD_ERROR_VALUE, "0 threads");
  CHECK(!xd_set_num_threads(SIZE_MAX, NULL) && xd_num_threads() == 3);

  xd_value value = {XD_VALUE_INT, {0}, 0, {5}};
  ssize_t shape[] = {3000, 2000};
  xd_dtype_t *dtype = xd_dtype_parse("|u1", &error);
  xd_array_t *array = xd_array_zeros(dtype, 2, shape, XD_ROW_MAJOR, &error);
  CHECK(xd_array_fill(array, &value, &error));
  xd_array_t *turned = xd_array_transpose(array, &error), *copy = xd_array_copy(turned, XD_ROW_MAJOR, &error);
  bool equal = false;
  CHECK(xd_array_equals(copy, turned, &equal, &error) && equal);
  xd_array_free(copy);
  xd_array_free(turned);
  xd_array_free(array);
  xd_dtype_free(dtype);
  CHECK(xd_set_num_threads(before, &error));
}

static void errors(void)
{
  CHECK(strcmp(xd_error_message(NULL), "") == 0 && xd_error_kind(NULL) == XD_ERROR_NONE);
  CHECK(strcmp(xd_error_kind_name(XD_ERROR_READ_ONLY), "read-only") == 0);
  CHECK(xd_error_kind_name(-1) == NULL);

  /* Always set, initialised or not. */
  xd_buffer_t *buffer = xd_buffer_alloc(8, &error);
  CHECK(buffer != NULL && error == NULL);
  CHECK(xd_buffer_slice(buffer, 4, 5, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "4..9");
  CHECK(xd_buffer_slice(buffer, SIZE_MAX, SIZE_MAX, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "8 bytes");
  CHECK(xd_buffer_slice(buffer, 9, 0, NULL) == NULL);
  CHECK(xd_buffer_alloc(SIZE_MAX, &error) == NULL);
  CHECK_ERROR(XD_ERROR_OUT_OF_MEMORY, "bytes");
  CHECK(xd_buffer_lease(buffer, 7, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`kind` is 7");
  xd_buffer_free(buffer);
}

static void leases(void)
{
  xd_buffer_t *buffer = xd_buffer_copy("0123456789", 10, &error);
  xd_buffer_t *middle = xd_buffer_slice(buffer, 2, 3, &error);
  CHECK(xd_buffer_nbytes(middle) == 3 && xd_buffer_address(middle) == xd_buffer_address(buffer) + 2);

  xd_lease_t *reading = xd_buffer_lease(middle, XD_LEASE_READ, &error);
  CHECK(reading != NULL && xd_lease_kind(reading) == XD_LEASE_READ && xd_lease_nbytes(reading) == 3);
  CHECK(memcmp(xd_lease_data(reading), "234", 3) == 0);
  CHECK(xd_lease_mutable_data(reading) == NULL);
  CHECK(xd_buffer_lease(buffer, XD_LEASE_WRITE, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "1 read lease");
  xd_lease_t *pinning = xd_buffer_lease(buffer, XD_LEASE_PIN, &error);
  CHECK(pinning != NULL && xd_lease_mutable_data(pinning) == NULL);

  /* A lease alone keeps the memory alive. */
  xd_buffer_free(buffer);
  xd_buffer_free(middle);
  CHECK(memcmp(xd_lease_data(pinning), "0123456789", 10) == 0);
  xd_lease_release(reading);
  xd_lease_release(pinning);

  buffer = xd_buffer_alloc(4, &error);
  xd_lease_t *writing = xd_buffer_lease(buffer, XD_LEASE_WRITE, &error);
  memcpy(xd_lease_mutable_data(writing), "abcd", 4);
  CHECK(xd_buffer_lease(buffer, XD_LEASE_PIN, NULL) == NULL);
  xd_lease_release(writing);
  xd_lease_t *sharing = xd_buffer_lease(buffer, XD_LEASE_SHARE, &error);
  CHECK(memcmp(xd_lease_mutable_data(sharing), "abcd", 4) == 0);
  xd_lease_release(sharing);

  xd_buffer_t *constant = xd_buffer_readonly(buffer, &error);
  CHECK(xd_buffer_is_readonly(constant) && !xd_buffer_is_readonly(buffer));
  CHECK(xd_buffer_lease(constant, XD_LEASE_WRITE, &error) == NULL);
  CHECK_ERROR(XD_ERROR_READ_ONLY, "read-only");
  xd_buffer_free(constant);
  xd_buffer_t *again = xd_buffer_clone(buffer, &error);
  xd_buffer_free(buffer);
  CHECK(xd_buffer_nbytes(again) == 4);
  xd_buffer_free(again);
}

static int released;

static void release(void *context)
{
  released += *(int *)context;
}

static void adoption(void)
{
  static char bytes[16] = "foreign";
  int one = 1;

  xd_buffer_t *buffer = xd_buffer_adopt(bytes, sizeof bytes, XD_BIRTH_SOLE, release, &one, &error);
  CHECK(buffer != NULL && xd_buffer_address(buffer) == (uintptr_t)bytes);
  xd_buffer_t *part = xd_buffer_slice(buffer, 1, 3, &error);
  xd_buffer_free(buffer);
  CHECK(released == 0);
  xd_lease_t *lease = xd_buffer_lease(part, XD_LEASE_READ, &error);
  xd_buffer_free(part);
  CHECK(released == 0 && memcmp(xd_lease_data(lease), "ore", 3) == 0);
  xd_lease_release(lease);
  CHECK(released == 1);

  /* Refused, and released nevertheless. */
  CHECK(xd_buffer_adopt(NULL, 1, XD_BIRTH_SOLE, release, &one, &error) == NULL && released == 2);
  CHECK_ERROR(XD_ERROR_MALFORMED, "null");
  CHECK(xd_buffer_adopt(bytes, 16, 0, release, &one, &error) == NULL && released == 3);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`birth` is 0");
  CHECK(xd_buffer_adopt(bytes, SIZE_MAX, XD_BIRTH_SOLE, release, &one, &error) == NULL && released == 4);
  CHECK_ERROR(XD_ERROR_OVERFLOW, "bytes");

  /* Aliased memory cannot be leased for reading; constant memory can. */
  buffer = xd_buffer_adopt(bytes, sizeof bytes, XD_BIRTH_ALIASED, NULL, NULL, &error);
  CHECK(xd_buffer_lease(buffer, XD_LEASE_READ, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "");
  lease = xd_buffer_lease(buffer, XD_LEASE_SHARE, &error);
  CHECK(lease != NULL);
  xd_lease_release(lease);
  xd_buffer_free(buffer);
  buffer = xd_buffer_adopt(bytes, sizeof bytes, XD_BIRTH_CONSTANT, release, &one, &error);
  CHECK(xd_buffer_is_readonly(buffer));
  xd_buffer_free(buffer);
  CHECK(released == 5);

  buffer = xd_buffer_adopt(NULL, 0, XD_BIRTH_SOLE, release, &one, &error);
  CHECK(buffer != NULL && xd_buffer_nbytes(buffer) == 0);
  xd_buffer_free(buffer);
  CHECK(released == 6);
}

int main(void)
{
  versions();
  threads();
  errors();
  leases();
  adoption();
  return 0;
}
