/* The smallest producer of MemoryViews that a C extension can have, and the loop that requests views
   from any object: Ruby's own functions, for both in one process. */

#include <ruby.h>
#include <ruby/memory_view.h>
#include <string.h>
#include <time.h>

static double samples[1000];
static const ssize_t shape[] = {1000}, strides[] = {8};

static bool smallest_get(VALUE object, rb_memory_view_t *view, int flags)
{
  rb_memory_view_init_as_byte_array(view, object, samples, sizeof samples, true);
  view->format = "d";
  view->item_size = 8;
  view->shape = shape;
  view->strides = strides;
  return true;
}

static bool smallest_release(VALUE object, rb_memory_view_t *view)
{
  return true;
}

static bool smallest_available(VALUE object)
{
  return true;
}

static const rb_memory_view_entry_t smallest = {smallest_get, smallest_release, smallest_available};

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

/* Nanoseconds for each get and release, averaged over this many. */
static VALUE exchange(VALUE module, VALUE object, VALUE count)
{
  long rounds = NUM2LONG(count);
  rb_memory_view_t view;
  memset(&view, 0, sizeof view);
  double start = now();
  for (long k = 0; k < rounds; k++) {
    if (!rb_memory_view_get(object, &view, RUBY_MEMORY_VIEW_STRIDES)) return Qnil;
    rb_memory_view_release(&view);
  }
  return DBL2NUM((now() - start) / rounds);
}

void Init_peers(void)
{
  VALUE module = rb_define_module("Peers"), class = rb_define_class_under(module, "Smallest", rb_cObject);
  rb_memory_view_register(class, &smallest);
  rb_define_singleton_method(module, "exchange", exchange, 2);
}
