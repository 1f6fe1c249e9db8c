/* Files of every format that C saves, archives, options, and what is refused. */

#include "check.h"

static const char *folder;

static const char *in_folder(const char *name)
{
  static char paths[8][1000];
  static int last;
  last = (last + 1) % 8;
  snprintf(paths[last], sizeof paths[last], "%s/files-%s", folder, name);
  return paths[last];
}

static xd_array_t *image;

/* A picture of 4 by 6 pixels with 3 channels. */
static void make_image(void)
{
  xd_dtype_t *u1 = xd_dtype_parse("|u1", &error);
  ssize_t shape[] = {4, 6, 3};
  xd_buffer_t *buffer;
  uint8_t pixels[72];
  for (int k = 0; k < 72; k++)
    pixels[k] = (uint8_t)(3 * k);
  buffer = xd_buffer_copy(pixels, sizeof pixels, &error);
  image = xd_array_from_buffer(buffer, u1, 3, shape, NULL, 0, &error);
  CHECK(image != NULL);
  xd_buffer_free(buffer);
  xd_dtype_free(u1);
}

static bool is_image(xd_array_t *array)
{
  bool equal = false;
  CHECK(array != NULL && xd_array_equals(array, image, &equal, &error));
  xd_array_free(array);
  return equal;
}

