#include <crossdock.h>
#include <stdlib.h>
/* A frame as a tensor of DLPack. Its last user frees the pixels. */
struct DLManagedTensorVersioned *next_frame(void)
{
  unsigned char *pixels = calloc(24, 1); /* your frame */
  xd_dtype_t *u8 = xd_dtype_parse("|u1", NULL); /* the last argument: NULL, or the address of an error */
  xd_buffer_t *buffer = xd_buffer_adopt(pixels, 24, XD_BIRTH_SOLE, free, pixels, NULL); /* SOLE: used by nothing else */
  xd_array_t *image = xd_array_from_buffer(buffer, u8, 3, (ssize_t[]){2, 4, 3}, NULL /* strides */, 0 /* offset */, NULL);
  struct DLManagedTensorVersioned *tensor = xd_array_to_dlpack(image, 0 /* flags */, NULL);
  xd_array_free(image), xd_buffer_free(buffer), xd_dtype_free(u8); /* the tensor keeps the pixels */
  return tensor;
}
