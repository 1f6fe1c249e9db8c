/* Pools, allocators of one's own, and the ledger. */

#include "check.h"

static xd_statistics numbers_of(const xd_pool_t *pool)
{
  xd_statistics statistics;
  CHECK(xd_pool_statistics(pool, &statistics));
  return statistics;
}

static void a_limit_is_exact_and_memory_outlives_its_pool(void)
{
  xd_pool_t *all = xd_pool_default(&error), *pool = xd_pool_capped(all, "thumbnails", 1 << 20, &error);
  CHECK(pool != NULL && is_text(xd_pool_name(pool, &error), "thumbnails") && numbers_of(pool).limit_nbytes == 1 << 20);
  xd_buffer_t *buffer = xd_pool_alloc(pool, 1000, 4096, 0, &error);
  CHECK(buffer != NULL && xd_buffer_address(buffer) % 4096 == 0 && numbers_of(pool).live_nbytes == 1024);
  CHECK(is_text(xd_buffer_pool_name(buffer, &error), "thumbnails"));
  CHECK(xd_pool_alloc(pool, 1 << 20, 0, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_OUT_OF_MEMORY, "1024");
  CHECK(xd_pool_alloc(pool, SIZE_MAX, 0, 0, &error) == NULL);
  xd_error_free(error);
  CHECK(xd_pool_alloc(pool, 8, 3, 0, &error) == NULL);
  xd_error_free(error);
  CHECK(xd_pool_alloc(pool, 8, 0, 1u << 20, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "0x100000");

  xd_dtype_t *f4 = xd_dtype_parse("<f4", &error);
  ssize_t shape[] = {16, 16}, most[] = {PTRDIFF_MAX, 2};
  xd_array_t *array = xd_pool_zeros(pool, f4, 2, shape, XD_ROW_MAJOR, &error);
  CHECK(array != NULL && numbers_of(pool).live_nbytes == 2048 && numbers_of(pool).live_count == 2);
  CHECK(xd_pool_zeros(pool, f4, 2, most, XD_ROW_MAJOR, &error) == NULL);
  CHECK_ERROR(XD_ERROR_OVERFLOW, "");
  xd_array_free(array);
  CHECK(numbers_of(pool).peak_nbytes == 2048 && numbers_of(pool).allocations == 2);
  xd_pool_reset_peak(pool);
  CHECK(numbers_of(pool).peak_nbytes == 1024);
  xd_pool_t *other = xd_pool_clone(pool, &error);
  xd_pool_free(pool);
  CHECK(numbers_of(other).live_count == 1);
  xd_pool_free(other);
  xd_buffer_free(buffer); /* after its pool */
  xd_pool_free(all);
  xd_dtype_free(f4);

  xd_statistics nothing;
  memset(&nothing, 0xa5, sizeof nothing);
  CHECK(!xd_pool_statistics(NULL, &nothing) && nothing.limit_nbytes == 0 && xd_pool_trim(NULL) == 0);
}

static void pools_have_their_sources(void)
{
#ifdef _WIN32
  xd_pool_t *pools[] = {xd_pool_system(&error), xd_pool_caching(1 << 20, 100, &error)};
  CHECK(xd_pool_shareable(1 << 20, 100, &error) == NULL);
  CHECK_ERROR(XD_ERROR_UNSUPPORTED, "shared memory");
#else
  xd_pool_t *pools[] = {xd_pool_system(&error), xd_pool_caching(1 << 20, 100, &error), xd_pool_shareable(1 << 20, 100, &error)};
#endif
  for (size_t k = 0; k < COUNT(pools); k++) {
    CHECK(pools[k] != NULL);
    xd_pool_t *proxy = xd_pool_proxy(pools[k], "part", &error);
    xd_buffer_t *buffer = xd_pool_alloc(proxy, 1 << 19, 0, XD_ALLOC_RESERVE | XD_ALLOC_POPULATE, &error);
    CHECK(buffer != NULL && numbers_of(proxy).live_nbytes >= 1 << 19 && numbers_of(pools[k]).live_nbytes >= 1 << 19);
#ifndef _WIN32
    int fd = -1;
    CHECK(xd_buffer_fd(buffer, &fd, NULL, &error) == (k == 2) && (k < 2 ? fd == -1 : fd > 0));
    if (k < 2)
      CHECK_ERROR(XD_ERROR_UNSUPPORTED, "524288 bytes");
#endif
    xd_buffer_free(buffer);
    (void)xd_pool_trim(proxy);
    CHECK(numbers_of(pools[k]).live_nbytes == 0 && numbers_of(pools[k]).limit_nbytes == UINT64_MAX);
    xd_pool_free(proxy);
    xd_pool_free(pools[k]);
  }
  char name[300];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  xd_pool_t *all = xd_pool_default(&error);
  CHECK(xd_pool_proxy(all, name, &error) == NULL);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "299 bytes");
  CHECK(xd_pool_proxy(all, "\xff", &error) == NULL);
  CHECK_ERROR(XD_ERROR_MALFORMED, "byte 0");
  xd_pool_free(all);
}

/* The last test of the process: no new name is left. */
static void names_are_limited(void)
{
  enum { MOST = 4096 };
  xd_pool_t *all = xd_pool_default(&error), *pool = all;
  char name[16];
  int made = 0;
  for (; made < MOST + 1 && pool != NULL; made++) {
    (void)snprintf(name, sizeof name, "name %d", made);
    pool = xd_pool_proxy(all, name, &error);
    if (pool != NULL)
      xd_pool_free(pool);
  }
  CHECK_ERROR(XD_ERROR_EXHAUSTED, "4096");
  CHECK(made > MOST - 8 && made <= MOST); /* the other tests have a few, and the last one failed */
  pool = xd_pool_proxy(all, "name 0", &error);
  CHECK(pool != NULL);
  xd_pool_free(pool);
  xd_pool_free(all);
}

/* In a damaged block, which is never freed: instruments find that it is reachable. */
static volatile uint8_t *past;

static void damage_is_found(void)
{
  xd_pool_t *all = xd_pool_system(&error), *pool = xd_pool_guarded(all, "guarded", &error);
  xd_buffer_t *buffer = xd_pool_alloc(pool, 64, 0, 0, &error);
  CHECK(buffer != NULL && is_text(xd_pool_take_damage(&error), ""));
  past = (volatile uint8_t *)xd_buffer_address(buffer) + 64;
  *past ^= 0xff; /* in the guard bytes, which exist */
  xd_buffer_free(buffer);
  char *damage = xd_pool_take_damage(&error);
  CHECK(damage != NULL && strchr(damage, '\n') != NULL && is_text(xd_pool_take_damage(&error), ""));
  xd_string_free(damage);
  xd_pool_free(pool);
  xd_pool_free(all);
}

/* ----- an allocator ----- */

#ifdef _WIN32
#include <malloc.h>
#define aligned_alloc(alignment, nbytes) _aligned_malloc(nbytes, alignment)
#define free_aligned _aligned_free
#else
#define free_aligned free
#endif

struct heap {
  size_t live, most;
  int released, is_crooked;
};

static void *take(void *context, size_t nbytes, size_t alignment)
{
  struct heap *heap = context;
  size_t unit = 2 * alignment;
  void *block = heap->live + nbytes > heap->most ? NULL : aligned_alloc(unit, (nbytes / unit + 1) * unit);
  if (block == NULL)
    return NULL;
  heap->live += nbytes;
  return heap->is_crooked ? (char *)block + 1 : block;
}

static void give(void *context, void *block, size_t nbytes, size_t alignment)
{
  struct heap *heap = context;
  (void)alignment;
  heap->live -= nbytes;
  free_aligned(heap->is_crooked ? (char *)block - 1 : block);
}

static void end(void *context)
{
  ((struct heap *)context)->released++;
}

static void an_allocator_is_a_source(void)
{
  struct heap heap = {0, 1 << 16, 0, 0};
  xd_allocator functions = {take, give, end, &heap};
  xd_pool_t *pool = xd_pool_over("own", &functions, &error);
  xd_buffer_t *buffer = xd_pool_alloc(pool, 1000, 0, 0, &error);
  CHECK(buffer != NULL && heap.live >= 1000 && numbers_of(pool).live_nbytes == 1024);
  CHECK(xd_pool_alloc(pool, 1 << 20, 0, 0, &error) == NULL);
  CHECK_ERROR(XD_ERROR_OUT_OF_MEMORY, "");
  heap.is_crooked = 1; /* an address that is no multiple of the alignment */
  size_t live = heap.live;
  CHECK(xd_pool_alloc(pool, 100, 0, 0, &error) == NULL && heap.live == live);
  CHECK_ERROR(XD_ERROR_OUT_OF_MEMORY, "");
  heap.is_crooked = 0;
  xd_pool_free(pool);
  CHECK(heap.released == 0);
  xd_buffer_free(buffer);
  CHECK(heap.released == 1 && heap.live == 0);
  functions.free = NULL;
  CHECK(xd_pool_over("own", &functions, &error) == NULL && heap.released == 2);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`allocator->free`");
  functions.free = give;
  CHECK(xd_pool_over(NULL, &functions, &error) == NULL && heap.released == 3);
  CHECK_ERROR(XD_ERROR_ARGUMENT, "`name`");
}

static void the_ledger_says_why_memory_is_alive(void)
{
  CHECK(!xd_ledger_is_on());
  xd_ledger_switch_on();
  CHECK(xd_ledger_is_on());
  xd_buffer_t *buffer = xd_buffer_alloc(4321, &error);
  uintptr_t address = xd_buffer_address(buffer);
  xd_lease_t *lease = xd_buffer_lease(buffer, XD_LEASE_PIN, &error), *other = xd_buffer_lease(buffer, XD_LEASE_READ, &error);
  xd_buffer_free(buffer);
  xd_ledger_t *ledger = xd_ledger_read(&error);
  xd_allocation entry;
  size_t found = SIZE_MAX;
  for (size_t k = 0; k < xd_ledger_len(ledger); k++)
    if (xd_ledger_entry(ledger, k, &entry) && entry.address == address)
      found = k;
  CHECK(found != SIZE_MAX && xd_ledger_entry(ledger, found, &entry));
  CHECK(entry.nbytes == 4321 && entry.handles == 0 && entry.pins == 1 && entry.leases == 1 && entry.lease_kind == XD_LEASE_READ);
  CHECK(entry.backing == XD_BACKING_HEAP && entry.birth == XD_BIRTH_SOLE && entry.device_kind == 1 && entry.age_ms >= 0);
  CHECK(entry.holder_count == 2);
  char *holder = xd_ledger_holder(ledger, found, 0, &error), *pool = xd_ledger_pool(ledger, found, &error);
  CHECK(holder != NULL && strstr(holder, "lease") != NULL && pool != NULL);
  xd_string_free(holder);
  xd_string_free(pool);
  CHECK(xd_ledger_holder(ledger, found, 2, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "holder 2");
  CHECK(xd_ledger_pool(ledger, SIZE_MAX, &error) == NULL);
  CHECK_ERROR(XD_ERROR_BOUNDS, "allocations");
  CHECK(!xd_ledger_entry(ledger, SIZE_MAX, &entry) && entry.address == 0);
  char *report = xd_ledger_to_text(&error);
  CHECK(report != NULL && strstr(report, "pin lease") != NULL);
  xd_string_free(report);
  xd_lease_release(lease);
  xd_lease_release(other);
  xd_ledger_free(ledger); /* it says what was, and keeps nothing alive */
  CHECK(xd_ledger_missed() == 0 && xd_ledger_failed_releases() == 0);
  xd_ledger_switch_off();
}

int main(void)
{
  a_limit_is_exact_and_memory_outlives_its_pool();
  pools_have_their_sources();
  damage_is_found();
  an_allocator_is_a_source();
  the_ledger_says_why_memory_is_alive();
  names_are_limited();
  return 0;
}