static void a_file_is_saved_in_the_format_of_its_name(void)
{
  static const char *const names[] = {"a.npy", "a.npz", "a.safetensors", "a.png"};
  for (size_t k = 0; k < COUNT(names); k++) {
    CHECK(xd_array_save(image, in_folder(names[k]), NULL, &error));
    CHECK(is_image(xd_array_open(in_folder(names[k]), &error)));
  }
  /* With loss: the shape stays. */
  xd_save_options options = {0, 0, 95, 0, NULL, 0, NULL, NULL};
  CHECK(xd_array_save(image, in_folder("a.jpg"), &options, &error));
  xd_array_t *photo = xd_array_open(in_folder("a.jpg"), &error);
  CHECK(photo != NULL && xd_array_nbytes(photo) == 72);
  xd_array_free(photo);
  options.quality = 101;
  CHECK(!xd_array_save(image, in_folder("a.jpg"), &options, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "101");

  /* Elements alone, in another order. */
  xd_save_options columns = {0, XD_COLUMN_MAJOR, 0, 0, NULL, 0, NULL, NULL};
  xd_open_options raw = {0, 0, 0, NULL, "dtype=uint8; shape=4,6,3; order=F"};
  CHECK(xd_array_save(image, in_folder("a.raw"), &columns, &error));
  CHECK(is_image(xd_array_open_with(in_folder("a.raw"), &raw, &error)));
  raw.raw = "dtype=uint8; shape=4,6,4";
  CHECK(xd_array_open_with(in_folder("a.raw"), &raw, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "72");
  raw.raw = "shape=4";
  CHECK(xd_array_open_with(in_folder("a.raw"), &raw, &error) == NULL);
  CHECK_ERROR(XD_ERROR_MALFORMED, "dtype");

  CHECK(!xd_array_save(image, in_folder("a.xyz"), NULL, &error));
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, ".npy");
  options = (xd_save_options){0, 0, 0, 0, "npy", 0, NULL, NULL};
  CHECK(xd_array_save(image, in_folder("a.xyz"), &options, &error));
  options.flags = XD_SAVING_NEW;
  CHECK(!xd_array_save(image, in_folder("a.xyz"), &options, &error));
  CHECK_ERROR(XD_ERROR_IO, "exists");
  options.flags = 64;
  CHECK(!xd_array_save(image, in_folder("a.xyz"), &options, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "0x40");
  static const char *const formats[] = {"docx", "x/y.npy", "tar.npy", ".npy", ""};
  for (size_t k = 0; k < COUNT(formats); k++) {
    options = (xd_save_options){0, 0, 0, 0, formats[k], 0, NULL, NULL};
    CHECK(!xd_array_save(image, in_folder("a.xyz"), &options, &error));
    CHECK_ERROR(XD_ERROR_ARGUMENT, formats[k]);
  }
  options = (xd_save_options){0, 0, 0, 7, NULL, 0, NULL, NULL};
  CHECK(!xd_array_save(image, in_folder("a.npy"), &options, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`options->reserved` is 7");
}

static void an_archive_has_names_and_texts(void)
{
  const xd_array_t *arrays[] = {image, image};
  const char *names[] = {"left", "right"}, *keys[] = {"camera"}, *texts[] = {"stereo"};
  xd_save_options options = {0, 0, 0, 0, NULL, 1, keys, texts};
  const char *path = in_folder("b.safetensors");
  char *key = NULL;
  CHECK(xd_save_all(path, 2, names, arrays, &options, &error));
  xd_contents_t *contents = xd_contents_open(path, NULL, &error);
  CHECK(contents != NULL && xd_contents_len(contents) == 2 && is_text(xd_contents_format(contents, &error), "safetensors"));
  CHECK(is_text(xd_contents_name(contents, 1, &error), "right") && xd_contents_is_in_place(contents, 1));
  CHECK(xd_contents_ndim(contents, 1) == 3 && xd_contents_shape(contents, 1)[1] == 6);
  CHECK(xd_dtype_kind(xd_contents_dtype(contents, 1)) == XD_DTYPE_UINT && xd_contents_dtype(contents, 2) == NULL);
  CHECK(xd_contents_ndim(contents, 2) == 0 && xd_contents_shape(contents, SIZE_MAX) == NULL);
  CHECK(xd_contents_text_count(contents) == 1 && is_text(xd_contents_text(contents, 0, &key, &error), "stereo"));
  CHECK(is_text(key, "camera") && is_text(xd_contents_text(contents, 0, NULL, &error), "stereo"));
  CHECK(xd_contents_text(contents, 7, &key, &error) == NULL && key == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "index 7");
  CHECK(xd_contents_refused_count(contents) == 0 && xd_contents_refused(contents, 0, NULL, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "0 refused");
  uint64_t before = xd_copied_bytes();
  xd_array_t *right = xd_contents_get(contents, "right", &error);
  CHECK(right != NULL && xd_copied_bytes() == before);
  CHECK(xd_contents_get(contents, "rigth", &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "\"right\"");
  CHECK(xd_contents_array(contents, SIZE_MAX, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "2 arrays");
  xd_contents_free(contents);
  CHECK(is_image(right)); /* outlives the contents */

  CHECK(!xd_save_all(path, 2, NULL, arrays, NULL, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`names`");
  arrays[1] = NULL;
  CHECK(!xd_save_all(path, 2, names, arrays, NULL, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`arrays[1]`");
  CHECK(!xd_save_all(path, SIZE_MAX, names, arrays, NULL, &error));
  CHECK_ERROR(XD_ERROR_ARGUMENT, "18446744073709551615 items");
}

static void bytes_in_memory_are_a_file(void)
{
  const xd_array_t *arrays[] = {image};
  const char *names[] = {"image"};
  xd_save_options options = {XD_SAVING_DEFLATED, 0, 0, 0, "npz", 0, NULL, NULL};
  xd_buffer_t *bytes = xd_encode(1, names, arrays, &options, &error);
  CHECK(bytes != NULL);
  xd_contents_t *contents = xd_contents_read(bytes, NULL, &error);
  CHECK(contents != NULL && !xd_contents_is_in_place(contents, 0) && xd_contents_verify(contents, 0, &error));
  CHECK(is_image(xd_contents_array(contents, 0, &error)));
  xd_contents_free(contents);

  /* A damaged byte is found by the checksum. */
  bytes = xd_encode(1, names, arrays, &options, &error);
  xd_lease_t *lease = xd_buffer_lease(bytes, XD_LEASE_SHARE, &error);
  ((uint8_t *)xd_lease_mutable_data(lease))[60] ^= 0xff;
  xd_lease_release(lease);
  xd_open_options verified = {XD_OPENING_VERIFIED, 0, 0, NULL, NULL};
  contents = xd_contents_read(bytes, &verified, &error);
  if (contents != NULL) {
    char *name;
    char *why = xd_contents_refused(contents, 0, &name, &error);
    CHECK(why != NULL && is_text(name, "image"));
    xd_string_free(why);
    xd_contents_free(contents);
  } else {
    CHECK_ERROR(XD_ERROR_MALFORMED, "");
  }

  /* Another handle could change what an archive was divided into. */
  bytes = xd_encode(1, names, arrays, &options, &error);
  xd_buffer_t *other = xd_buffer_clone(bytes, &error);
  CHECK(xd_contents_read(bytes, NULL, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "2 handles");
  xd_buffer_free(other);

  CHECK(xd_encode(1, names, arrays, NULL, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "format");
  CHECK(xd_encode(0, NULL, NULL, NULL, &error) == NULL);
  xd_error_free(error);
  error = NULL;
}

static void options_of_a_map_are_obeyed(void)
{
  const char *path = in_folder("c.npy");
  const ssize_t first[] = {0, 0, 0};
  xd_value nine = {XD_VALUE_INT, {0}, 0, {9}}, value;
  CHECK(xd_array_save(image, path, NULL, &error));
  xd_open_options options = {XD_OPENING_WRITABLE, 0, 0, "npy", NULL};
  xd_array_t *array = xd_array_open_with(path, &options, &error);
  CHECK(array != NULL && !xd_array_is_readonly(array) && xd_array_set(array, first, &nine, &error));
  xd_array_free(array);
  array = xd_array_open(path, &error); /* the write is in the file */
  CHECK(xd_array_get(array, first, &value, &error) && value.as.u == 9 && xd_array_is_readonly(array));
  CHECK(xd_array_lease(array, XD_LEASE_READ, &error) == NULL);
  CHECK_ERROR(XD_ERROR_CONFLICT, "");
  xd_array_free(array);
  options.flags = XD_OPENING_CONSTANT;
  array = xd_array_open_with(path, &options, &error);
  xd_lease_t *lease = xd_array_lease(array, XD_LEASE_READ, &error);
  CHECK(lease != NULL);
  xd_lease_release(lease);
  xd_array_free(array);

  uint64_t before = xd_copied_bytes();
  options.flags = XD_OPENING_COPIED;
  array = xd_array_open_with(path, &options, &error);
  CHECK(array != NULL && xd_copied_bytes() >= before + 72 && !xd_array_is_readonly(array));
  xd_array_free(array);
  options.flags = XD_OPENING_COPIED | XD_OPENING_WRITABLE;
  CHECK(xd_array_open_with(path, &options, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "writes would not reach the file");
  options.flags = 1u << 31;
  CHECK(xd_array_open_with(path, &options, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "0x80000000");
  options = (xd_open_options){0, 5, 0, NULL, NULL};
  CHECK(xd_array_open_with(path, &options, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`options->reserved` is 5");
  options = (xd_open_options){0, 0, 0, "png", NULL};
  CHECK(xd_array_open_with(path, &options, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "PNG");
  options = (xd_open_options){0, 0, 16, NULL, NULL}; /* a limit for decoded arrays */
  CHECK(xd_array_open_with(in_folder("a.png"), &options, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "72");
  CHECK(xd_array_open(in_folder("none.npy"), &error) == NULL);
  CHECK_ERROR(XD_ERROR_IO, "none.npy");
}

#ifdef _WIN32
/* The system refuses to shrink a mapped file. */
static void a_mapped_file_keeps_its_size(void)
{
  const char *path = in_folder("d.npy");
  CHECK(xd_array_save(image, path, NULL, &error));
  xd_array_t *array = xd_array_open(path, &error);
  CHECK(array != NULL && fopen(path, "w") == NULL);
  CHECK(is_image(array));
}
#else
static void a_guarded_map_outlives_its_file(void)
{
  const char *path = in_folder("d.npy");
  const ssize_t first[] = {0, 0, 0};
  xd_open_options options = {XD_OPENING_GUARDED, 0, 0, NULL, NULL};
  xd_value value;
  CHECK(xd_array_save(image, path, NULL, &error));
  xd_array_t *array = xd_array_open_with(path, &options, &error);
  CHECK(array != NULL && xd_array_is_whole(array, &error) && fclose(fopen(path, "w")) == 0); /* truncates it */
  CHECK(xd_array_get(array, first, &value, NULL) ? value.as.u == 0 : true);
  xd_array_t *copy = xd_array_copy(array, XD_ROW_MAJOR, &error);
  CHECK(copy == NULL);
  CHECK_ERROR(XD_ERROR_FAULT, "");
  CHECK(!xd_array_is_whole(array, &error));
  CHECK_ERROR(XD_ERROR_FAULT, "");
  xd_array_free(array);
}
#endif

int main(int argc, char **argv)
{
  CHECK(argc == 2);
  folder = argv[1];
  make_image();
  a_file_is_saved_in_the_format_of_its_name();
  an_archive_has_names_and_texts();
  bytes_in_memory_are_a_file();
  options_of_a_map_are_obeyed();
  /* valgrind does not resume at the exact instruction after the handler of a fault. */
  const char *instrument = getenv("CROSSDOCK_INSTRUMENT");
  if (instrument == NULL || strcmp(instrument, "valgrind") != 0)
  #ifdef _WIN32
  a_mapped_file_keeps_its_size();
#else
  a_guarded_map_outlives_its_file();
#endif
  xd_array_free(image);
  return 0;
}
