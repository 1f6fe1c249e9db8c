/* Adopts memory of the program as a matrix, slices it, and reads it under a lease. Only an explicit call copies.
 *
 *   cc tensor.c $(pkg-config --cflags --libs crossdock) */

#include <crossdock.h>

#include <stdio.h>
#include <stdlib.h>

/* Prints the error and exits. */
static void *must(void *made, xd_error_t *error)
{
  if (made == NULL) {
    fprintf(stderr, "%s: %s\n", xd_error_kind_name(xd_error_kind(error)), xd_error_message(error));
    exit(1);
  }
  return made;
}

int main(void)
{
  xd_error_t *error;
  float *samples = malloc(24 * sizeof *samples);
  for (int k = 0; k < 24; k++)
    samples[k] = (float)k;

  /* From now on Crossdock owns the memory, and calls `free` after the last handle. */
  xd_buffer_t *buffer = must(xd_buffer_adopt(samples, 24 * sizeof *samples, XD_BIRTH_SOLE, free, samples, &error), error);
  xd_dtype_t *f32 = must(xd_dtype_parse("<f4", &error), error);
  ssize_t shape[] = {4, 6};
  xd_array_t *matrix = must(xd_array_from_buffer(buffer, f32, 2, shape, NULL, 0, &error), error);

  /* Rows 1 and 3, columns backwards. */
  xd_slice slices[] = {XD_RANGE(1, XD_OPEN, 2), XD_RANGE(XD_OPEN, XD_OPEN, -1)};
  xd_array_t *part = must(xd_array_slice(matrix, 2, slices, &error), error);
  xd_buffer_free(buffer); /* handles keep the memory */
  xd_dtype_free(f32);
  xd_array_free(matrix);

  /* This lease excludes writers. */
  xd_lease_t *lease = must(xd_array_lease(part, XD_LEASE_READ, &error), error);
  const ssize_t *strides = xd_array_strides(part);
  const char *first = xd_lease_data(lease);
  float sum = 0;
  for (ssize_t i = 0; i < xd_array_shape(part)[0]; i++)
    for (ssize_t j = 0; j < xd_array_shape(part)[1]; j++)
      sum += *(const float *)(first + i * strides[0] + j * strides[1]);
  printf("sum %g, copied %llu bytes\n", sum, (unsigned long long)xd_copied_bytes());
  if (xd_array_lease(part, XD_LEASE_WRITE, &error) != NULL)
    return 1;
  printf("%s\n", xd_error_message(error));
  xd_error_free(error);
  xd_lease_release(lease);

  /* A row-major copy, which is counted. */
  xd_array_t *copy = must(xd_array_copy(part, XD_ROW_MAJOR, &error), error);
  char *text = must(xd_array_to_text(copy, &error), error);
  printf("%s\ncopied %llu bytes\n", text, (unsigned long long)xd_copied_bytes());
  xd_string_free(text);
  xd_array_free(copy);
  xd_array_free(part); /* calls free */
  return sum == 174 && xd_copied_bytes() == 48 ? 0 : 1;
}
