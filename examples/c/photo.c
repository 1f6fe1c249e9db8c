/* A library lends its photos in place, and a consumer that does not know the library adds up their pixels.
 *
 *   cc photo.c $(pkg-config --cflags --libs crossdock) */

#include <crossdock.h>

#include <stdio.h>
#include <stdlib.h>

/* ----- the library ----- */

/* Rows are padded, and the memory is reference-counted. (A program with threads would count atomically.) */
struct photo {
  const xd_class *class; /* first, so that a pointer to a photo is an object */
  int holders;
  unsigned char *pixels;
  ssize_t shape[3], strides[3];
};

static void photo_release(struct photo *photo)
{
  if (--photo->holders == 0) {
    free(photo->pixels);
    free(photo);
    puts("the photo is gone");
  }
}

static bool photo_get_view(void *object, xd_memory_view_t *view, int flags)
{
  struct photo *photo = object;
  (void)flags; /* the hub checks all other flags */
  xd_memory_view_init_as_byte_array(view, photo, photo->pixels, photo->shape[0] * photo->strides[0], false);
  view->format = "C";
  view->ndim = 3;
  view->shape = photo->shape;
  view->strides = photo->strides;
  photo->holders++; /* a view keeps the photo alive */
  return true;
}

static bool photo_release_view(void *object, xd_memory_view_t *view)
{
  (void)view;
  photo_release(object);
  return true;
}

static const xd_class photo_class = {"photo", NULL};
static const xd_memory_view_entry_t photo_entry = {photo_get_view, photo_release_view, NULL};

static struct photo *photo_new(ssize_t height, ssize_t width)
{
  struct photo *photo = malloc(sizeof *photo);
  ssize_t pitch = (width * 3 + 15) / 16 * 16;
  photo->class = &photo_class;
  photo->holders = 1;
  photo->pixels = calloc((size_t)height, (size_t)pitch);
  photo->shape[0] = height, photo->shape[1] = width, photo->shape[2] = 3;
  photo->strides[0] = pitch, photo->strides[1] = 3, photo->strides[2] = 1;
  for (ssize_t y = 0; y < height; y++)
    for (ssize_t x = 0; x < width * 3; x++)
      photo->pixels[y * pitch + x] = (unsigned char)(x % 3);
  return photo;
}

/* ----- the consumer ----- */

/* The sum of all items of any object, in any layout; -1 if the object exports nothing. */
static double sum(void *object)
{
  xd_error_t *error;
  xd_array_t *array = xd_array_from_object(object, XD_MEMORY_VIEW_SIMPLE, &error);
  if (array == NULL) {
    printf("%s\n", xd_error_message(error));
    xd_error_free(error);
    return -1;
  }
  double total = 0;
  ssize_t index[64] = {0};
  for (size_t left = xd_array_len(array); left > 0; left--) {
    xd_value value;
    if (!xd_array_get(array, index, &value, NULL))
      abort();
    total += value.kind == XD_VALUE_UINT ? (double)value.as.u : value.kind == XD_VALUE_INT ? (double)value.as.i : value.as.f;
    /* The next index in row-major order. */
    for (size_t axis = xd_array_ndim(array); axis-- > 0;) {
      if (++index[axis] < xd_array_shape(array)[axis])
        break;
      index[axis] = 0;
    }
  }
  xd_array_free(array); /* releases the view */
  return total;
}

int main(void)
{
  struct photo *photo = photo_new(4, 5);
  if (sum(photo) != -1) /* no producer of photos is registered yet */
    return 1;
  if (!xd_memory_view_register(&photo_class, &photo_entry))
    return 1;

  double total = sum(photo);
  printf("sum %g\n", total);
  if (total != 4 * 5 * (0 + 1 + 2))
    return 1;

  /* A view may outlive the owner's handle. */
  xd_memory_view_t view;
  if (!xd_memory_view_get(photo, &view, XD_MEMORY_VIEW_WRITABLE | XD_MEMORY_VIEW_STRIDES)) {
    puts(xd_last_refusal());
    return 1;
  }
  photo_release(photo);
  ssize_t corner[] = {3, 4, 2}, outside[] = {4, 0, 0};
  xd_value white = {XD_VALUE_UINT, {0}, 0, {255}};
  if (!xd_memory_view_set_item(&view, corner, &white, NULL) || xd_memory_view_get_item(&view, corner).as.u != 255)
    return 1;
  if (xd_memory_view_get_item_pointer(&view, outside) != NULL)
    return 1;
  printf("%s\n", xd_last_refusal());
  xd_memory_view_release(&view); /* frees the photo */
  return xd_memory_view_release(&view) || xd_copied_bytes() != 0 ? 1 : 0;
}
