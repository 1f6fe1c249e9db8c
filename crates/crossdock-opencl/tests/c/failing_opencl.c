/* An OpenCL loader that forwards each call to the system's, and fails on request: functions (also releases) return
 * errors, and commands end with an error. No driver does this on request. */

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef intptr_t word;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char failing[64];
static int32_t failure;
static int32_t command_status;
static unsigned failed;

/* The next call of this function fails with this error. */
void fail_next(const char *function, int32_t error)
{
    pthread_mutex_lock(&lock);
    snprintf(failing, sizeof failing, "%s", function);
    failure = error;
    pthread_mutex_unlock(&lock);
}

/* Until it is changed, all commands have this status, unless it is 0. */
void end_commands_with(int32_t status)
{
    pthread_mutex_lock(&lock);
    command_status = status;
    pthread_mutex_unlock(&lock);
}

/* The number of calls that failed so far. */
unsigned failures(void)
{
    pthread_mutex_lock(&lock);
    unsigned count = failed;
    pthread_mutex_unlock(&lock);
    return count;
}

static int32_t error_of(const char *function)
{
    int32_t error = 0;
    pthread_mutex_lock(&lock);
    if (strcmp(failing, function) == 0) {
        failing[0] = 0;
        error = failure;
        failed += 1;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

static void *of_the_system(const char *function)
{
    static void *library;
    pthread_mutex_lock(&lock);
    if (!library)
        library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    pthread_mutex_unlock(&lock);
    void *found = library ? dlsym(library, function) : NULL;
    if (!found)
        abort();
    return found;
}

#define D1 word a
#define D2 D1, word b
#define D3 D2, word c
#define D4 D3, word d
#define D5 D4, word e
#define D6 D5, word f
#define D7 D6, word g
#define D8 D7, word h
#define D9 D8, word i
#define D10 D9, word j
#define D13 D10, word k, word l, word m
#define A1 a
#define A2 A1, b
#define A3 A2, c
#define A4 A3, d
#define A5 A4, e
#define A6 A5, f
#define A7 A6, g
#define A8 A7, h
#define A9 A8, i
#define A10 A9, j
#define A13 A10, k, l, m

#define CALL(function, count) ((word(*)(D##count))of_the_system(#function))(A##count)

/* Functions that return their error. */
#define RETURNS(function, count)              \
    word function(D##count)                   \
    {                                         \
        int32_t error = error_of(#function);  \
        return error ? error : CALL(function, count); \
    }

/* Functions that return an object or null, and the error through the last parameter. */
#define MAKES(function, count, last)          \
    word function(D##count)                   \
    {                                         \
        int32_t error = error_of(#function);  \
        if (!error)                           \
            return CALL(function, count);     \
        *(int32_t *)last = error;             \
        return 0;                             \
    }

RETURNS(clGetPlatformIDs, 3)
RETURNS(clGetPlatformInfo, 5)
RETURNS(clGetDeviceIDs, 5)
RETURNS(clGetDeviceInfo, 5)
MAKES(clCreateContext, 6, f)
RETURNS(clRetainContext, 1)
RETURNS(clReleaseContext, 1)
RETURNS(clGetContextInfo, 5)
MAKES(clCreateCommandQueue, 4, d)
RETURNS(clRetainCommandQueue, 1)
RETURNS(clReleaseCommandQueue, 1)
RETURNS(clGetCommandQueueInfo, 5)
RETURNS(clFlush, 1)
MAKES(clCreateBuffer, 5, e)
MAKES(clCreateSubBuffer, 5, e)
RETURNS(clRetainMemObject, 1)
RETURNS(clReleaseMemObject, 1)
RETURNS(clGetMemObjectInfo, 5)
RETURNS(clEnqueueReadBuffer, 9)
RETURNS(clEnqueueWriteBuffer, 9)
RETURNS(clEnqueueCopyBuffer, 9)
RETURNS(clEnqueueCopyBufferRect, 13)
MAKES(clEnqueueMapBuffer, 10, j)
RETURNS(clEnqueueUnmapMemObject, 6)
RETURNS(clEnqueueMarkerWithWaitList, 4)
RETURNS(clEnqueueBarrierWithWaitList, 4)
MAKES(clCreateProgramWithSource, 5, e)
RETURNS(clRetainProgram, 1)
RETURNS(clReleaseProgram, 1)
RETURNS(clBuildProgram, 6)
RETURNS(clGetProgramBuildInfo, 6)
MAKES(clCreateKernel, 3, c)
RETURNS(clRetainKernel, 1)
RETURNS(clReleaseKernel, 1)
RETURNS(clSetKernelArg, 4)
RETURNS(clEnqueueNDRangeKernel, 9)
RETURNS(clRetainEvent, 1)
RETURNS(clReleaseEvent, 1)

word clWaitForEvents(D2)
{
    int32_t error = error_of("clWaitForEvents");
    if (error)
        return error;
    word status = CALL(clWaitForEvents, 2);
    /* CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST */
    return command_status < 0 ? -14 : status;
}

word clGetEventInfo(D5)
{
    int32_t error = error_of("clGetEventInfo");
    if (error)
        return error;
    word status = CALL(clGetEventInfo, 5);
    /* CL_EVENT_COMMAND_EXECUTION_STATUS */
    if ((uint32_t)b == 0x11D3 && command_status != 0 && *(int32_t *)d == 0)
        *(int32_t *)d = command_status;
    return status;
}
