/* A consumer that knows nothing of Crossdock: only DLPack's struct, version 1.x, declared here as its specification has it.
 * `crossdock tour` compiles it with `cc` and hands tensors to it. */
#include <stddef.h>
#include <stdint.h>

typedef struct { int32_t device_type, device_id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements */
  uint64_t byte_offset;
} DLTensor;
typedef struct { uint32_t major, minor; } DLPackVersion;
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

enum { MAX_NDIM = 64, DL_CPU = 1 };

typedef struct {
  uint64_t address;
  uint64_t checksum; /* each byte times its position, from 1, in row-major order */
  int64_t shape[MAX_NDIM];
  int64_t strides[MAX_NDIM]; /* in bytes */
  int32_t ndim;
  uint8_t code, bits;
} Report;

/* Adds up the bytes of one axis and those within it; `position` counts the bytes seen so far. */
static uint64_t sum(const uint8_t *at, const DLTensor *tensor, int64_t itemsize, int32_t axis, uint64_t *position) {
  uint64_t total = 0;
  if (axis == tensor->ndim) {
    for (int64_t byte = 0; byte < itemsize; ++byte) total += at[byte] * ++*position;
    return total;
  }
  for (int64_t index = 0; index < tensor->shape[axis]; ++index)
    total += sum(at + index * tensor->strides[axis] * itemsize, tensor, itemsize, axis + 1, position);
  return total;
}

/* Takes the tensor, reports what it saw, and gives the tensor back. Returns 0, or what it does not understand: 1 the
 * version, 2 the device, 3 the rank, 4 vectors. */
int crossdock_consume(DLManagedTensorVersioned *managed, Report *report, int want_checksum) {
  const DLTensor *tensor = &managed->dl_tensor;
  int refused = managed->version.major != 1      ? 1
                : tensor->device.device_type != DL_CPU ? 2
                : tensor->ndim < 0 || tensor->ndim > MAX_NDIM ? 3
                : tensor->dtype.lanes != 1             ? 4
                                                       : 0;
  if (!refused) {
    int64_t itemsize = (tensor->dtype.bits + 7) / 8;
    const uint8_t *data = (const uint8_t *)tensor->data + tensor->byte_offset;
    report->address = (uint64_t)(uintptr_t)data;
    report->ndim = tensor->ndim;
    report->code = tensor->dtype.code;
    report->bits = tensor->dtype.bits;
    for (int32_t axis = 0; axis < tensor->ndim; ++axis) {
      report->shape[axis] = tensor->shape[axis];
      report->strides[axis] = tensor->strides[axis] * itemsize;
    }
    if (want_checksum) {
      uint64_t position = 0;
      report->checksum = sum(data, tensor, itemsize, 0, &position);
    }
  }
  if (managed->deleter) managed->deleter(managed);
  return refused;
}
