/* A library of images exports its pixels by DLPack, Arrow and MemoryView. `image_*` is the library:
 * it needs crossdock_producer.h, and nothing to link. The consumer is Crossdock, in `main`. */
#include <crossdock_producer.h>

struct xd_class;

typedef struct image {
  const struct xd_class *class_; /* first, for MemoryView */
  int holders;                   /* a library with threads counts atomically */
  int64_t shape[3];
  uint8_t pixels[4 * 6 * 3];
} image;

static void image_release(void *self)
{
  if (--((image *)self)->holders == 0)
    free(self);
}

/* The one description. The export that gets it releases the image once. */
static xdp_memory image_memory(image *self)
{
  xdp_memory memory = xdp_describe(self->pixels, XDP_UINT8, 3, self->shape);
  memory.owner = self;
  memory.release = image_release;
  self->holders++;
  return memory;
}

static struct DLManagedTensorVersioned *image_to_dlpack(image *self)
{
  xdp_memory memory = image_memory(self);
  struct DLManagedTensorVersioned *tensor = xdp_to_dlpack(&memory, NULL);
  if (tensor == NULL)
    image_release(self);
  return tensor;
}

static bool image_to_arrow(image *self, struct ArrowSchema *schema, struct ArrowArray *array)
{
  xdp_memory memory = image_memory(self);
  if (xdp_to_arrow(&memory, "pixels", schema, array, NULL))
    return true;
  image_release(self);
  return false;
}

/* ----- MemoryView, by crossdock.h here, or by ruby/memory_view.h ----- */

#include <crossdock.h>

static bool image_get(void *object, xd_memory_view_t *view, int flags)
{
  xdp_memory memory = image_memory((image *)object);
  bool is_done;
  xdp_fill_view(&memory, view, object, flags, (xdp_error *)NULL, &is_done);
  if (!is_done)
    image_release(object);
  return is_done;
}

static bool image_give_back(void *object, xd_memory_view_t *view)
{
  (void)object;
  xdp_release_view(view->private_data);
  return true;
}

static const xd_class image_class = {"image", NULL};
static const xd_memory_view_entry_t image_entry = {image_get, image_give_back, NULL};

/* ----- the consumer ----- */

/* Whether the array has the image's pixels at the image's address; frees the array. */
static bool is_same(const char *protocol, xd_array_t *array, const uint8_t *pixels)
{
  const ssize_t last[] = {3, 5, 2};
  xd_value value;
  bool same = xd_array_get(array, last, &value, NULL) && value.as.u == 71 && xd_array_address(array) == (uintptr_t)pixels;
  printf("%-10s the pixels are at %s address\n", protocol, same ? "the same" : "another");
  xd_array_free(array);
  return same;
}

int main(void)
{
  image *self = (image *)calloc(1, sizeof *self);
  struct ArrowSchema schema;
  struct ArrowArray column;
  bool ok;
  int k;
  if (self == NULL)
    return 1;
  self->class_ = &image_class;
  self->holders = 1;
  self->shape[0] = 4, self->shape[1] = 6, self->shape[2] = 3;
  for (k = 0; k < 72; k++)
    self->pixels[k] = (uint8_t)k;

  ok = is_same("DLPack", xd_array_from_dlpack(image_to_dlpack(self), NULL), self->pixels);
  ok = image_to_arrow(self, &schema, &column) && ok;
  ok = is_same("Arrow", xd_array_from_arrow(&schema, &column, NULL, NULL), self->pixels) && ok;
  ok = xd_memory_view_register(&image_class, &image_entry) && ok;
  ok = is_same("MemoryView", xd_array_from_object(self, XD_MEMORY_VIEW_SIMPLE, NULL), self->pixels) && ok;
  ok = self->holders == 1 && ok; /* each export has released the image */
  image_release(self);
  return ok ? 0 : 1;
}
