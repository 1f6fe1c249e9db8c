/* The limit of a hand-over: a word in shared memory, there and back between two processes. */

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

static void wait_for(_Atomic uint32_t *word, uint32_t value)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value) {
    }
}

/* Sends `count` numbers, and waits for each to come back. Returns the nanoseconds, and leaves the words zero. */
double there_and_back(_Atomic uint32_t *words, uint32_t count)
{
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint32_t number = 1; number <= count; number++) {
        atomic_store_explicit(&words[0], number, memory_order_release);
        wait_for(&words[32], number);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    atomic_store(&words[0], 0);
    wait_for(&words[32], 0);
    return (end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec);
}

/* Sends back `count` numbers. */
void send_back(_Atomic uint32_t *words, uint32_t count)
{
    for (uint32_t number = 1; number <= count; number++) {
        wait_for(&words[0], number);
        atomic_store_explicit(&words[32], number, memory_order_release);
    }
    wait_for(&words[0], 0);
    atomic_store(&words[32], 0);
}
