//! The crate `image`: its buffers are adopted as arrays of height × width × channels, and arrays
//! become views of samples. Nothing is copied.
//!
//! | from | to | |
//! |---|---|---|
//! | `ImageBuffer<P, Vec<_>>` | [`Array`] of rank 3 | adopts its vector; sole |
//! | `DynamicImage` | [`DArray`] of rank 3 | adopts its vector; sole |
//! | [`ArrayRead`] of rank 3 | `FlatSamples` | same samples, any strides that are not negative |
//!
//! `FlatSamples::as_view` returns the `GenericImageView` that the crate's functions accept.

use image::flat::{FlatSamples, SampleLayout};
use image::{DynamicImage, ImageBuffer, Pixel};

use crate::array::{Array, ArrayRead, DArray};
use crate::element::Element;
use crate::error::{Advice, Error, Kind, Result};

impl<P> TryFrom<ImageBuffer<P, Vec<P::Subpixel>>> for Array<P::Subpixel, 3>
where
    P: Pixel<Subpixel: Element>,
{
    type Error = Error;

    /// Adopts the image's vector: height × width × channels. O(1).
    fn try_from(image: ImageBuffer<P, Vec<P::Subpixel>>) -> Result<Self> {
        let shape = [image.height() as usize, image.width() as usize, usize::from(P::CHANNEL_COUNT)];
        let mut samples = image.into_raw();
        // The crate permits a vector longer than the image.
        samples.truncate(shape.iter().product());
        Self::from_vec(samples, shape)
    }
}

impl TryFrom<DynamicImage> for DArray {
    type Error = Error;

    /// Adopts the image's vector: height × width × channels, of 8-bit, 16-bit or float samples.
    /// O(1).
    ///
    /// # Errors
    ///
    /// `is_unsupported` for a kind of image that a later version of the crate added.
    fn try_from(image: DynamicImage) -> Result<Self> {
        Ok(match image {
            DynamicImage::ImageLuma8(image) => Array::try_from(image)?.into(),
            DynamicImage::ImageLumaA8(image) => Array::try_from(image)?.into(),
            DynamicImage::ImageRgb8(image) => Array::try_from(image)?.into(),
            DynamicImage::ImageRgba8(image) => Array::try_from(image)?.into(),
            DynamicImage::ImageLuma16(image) => Array::try_from(image)?.into(),
            DynamicImage::ImageLumaA16(image) => Array::try_from(image)?.into(),
            DynamicImage::ImageRgb16(image) => Array::try_from(image)?.into(),
            DynamicImage::ImageRgba16(image) => Array::try_from(image)?.into(),
            DynamicImage::ImageRgb32F(image) => Array::try_from(image)?.into(),
            DynamicImage::ImageRgba32F(image) => Array::try_from(image)?.into(),
            other => {
                return Err(Error::new(
                    Kind::Unsupported,
                    format!("images of {:?} samples are not supported", other.color()),
                ));
            }
        })
    }
}

impl<'a, T: Element> TryFrom<&'a ArrayRead<T, 3>> for FlatSamples<&'a [T]> {
    type Error = Error;

    /// The same samples: axis 0 is the height, axis 1 the width, axis 2 the channels. O(1).
    ///
    /// # Errors
    ///
    /// `is_layout` if a stride is negative or not a multiple of the sample size; `is_overflow` for
    /// more than 255 channels or 2³²-1 pixels along an axis.
    fn try_from(array: &'a ArrayRead<T, 3>) -> Result<Self> {
        let &[height, width, channels] = array.shape();
        let Some(samples) = array.as_covering_slice() else {
            return Err(Error::new(
                Kind::Layout,
                format!(
                    "strides {:?} are negative or not multiples of the sample size, {} bytes, as an image \
                    requires",
                    array.strides(),
                    size_of::<T>()
                ),
            )
            .advising(Advice::Copy));
        };
        let too_large = || {
            Error::new(
                Kind::Overflow,
                format!("an image cannot have {height} × {width} pixels of {channels} channels"),
            )
        };
        // The stride of an axis of length 0 or 1 is never used and may have any value.
        let stride = |axis: usize| array.strides()[axis].unsigned_abs() / size_of::<T>().max(1);
        let layout = SampleLayout {
            channels: channels.try_into().map_err(|_| too_large())?,
            channel_stride: stride(2),
            width: width.try_into().map_err(|_| too_large())?,
            width_stride: stride(1),
            height: height.try_into().map_err(|_| too_large())?,
            height_stride: stride(0),
        };
        Ok(Self { samples, layout, color_hint: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::copied_bytes_here;
    use crate::s;
    use image::{GenericImageView, Luma, Rgb};

    fn photo() -> ImageBuffer<Rgb<u8>, Vec<u8>> {
        ImageBuffer::from_fn(5, 3, |x, y| Rgb([x as u8, y as u8, 7]))
    }

    #[test]
    fn an_image_is_adopted_as_height_width_channels() {
        let image = photo();
        let (address, copied) = (image.as_ptr(), copied_bytes_here());
        let array = Array::<u8, 3>::try_from(image).unwrap();
        assert_eq!((array.as_ptr(), copied_bytes_here()), (address, copied));
        assert_eq!(array.shape(), &[3, 5, 3]);
        assert_eq!(array.get([2, 4, 0]).unwrap(), 4);
        assert_eq!(array.get([2, 4, 1]).unwrap(), 2);
    }

    #[test]
    fn every_kind_of_dynamic_image_is_adopted() {
        let image = DynamicImage::ImageRgb8(photo());
        for (image, dtype, channels) in [
            (image.clone(), "uint8", 3),
            (DynamicImage::ImageLuma8(image.to_luma8()), "uint8", 1),
            (DynamicImage::ImageLumaA16(image.to_luma_alpha16()), "uint16", 2),
            (DynamicImage::ImageRgba32F(image.to_rgba32f()), "float32", 4),
        ] {
            let array = DArray::try_from(image).unwrap();
            assert_eq!((array.dtype().to_string(), array.shape()), (dtype.to_owned(), &[3, 5, channels][..]));
        }
    }

    #[test]
    fn a_strided_view_is_seen_as_an_image_in_place() {
        let array = Array::<u8, 3>::try_from(photo()).unwrap();
        let guard = array.slice(s![1.., ..;2, ..]).unwrap().read().unwrap();
        let copied = copied_bytes_here();
        let flat = FlatSamples::try_from(&guard).unwrap();
        let image = flat.as_view::<Rgb<u8>>().unwrap();
        assert_eq!(image.dimensions(), (3, 2));
        assert_eq!(image.get_pixel(2, 1), Rgb([4, 2, 7]));
        assert_eq!(copied_bytes_here(), copied);
        let green = array.slice(s![.., .., 1..2]).unwrap().read().unwrap();
        let flat = FlatSamples::try_from(&green).unwrap();
        assert_eq!(flat.as_view::<Luma<u8>>().unwrap().get_pixel(0, 2), Luma([2]));
    }

    #[test]
    fn a_reversed_view_is_refused() {
        let array = Array::<u8, 3>::try_from(photo()).unwrap();
        let guard = array.slice(s![..;-1, .., ..]).unwrap().read().unwrap();
        let error = FlatSamples::try_from(&guard).unwrap_err();
        assert!(error.is_layout() && error.to_string().contains("-15"), "{error}");
    }
}
