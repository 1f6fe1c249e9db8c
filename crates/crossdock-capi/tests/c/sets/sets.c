/* Reads the set whose name is the argument. */

#include "../check.h"

int main(int argc, char **argv)
{
  CHECK(argc == 2);
  xd_set_t *set = xd_set_connect(argv[1], &error);
  CHECK(set != NULL);
  char *label = xd_set_label(set, &error);
  CHECK(label != NULL && strncmp(label, argv[1], strlen(argv[1])) == 0 && strcmp(label + strlen(argv[1]), "@1") == 0);
  CHECK(xd_set_len(set) == 2 && !xd_set_is_mapped(set));
  char *name = xd_set_name(set, 1, &error);
  CHECK(name != NULL && strcmp(name, "tied") == 0);
  CHECK(xd_set_name(set, 2, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "has 2");
  CHECK(xd_set_get(set, "none", &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "\"none\"");

  xd_array_t *array = xd_set_get(set, "w", &error);
  xd_array_t *tied = xd_set_get(set, name, &error);
  CHECK(array != NULL && tied != NULL && xd_array_ndim(array) == 1 && xd_array_is_readonly(array));
  CHECK(xd_array_address(array) == xd_array_address(tied));
  /* The arrays keep what they need. */
  xd_set_free(set);
  xd_string_free(label);
  xd_string_free(name);
  ssize_t index[] = {2};
  xd_value value;
  CHECK(xd_array_get(array, index, &value, &error) && value.kind == XD_VALUE_INT && value.as.i == 7);
  CHECK(!xd_array_set(array, index, &value, &error));
  CHECK_ERROR(XD_ERROR_READ_ONLY, "read-only");
  xd_array_free(array);
  xd_array_free(tied);
  CHECK(xd_set_connect("a/b", &error) == NULL);
  CHECK_ERROR(XD_ERROR_MALFORMED, "name of a set");
  CHECK(xd_set_connect("none-holds-this", &error) == NULL);
  CHECK_ERROR(XD_ERROR_IO, "no process holds");
  return 0;
}
