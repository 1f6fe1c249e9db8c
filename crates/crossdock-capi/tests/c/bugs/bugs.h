/* Shared by the programs about known bugs of Ruby's MemoryView: one function for each bug, a producer, and an array. */

#ifndef BUGS_H
#define BUGS_H

#include "../check.h"

typedef struct bug {
  const char *id;
  void (*run)(void);
} bug;

/* ----- a producer with given answers, which counts its calls ----- */

typedef struct lender {
  const xd_class *cls;
  xd_memory_view_t says;
  int gets, releases;
} lender;

static const xd_class lender_class = {"lender", NULL};

static inline bool lender_get(void *obj, xd_memory_view_t *view, int flags)
{
  lender *self = obj;
  (void)flags;
  *view = self->says;
  self->gets++;
  return true;
}

static inline bool lender_release(void *obj, xd_memory_view_t *view)
{
  ((lender *)obj)->releases++;
  return view->obj == obj;
}

static const xd_memory_view_entry_t lender_entry = {lender_get, lender_release, NULL};

/* Lends bytes. The object must not move. */
static inline void lend(lender *self, void *bytes, ssize_t nbytes, bool readonly)
{
  memset(self, 0, sizeof *self);
  self->cls = &lender_class;
  CHECK(xd_memory_view_init_as_byte_array(&self->says, self, bytes, nbytes, readonly));
}

/* ----- structs and arrays ----- */

static inline xd_memory_view_t of_bytes(void *bytes, ssize_t nbytes)
{
  xd_memory_view_t view;
  CHECK(xd_memory_view_init_as_byte_array(&view, NULL, bytes, nbytes, false));
  return view;
}

static inline xd_array_t *ramp(const char *typestr, ssize_t len)
{
  xd_dtype_t *dtype = xd_dtype_parse(typestr, &error);
  xd_array_t *array = xd_array_zeros(dtype, 1, &len, XD_ROW_MAJOR, &error);
  CHECK(array != NULL);
  for (ssize_t i = 0; i < len; i++) {
    xd_value value = {XD_VALUE_INT, {0}, 0, {i}};
    CHECK(xd_array_set(array, &i, &value, &error));
  }
  xd_dtype_free(dtype);
  return array;
}

/* Triggers each bug, and prints its id. */
static inline void meet(const bug *bugs, size_t count)
{
  CHECK(xd_memory_view_register(&lender_class, &lender_entry));
  for (size_t k = 0; k < count; k++) {
    bugs[k].run();
    puts(bugs[k].id);
  }
}

#endif
