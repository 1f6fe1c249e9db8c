/* Tensors of DLPack, and columns of Arrow as arrays. crossdock.h has the rules for all
 * functions. */

#ifndef CROSSDOCK_EXCHANGE_H
#define CROSSDOCK_EXCHANGE_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== other protocols ===== */

/* Flags of exports. */
#define XD_EXPORT_IN_PLACE 0u       /* fails with XD_ERROR_REFUSED if the array cannot be lent in place */
#define XD_EXPORT_COPY_IF_NEEDED 1u /* copies such an array */
#define XD_EXPORT_COPY 2u           /* always copies */
/* DLPack: the caller promises that no consumer writes, which permits read-only arrays. DLPack's
 * flag is advisory, and the older struct has none. */
#define XD_EXPORT_TRUST_READONLY 4u
/* Arrow: exports the whole array as one tensor, instead of one row for each index of axis 0. */
#define XD_EXPORT_WHOLE 8u

/* From dlpack.h and Arrow's c/abi.h, which need not be included. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;
struct ArrowSchema;
struct ArrowArray;
struct ArrowDeviceArray;

/* Exports an array by DLPack. The consumer calls the deleter once, on any thread. Other code may
 * write the memory meanwhile. */
XD_API XD_MUST_USE struct DLManagedTensorVersioned *xd_array_to_dlpack(const xd_array_t *array, uint32_t flags,
                                                                       xd_error_t **error);
XD_API XD_MUST_USE struct DLManagedTensor *xd_array_to_dlpack_legacy(const xd_array_t *array, uint32_t flags,
                                                                     xd_error_t **error);

/* Imports a tensor in place. Its deleter is called exactly once: when the last handle is freed,
 * or before this returns NULL. Its memory counts as XD_BIRTH_ALIASED, and as read-only if the
 * tensor has that flag or, in the older struct, cannot have it.
 *
 * The memory within shape and strides must exist. That is the producer's responsibility, and
 * cannot be checked. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_dlpack(struct DLManagedTensorVersioned *tensor, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_from_dlpack_legacy(struct DLManagedTensor *tensor, xd_error_t **error);

/* Exports an array by Arrow's C Data or C Device interface: axis 0 is the rows, other axes a
 * fixed-shape tensor, and fields of records are columns of a struct. It fills in both structs,
 * which the caller must release; on failure neither changes. `name` may be NULL. The elements
 * cannot be written until the column is released. */
XD_API bool xd_array_to_arrow(const xd_array_t *array, const char *name, uint32_t flags, struct ArrowSchema *schema,
                              struct ArrowArray *column, xd_error_t **error);
XD_API bool xd_array_to_arrow_device(const xd_array_t *array, const char *name, uint32_t flags,
                                     struct ArrowSchema *schema, struct ArrowDeviceArray *column, xd_error_t **error);

/* Imports a column in place. Both structs are always moved out of, and the column is released
 * exactly once: when the last handle is freed, or before this returns NULL. Its memory counts as
 * XD_BIRTH_CONSTANT.
 *
 * If `validity` is NULL, nulls are XD_ERROR_VALUE. Otherwise *validity becomes an array of
 * booleans, which are false for nulls, to be freed like the other array; or NULL if there are no
 * nulls. A struct of columns is XD_ERROR_UNSUPPORTED. */
XD_API XD_MUST_USE xd_array_t *xd_array_from_arrow(struct ArrowSchema *schema, struct ArrowArray *column,
                                                   xd_array_t **validity, xd_error_t **error);
XD_API XD_MUST_USE xd_array_t *xd_array_from_arrow_device(struct ArrowSchema *schema, struct ArrowDeviceArray *column,
                                                          xd_array_t **validity, xd_error_t **error);

/* Like xd_array_from_arrow, but copies the columns of a struct into records. */
XD_API XD_MUST_USE xd_array_t *xd_array_copy_from_arrow(struct ArrowSchema *schema, struct ArrowArray *column,
                                                        xd_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
