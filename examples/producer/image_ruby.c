/* A Ruby extension whose images lend their pixels as a MemoryView, with crossdock_producer.h alone:
 * `mkmf` with `have_header("ruby/memory_view.h")` builds it. */
#include <ruby.h>
#include <ruby/memory_view.h>

#include <crossdock_producer.h>

typedef struct image {
  int64_t shape[3];
  uint8_t *pixels;
} image;

static void image_free(void *self)
{
  free(((image *)self)->pixels);
  xfree(self);
}

static const rb_data_type_t image_type = {
  .wrap_struct_name = "Image", .function = {.dfree = image_free}, .flags = RUBY_TYPED_FREE_IMMEDIATELY};

static VALUE image_allocate(VALUE class)
{
  image *self;
  return TypedData_Make_Struct(class, image, &image_type, self);
}

static VALUE image_initialize(VALUE object, VALUE height, VALUE width)
{
  image *self;
  TypedData_Get_Struct(object, image, &image_type, self);
  if (self->pixels != NULL)
    rb_raise(rb_eRuntimeError, "the image has pixels already, which a view may lend");
  unsigned int rows = NUM2UINT(height), columns = NUM2UINT(width);
  if (rows > 10000 || columns > 10000)
    rb_raise(rb_eArgError, "an image of %u x %u pixels; the most is 10000 x 10000", rows, columns);
  self->shape[0] = rows;
  self->shape[1] = columns;
  self->shape[2] = 3;
  self->pixels = calloc((size_t)(self->shape[0] * self->shape[1] * 3) + 1, 1);
  if (self->pixels == NULL)
    rb_raise(rb_eNoMemError, "no memory for the pixels");
  return object;
}

static VALUE image_address(VALUE object)
{
  image *self;
  TypedData_Get_Struct(object, image, &image_type, self);
  return ULL2NUM((uintptr_t)self->pixels);
}

/* MemoryView keeps the object alive, so the description has no owner. */
static bool image_get(VALUE object, rb_memory_view_t *view, int flags)
{
  image *self;
  TypedData_Get_Struct(object, image, &image_type, self);
  xdp_memory memory = xdp_describe(self->pixels, XDP_UINT8, 3, self->shape);
  bool is_done;
  xdp_fill_view(&memory, view, object, flags, (xdp_error *)NULL, &is_done);
  return is_done;
}

static bool image_give_back(VALUE object, rb_memory_view_t *view)
{
  xdp_release_view(view->private_data);
  return true;
}

static bool image_is_available(VALUE object)
{
  return true;
}

static const rb_memory_view_entry_t image_entry = {image_get, image_give_back, image_is_available};

void Init_image_ruby(void)
{
  VALUE class = rb_define_class("Image", rb_cObject);
  rb_define_alloc_func(class, image_allocate);
  rb_define_method(class, "initialize", image_initialize, 2);
  rb_define_method(class, "address", image_address, 0);
  rb_memory_view_register(class, &image_entry);
}
