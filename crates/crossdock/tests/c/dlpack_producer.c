/* A producer that knows DLPack 1.x by its C structs alone: exports a matrix of doubles, element
 * (i, j) = 100 i + j. On request, its rows are upside down, behind a byte_offset; otherwise its
 * strides are null. */

#include <stdint.h>
#include <stdlib.h>

struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
};

struct matrix {
    struct DLManagedTensorVersioned managed;
    int64_t shape[2], strides[2];
    double *block;
};

static int alive;

int crossdock_alive(void)
{
    return __atomic_load_n(&alive, __ATOMIC_ACQUIRE);
}

static void give_back(struct DLManagedTensorVersioned *self)
{
    struct matrix *matrix = self->manager_ctx;
    free(matrix->block);
    free(matrix);
    __atomic_fetch_sub(&alive, 1, __ATOMIC_RELEASE);
}

struct DLManagedTensorVersioned *crossdock_produce(int64_t rows, int64_t columns, int upside_down, uint64_t flags)
{
    struct matrix *matrix = calloc(1, sizeof *matrix);
    double *block = malloc((size_t)(rows * columns + 8) * sizeof *block);
    struct DLManagedTensorVersioned *managed = &matrix->managed;

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            block[8 + (upside_down ? rows - 1 - i : i) * columns + j] = 100.0 * (double)i + (double)j;
    matrix->block = block;
    matrix->shape[0] = rows;
    matrix->shape[1] = columns;
    matrix->strides[0] = -columns;
    matrix->strides[1] = 1;
    managed->major = 1;
    managed->minor = 1;
    managed->manager_ctx = matrix;
    managed->deleter = give_back;
    managed->flags = flags;
    managed->data = block;
    managed->device_type = 1;
    managed->ndim = 2;
    managed->code = 2;
    managed->bits = 64;
    managed->lanes = 1;
    managed->shape = matrix->shape;
    managed->strides = upside_down ? matrix->strides : NULL;
    managed->byte_offset = (8 + (upside_down ? (uint64_t)((rows - 1) * columns) : 0)) * sizeof *block;
    __atomic_fetch_add(&alive, 1, __ATOMIC_RELEASE);
    return managed;
}
