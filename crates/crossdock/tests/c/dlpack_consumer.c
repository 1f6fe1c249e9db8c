/* A consumer that knows DLPack 1.x by its C structs alone, and nothing of Crossdock.
 *
 *   cc -shared -fPIC -o consumer.so dlpack_consumer.c
 *
 * crossdock_consume() consumes a tensor, writes its description to the report, adds up the elements
 * in place, and calls the deleter. It copies nothing. It returns
 *
 *    0  the report is complete
 *    1  the elements cannot be added up (because of their type or device): `sum` is 0, and the rest
 *       of the report is complete
 *   -1  there is no tensor
 *   -2  the major version is not 1: the deleter was called, and only `version` is in the report
 *
 * crossdock_store() writes a byte pattern to element 0 through a tensor that it does not consume.
 */

#include <stdint.h>
#include <string.h>

struct dl_version { uint32_t major, minor; };
struct dl_device { int32_t type, id; };
struct dl_dtype { uint8_t code, bits; uint16_t lanes; };

struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t ndim;
    struct dl_dtype dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
};

struct DLManagedTensorVersioned {
    struct dl_version version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

#define REPORT_RANK 64

struct report {
    uint32_t version[2];
    uint64_t flags;
    uint64_t address; /* of element 0 */
    int32_t device[2];
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t shape[REPORT_RANK];
    int64_t strides[REPORT_RANK]; /* in elements */
    double sum;
};

/* One element as a number. The caller checked that the type is supported. */
static double element(const char *at, struct dl_dtype dtype)
{
#define AS(type) do { type value; memcpy(&value, at, sizeof value); return (double)value; } while (0)
    switch (dtype.code * 1000 + dtype.bits) {
    case 8: AS(int8_t);
    case 16: AS(int16_t);
    case 32: AS(int32_t);
    case 64: AS(int64_t);
    case 1008: case 6008: AS(uint8_t);
    case 1016: AS(uint16_t);
    case 1032: AS(uint32_t);
    case 1064: AS(uint64_t);
    case 2032: AS(float);
    case 2064: AS(double);
    }
#undef AS
    return 0;
}

static int is_number(struct dl_dtype dtype)
{
    int whole = dtype.bits == 8 || dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
    if (dtype.lanes != 1)
        return 0;
    return (dtype.code <= 1 && whole) || (dtype.code == 2 && whole && dtype.bits >= 32)
        || (dtype.code == 6 && dtype.bits == 8);
}

/* The sum over the axes from `axis` on. */
static double sum(const struct report *out, struct dl_dtype dtype, const char *at, int32_t axis)
{
    double total = 0;
    if (axis == out->ndim)
        return element(at, dtype);
    for (int64_t i = 0; i < out->shape[axis]; i++)
        total += sum(out, dtype, at + i * out->strides[axis] * (dtype.bits / 8), axis + 1);
    return total;
}

int crossdock_consume(struct DLManagedTensorVersioned *tensor, struct report *out)
{
    const struct dl_tensor *t;
    int64_t inner = 1;
    int countable;

    memset(out, 0, sizeof *out);
    if (!tensor)
        return -1;
    out->version[0] = tensor->version.major;
    out->version[1] = tensor->version.minor;
    if (tensor->version.major != 1) {
        if (tensor->deleter)
            tensor->deleter(tensor);
        return -2;
    }
    t = &tensor->tensor;
    out->flags = tensor->flags;
    out->address = (uint64_t)(uintptr_t)t->data + t->byte_offset;
    out->device[0] = t->device.type;
    out->device[1] = t->device.id;
    out->ndim = t->ndim;
    out->code = t->dtype.code;
    out->bits = t->dtype.bits;
    out->lanes = t->dtype.lanes;
    countable = t->ndim >= 0 && t->ndim <= REPORT_RANK;
    for (int32_t axis = countable ? t->ndim - 1 : -1; axis >= 0; axis--) {
        out->shape[axis] = t->shape[axis];
        out->strides[axis] = t->strides ? t->strides[axis] : inner;
        inner *= t->shape[axis];
    }
    countable = countable && t->device.type == 1 && is_number(t->dtype);
    if (countable)
        out->sum = sum(out, t->dtype, (const char *)t->data + t->byte_offset, 0);
    if (tensor->deleter)
        tensor->deleter(tensor);
    return countable ? 0 : 1;
}

void crossdock_store(const struct DLManagedTensorVersioned *tensor, const void *bytes)
{
    const struct dl_tensor *t = &tensor->tensor;
    memcpy((char *)t->data + t->byte_offset, bytes, t->dtype.bits / 8);
}
