/*
 * The language of the kernels: C with the words below, which are defined for three compilers.
 *
 *   OpenCL C 1.2    a device of OpenCL compiles the text when it is first needed
 *   CUDA C++        NVRTC makes the committed PTX of it
 *   C++ on a host   the driver that stands in for CUDA's in the tests; it provides the functions declared at the end
 *
 * Every kernel has the same parameters, so that a launch needs only its name:
 *
 *   KERNEL void name(GLOBAL u8 *to, const GLOBAL u8 *from, GLOBAL u32 *refused, const Job job)
 *
 * Work-items and groups are counted along one axis. A kernel that has a barrier declares its SHARED array first, and all items of
 * its groups reach the barrier.
 */

#if defined(__OPENCL_VERSION__)

typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef int i32;
typedef long i64;
typedef ulong2 u128;

#define KERNEL __kernel
#define FUNCTION static inline
#define GLOBAL __global
#define SHARED __local
#define UNROLL
#define ROLLED
#define ITEM_ID ((u32)get_local_id(0))
#define ITEM_COUNT ((u32)get_local_size(0))
#define GROUP_ID ((u32)get_group_id(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define MULTIPLY_HIGH(a, b) mul_hi((u32)(a), (u32)(b))
#define LEADING_ZEROS(value) ((u32)clz((u64)(value)))
#define LEAST_OF(place, value) atomic_min(place, value)
#define ADDRESS(pointer) ((u64)(size_t)(pointer))

#elif defined(__CUDACC__)

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
typedef ulonglong2 u128;

#define KERNEL extern "C" __global__ __launch_bounds__(256)
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define SHARED __shared__
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
#define ITEM_ID threadIdx.x
#define ITEM_COUNT blockDim.x
#define GROUP_ID blockIdx.x
#define BARRIER() __syncthreads()
#define MULTIPLY_HIGH(a, b) __umulhi((u32)(a), (u32)(b))
#define LEADING_ZEROS(value) ((u32)__clzll((i64)(value)))
#define LEAST_OF(place, value) atomicMin(place, value)
#define ADDRESS(pointer) ((u64)(pointer))

#else

#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;
struct alignas(16) u128 {
    u64 x, y;
};

/* The running item: its number in its group, the size of the group, and the number of the group. */
extern "C" u32 crossdock_item_id(void);
extern "C" u32 crossdock_item_count(void);
extern "C" u32 crossdock_group_id(void);
/* Returns when all items of the group have called it. */
extern "C" void crossdock_barrier(void);

/* A thread runs one group at a time, with all its items. */
#define KERNEL extern "C"
#define FUNCTION static inline
#define GLOBAL
#define SHARED static thread_local
#define UNROLL
#define ROLLED
#define ITEM_ID crossdock_item_id()
#define ITEM_COUNT crossdock_item_count()
#define GROUP_ID crossdock_group_id()
#define BARRIER() crossdock_barrier()
#define MULTIPLY_HIGH(a, b) ((u32)((u64)(u32)(a) * (u32)(b) >> 32))
#define LEADING_ZEROS(value) ((u32)((value) ? __builtin_clzll(value) : 64))
#define LEAST_OF(place, value) (*(place) = *(place) < (value) ? *(place) : (value))
#define ADDRESS(pointer) ((u64)(uintptr_t)(pointer))

#endif

/* The number of items in a group, and the greatest number of loops in a launch. */
#define ITEMS 256
#define MOST_AXES 16

/* The steps of an item, in flight at once: the number of requests in flight limits the speed of a device. */
#define AT_ONCE 4

/* The index of an item's first step; the next ones follow at the distance of a group's width. */
#define FIRST (GROUP_ID * (ITEMS * AT_ONCE) + ITEM_ID)

/*
 * A loop: the number of steps, and the bytes of a step on each side. The other two fields divide an index by `steps`, the number of
 * steps of the launch.
 */
typedef struct {
    u32 len;
    u32 steps;
    u32 magic;
    u32 shift;
    i64 from;
    i64 to;
} Axis;

/* The description of a launch. The host fills in the same struct. */
typedef struct {
    /* The offsets of the first element in `from` and `to`. */
    u64 from;
    u64 to;
    /* An element of up to 16 bytes. */
    u64 pattern[2];
    /* The size in bytes of an element, or of a run; of `words`, the distance in the source between the bytes of a word. */
    u64 width;
    /* The number of steps of all loops, fewer than 2^31; the number of loops, the innermost first. */
    u32 count;
    u32 rank;
    /* Whether elements are byte-swapped: 1 for the source, 2 for the destination. */
    u32 swap;
    /* Whether elements are aligned to their width: 1 for the source, 2 for the destination. */
    u32 aligned;
    /* Codes of dtypes, and whether values that do not fit are refused. */
    u32 from_type;
    u32 to_type;
    u32 checked;
    u32 unused;
    Axis axes[MOST_AXES];
} Job;

typedef struct {
    i64 from;
    i64 to;
} Offsets;

/* An index below 2^31 divided by the steps of a loop. */
FUNCTION u32 divided(u32 index, u32 magic, u32 shift)
{
    return (MULTIPLY_HIGH(index, magic) + index) >> shift;
}

/* The offset of the element at a step of all loops. What is left of the index is the step of the outermost one. */
FUNCTION Offsets offsets_of(const Job *job, u32 index)
{
    Offsets at;
    at.from = (i64)job->from;
    at.to = (i64)job->to;
    ROLLED
    for (u32 axis = 0; axis < job->rank; axis += 1) {
        const u32 rest = axis + 1 < job->rank ? divided(index, job->axes[axis].magic, job->axes[axis].shift) : 0;
        const i64 step = index - rest * job->axes[axis].steps;
        at.from += step * job->axes[axis].from;
        at.to += step * job->axes[axis].to;
        index = rest;
    }
    return at;
}

FUNCTION u16 swapped_u16(u16 value)
{
    return (u16)(value << 8 | value >> 8);
}

FUNCTION u32 swapped_u32(u32 value)
{
    return value << 24 | (value & 0xff00u) << 8 | (value >> 8 & 0xff00u) | value >> 24;
}

FUNCTION u64 swapped_u64(u64 value)
{
    return (u64)swapped_u32((u32)value) << 32 | swapped_u32((u32)(value >> 32));
}
