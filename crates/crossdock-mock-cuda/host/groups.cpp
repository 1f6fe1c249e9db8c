/* Groups of work-items on one thread: an item is a fiber if the kernel has a barrier, and otherwise a call. */

#include "dialect.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

typedef void (*Kernel)(u8 *to, const u8 *from, u32 *refused, const Job job);

#define ENTRY(name) extern "C" void name(u8 *to, const u8 *from, u32 *refused, const Job job);
#include "entries.inc"
#undef ENTRY

static const struct {
    const char *name;
    Kernel kernel;
} kernels[] = {
#define ENTRY(name) {#name, name},
#include "entries.inc"
#undef ENTRY
};

/* Kernels need small stacks. */
static const size_t STACK = 64 << 10;

/* The error of a launch. */
enum Outcome { DONE, NO_MEMORY, PARTED_AT_A_BARRIER };

/* This thread's launch. */
struct Launch {
    Kernel kernel;
    u8 *to;
    const u8 *from;
    u32 *refused;
    const Job *job;
    u32 items;
    u32 group;
    u32 item;
    /* Whether items are fibers, which may stop at a barrier; and how many have ended. */
    bool is_fibers;
    u32 ended;
    Outcome outcome;
    ucontext_t scheduler;
    ucontext_t *fibers;
    u8 *stacks;
};

static thread_local Launch *current;

extern "C" u32 crossdock_item_id(void) { return current->item; }
extern "C" u32 crossdock_item_count(void) { return current->items; }
extern "C" u32 crossdock_group_id(void) { return current->group; }

extern "C" void crossdock_barrier(void)
{
    Launch *launch = current;
    if (!launch->is_fibers) {
        launch->outcome = PARTED_AT_A_BARRIER;
        return;
    }
    swapcontext(&launch->fibers[launch->item], &launch->scheduler);
}

static void call(Launch *launch)
{
    launch->kernel(launch->to, launch->from, launch->refused, *launch->job);
}

static void fiber(void)
{
    call(current);
    current->ended += 1;
}

static void start(Launch *launch, u32 item)
{
    ucontext_t *own = &launch->fibers[item];
    getcontext(own);
    own->uc_stack.ss_sp = launch->stacks + item * STACK;
    own->uc_stack.ss_size = STACK;
    own->uc_link = &launch->scheduler;
    makecontext(own, fiber, 0);
}

static void go_on(Launch *launch, u32 item)
{
    launch->item = item;
    swapcontext(&launch->scheduler, &launch->fibers[item]);
}

/* One group. The first item shows whether the kernel has a barrier. */
static void run_group(Launch *launch)
{
    launch->ended = 0;
    launch->is_fibers = true;
    start(launch, 0);
    go_on(launch, 0);
    if (launch->ended == 1) {
        launch->is_fibers = false;
        for (launch->item = 1; launch->item < launch->items; launch->item += 1)
            call(launch);
        return;
    }
    for (u32 item = 1; item < launch->items; item += 1) {
        start(launch, item);
        go_on(launch, item);
    }
    /* All items are at the barrier, or all have ended. */
    while (launch->ended == 0) {
        for (u32 item = 0; item < launch->items; item += 1)
            go_on(launch, item);
    }
    if (launch->ended != launch->items)
        launch->outcome = PARTED_AT_A_BARRIER;
}

extern "C" const size_t crossdock_mock_job_nbytes = sizeof(Job);

/* The number of a kernel, or -1. */
extern "C" int crossdock_mock_find(const char *name)
{
    for (size_t index = 0; index < sizeof kernels / sizeof *kernels; index += 1) {
        if (strcmp(kernels[index].name, name) == 0)
            return (int)index;
    }
    return -1;
}

extern "C" int crossdock_mock_run(int kernel, u8 *to, const u8 *from, u32 *refused, const void *job, u32 groups, u32 items)
{
    Job own;
    memcpy(&own, job, sizeof own);
    Launch launch = {};
    launch.kernel = kernels[kernel].kernel;
    launch.to = to;
    launch.from = from;
    launch.refused = refused;
    launch.job = &own;
    launch.items = items;
    launch.fibers = (ucontext_t *)calloc(items, sizeof(ucontext_t));
    launch.stacks = (u8 *)malloc(items * STACK);
    launch.outcome = launch.fibers && launch.stacks ? DONE : NO_MEMORY;
    current = &launch;
    for (; launch.group < groups && launch.outcome == DONE; launch.group += 1)
        run_group(&launch);
    current = nullptr;
    free(launch.fibers);
    free(launch.stacks);
    return launch.outcome;
}
