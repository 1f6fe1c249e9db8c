/*
 * What the kernels are written in: C with the words below, which three compilers are given in three ways.
 *
 *   OpenCL C 1.2    a device of OpenCL compiles the text when it is first needed
 *   CUDA C++        NVRTC makes the committed PTX of it
 *   C++ on a host   the driver that stands in for CUDA's in the tests; it provides the functions declared at the end
 *
 * Every kernel has the same parameters, so that whoever launches one needs to know its name alone:
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
#define ITEM_ID ((u32)get_local_id(0))
#define ITEM_COUNT ((u32)get_local_size(0))
#define GROUP_ID ((u32)get_group_id(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define MULTIPLY_HIGH(a, b) mul_hi((u32)(a), (u32)(b))
#define LEADING_ZEROS(value) ((u32)clz((u64)(value)))
#define LEAST_OF(place, value) atomic_min(place, value)

#elif defined(__CUDACC__)

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
typedef ulonglong2 u128;

#define KERNEL extern "C" __global__
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define SHARED __shared__
#define UNROLL _Pragma("unroll")
#define ITEM_ID threadIdx.x
#define ITEM_COUNT blockDim.x
#define GROUP_ID blockIdx.x
#define BARRIER() __syncthreads()
#define MULTIPLY_HIGH(a, b) __umulhi((u32)(a), (u32)(b))
#define LEADING_ZEROS(value) ((u32)__clzll((i64)(value)))
#define LEAST_OF(place, value) atomicMin(place, value)

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

/* Of the item that runs: its number in its group, how many there are in it, and the number of the group. */
extern "C" u32 crossdock_item_id(void);
extern "C" u32 crossdock_item_count(void);
extern "C" u32 crossdock_group_id(void);
/* Returns when all items of the group have called it. */
extern "C" void crossdock_barrier(void);

/* One group at a time runs on a thread, and all its items do. */
#define KERNEL extern "C"
#define FUNCTION static inline
#define GLOBAL
#define SHARED static thread_local
#define UNROLL
#define ITEM_ID crossdock_item_id()
#define ITEM_COUNT crossdock_item_count()
#define GROUP_ID crossdock_group_id()
#define BARRIER() crossdock_barrier()
#define MULTIPLY_HIGH(a, b) ((u32)((u64)(u32)(a) * (u32)(b) >> 32))
#define LEADING_ZEROS(value) ((u32)((value) ? __builtin_clzll(value) : 64))
#define LEAST_OF(place, value) (*(place) = *(place) < (value) ? *(place) : (value))

#endif

/* The most loops that one launch has. */
#define MOST_AXES 16

/* A loop: how often, by which numbers to divide by that, and how many bytes each side goes on. */
typedef struct {
    u32 len;
    u32 magic;
    u32 shift;
    u32 unused;
    i64 from;
    i64 to;
} Axis;

/* What one launch is to do. The host makes the same struct, and a test compares the sizes. */
typedef struct {
    /* The bytes of `from` and `to` at which the first element is. */
    u64 from;
    u64 to;
    /* An element of up to 16 bytes, repeated. */
    u64 pattern[2];
    /* How many elements, fewer than 2^31; how many loops, the innermost first. */
    u32 count;
    u32 rank;
    /* The bytes of the parts of an element that are to be turned around; 0 for none. */
    u32 swap;
    /* Which loop the source goes through in the smallest steps, for tiles. */
    u32 across;
    /* Codes of dtypes, and whether what does not fit is refused. */
    u32 from_type;
    u32 to_type;
    u32 checked;
    u32 unused;
    Axis axes[MOST_AXES];
} Job;

/* A number below 2^31 divided by the length of a loop. */
FUNCTION u32 divide(u32 number, u32 magic, u32 shift)
{
    return (MULTIPLY_HIGH(number, magic) + number) >> shift;
}
