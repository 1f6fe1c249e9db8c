/* Runs a kernel, with all items of a group on one thread. Each item is a fiber, which stops at a barrier until all items have reached it. */

#include <stdlib.h>
#include <ucontext.h>

typedef void (*Kernel)(u8 *to, const u8 *from, u32 *refused, const Job job);

static thread_local struct { Kernel kernel; u8 *to; const u8 *from; u32 *refused; const Job *job; } call;
static thread_local u32 item, group, ended;
static thread_local ucontext_t scheduler, fibers[ITEMS];

u32 crossdock_item_id(void) { return item; }
u32 crossdock_item_count(void) { return ITEMS; }
u32 crossdock_group_id(void) { return group; }
void crossdock_barrier(void) { swapcontext(&fibers[item], &scheduler); }

static void run(void)
{
    call.kernel(call.to, call.from, call.refused, *call.job);
    ended += 1;
}

extern "C" void launch(Kernel kernel, u8 *to, const u8 *from, u32 *refused, const Job *job, u32 groups)
{
    const size_t stack = 64 << 10;
    char *stacks = (char *)malloc(ITEMS * stack);
    call = {kernel, to, from, refused, job};
    for (group = 0; group < groups; group += 1) {
        ended = 0;
        for (item = 0; item < ITEMS; item += 1) {
            if (item > 0 && ended == item) { /* The first item reached no barrier, so none does. */
                run(); continue;
            }
            getcontext(&fibers[item]);
            fibers[item].uc_stack.ss_sp = stacks + item * stack;
            fibers[item].uc_stack.ss_size = stack;
            fibers[item].uc_link = &scheduler;
            makecontext(&fibers[item], run, 0);
            swapcontext(&scheduler, &fibers[item]);
        }
        while (ended < ITEMS)
            for (item = 0; item < ITEMS; item += 1)
                swapcontext(&scheduler, &fibers[item]);
    }
    free(stacks);
}
