// The floors of views.c: Crossdock's contracts by hand, for the cases of the benchmark alone. What
// they cost is calls, atomics and stores: a lease is a compare-and-swap up and a subtraction, and
// of all copies of a view one may release it, which is another compare-and-swap. Called by pointers
// that the compiler does not see through, as a library's functions are.

#include <stdatomic.h>

#define FEW_AXES 4

struct hand_array {
  _Atomic uint64_t counter;
  char *data;
  ssize_t ndim, item_size, byte_size, shape[FEW_AXES], strides[FEW_AXES];
  const char *format;
  const rb_memory_view_item_component_t *components;
};

struct hand_record {
  _Atomic uint64_t state; // even: free; odd: a view is held
  struct hand_array *array;
  const rb_memory_view_entry_t *entry;
  rb_memory_view_t filled;
  ssize_t shape[FEW_AXES], strides[FEW_AXES];
};

static struct hand_record hand_records[2];

static void hand_publish(struct hand_record *record, rb_memory_view_t *view) {
  const uint64_t state = atomic_load_explicit(&record->state, memory_order_relaxed) + 1;
  atomic_store_explicit(&record->state, state, memory_order_release);
  view->shape = record->shape;
  view->strides = record->strides;
  view->reserved = (void *)(uintptr_t)(state << 8 | (uint64_t)(record - hand_records));
}

static bool hand_get_array(void *object, rb_memory_view_t *view, int flags) {
  struct hand_array *array = object;
  struct hand_record *record = &hand_records[0];
  if (!array || !view || (flags & ~RUBY_MEMORY_VIEW_STRIDES)) return false;
  uint64_t now = atomic_load_explicit(&array->counter, memory_order_relaxed);
  if (!atomic_compare_exchange_strong(&array->counter, &now, now + 1)) return false;
  record->array = array;
  memcpy(record->shape, array->shape, sizeof array->shape);
  memcpy(record->strides, array->strides, sizeof array->strides);
  *view = (rb_memory_view_t){.obj = object, .data = array->data, .byte_size = array->byte_size, .readonly = true,
    .format = array->format, .item_size = array->item_size, .item_desc = {array->components, 1}, .ndim = array->ndim};
  hand_publish(record, view);
  return true;
}

// Asks a producer, checks what it filled in, and copies it.
static bool hand_get(void *object, rb_memory_view_t *view, int flags) {
  static const rb_memory_view_item_component_t d = {.format = 'd', .little_endian_p = true, .size = 8, .repeat = 1};
  struct hand_record *record = &hand_records[1];
  rb_memory_view_t *filled = &record->filled;
  const rb_memory_view_entry_t *entry = record->entry;
  if (!object || !view || !entry->available_p_func(object) || !entry->get_func(object, filled, flags)) return false;
  if (strcmp(filled->format, "d") || filled->item_size != 8 || filled->ndim != 1 || filled->sub_offsets) return false;
  const ssize_t length = *filled->shape, stride = *filled->strides;
  ssize_t reach;
  if (length < 0 || __builtin_mul_overflow(length, stride, &reach) || reach > filled->byte_size) return false;
  *record->shape = length;
  *record->strides = stride;
  *view = *filled;
  view->item_desc = (__typeof__(view->item_desc)){&d, 1};
  hand_publish(record, view);
  return true;
}

static bool hand_release(rb_memory_view_t *view) {
  const uint64_t name = (uint64_t)(uintptr_t)view->reserved;
  struct hand_record *record = &hand_records[name & 1];
  uint64_t state = name >> 8;
  if (!atomic_compare_exchange_strong(&record->state, &state, state + 1)) return false;
  if (record->entry) {
    if (!record->entry->release_func(record->filled.obj, &record->filled)) return false;
  } else {
    atomic_fetch_sub(&record->array->counter, 1);
  }
  memset(view, 0, sizeof *view);
  return true;
}

// The numbers of an item of one axis, within its bounds and its bytes.
static ssize_t hand_read(const rb_memory_view_t *view, const ssize_t *index, xd_value *out, size_t capacity) {
  if (!view || !view->format || view->ndim != 1 || view->sub_offsets || view->item_desc.length > capacity) return -1;
  if (*index < 0 || *index >= *view->shape) return -1;
  const char *item = (const char *)view->data + *index * *view->strides;
  for (size_t i = 0; i < view->item_desc.length; ++i) {
    const rb_memory_view_item_component_t *part = &view->item_desc.components[i];
    if (part->repeat != 1 || part->offset + part->size > (size_t)view->item_size) return -1;
    int32_t narrow;
    out[i] = (xd_value){.kind = part->format == 'd' ? XD_VALUE_FLOAT : XD_VALUE_INT};
    switch (part->format) {
    case 'd':
    case 'q': memcpy(&out[i].as, item + part->offset, 8); break;
    case 'i': memcpy(&narrow, item + part->offset, 4), out[i].as.i = narrow; break;
    case 'c': out[i].as.i = (signed char)item[part->offset]; break;
    default: return -1;
    }
  }
  return (ssize_t)view->item_desc.length;
}

static ssize_t hand_parse(const char *format, rb_memory_view_item_component_t **components, size_t *n) {
  const size_t length = strlen(format);
  rb_memory_view_item_component_t *part = *components = malloc(length * sizeof *part);
  ssize_t end = 0;
  for (size_t i = 0; i < length; ++i) {
    const size_t size = format[i] == 'i' ? 4 : format[i] == 'q' || format[i] == 'd' ? 8 : 1;
    part[i] = (rb_memory_view_item_component_t){
      .format = format[i], .little_endian_p = true, .offset = (size_t)end, .size = size, .repeat = 1};
    end += (ssize_t)size;
  }
  *n = length;
  return end;
}

static bool (*volatile by_hand_get_array)(void *, rb_memory_view_t *, int) = hand_get_array;
static bool (*volatile by_hand_get)(void *, rb_memory_view_t *, int) = hand_get;
static bool (*volatile by_hand_release)(rb_memory_view_t *) = hand_release;
static ssize_t (*volatile by_hand_read)(const rb_memory_view_t *, const ssize_t *, xd_value *, size_t) = hand_read;
static ssize_t (*volatile by_hand_parse)(const char *, rb_memory_view_item_component_t **, size_t *) = hand_parse;
