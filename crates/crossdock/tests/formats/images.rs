//! Images.

use crossdock::exchange::files;
use crossdock::layout::Order;
use crossdock::memory::copied_bytes_here;
use crossdock::{Array, DArray};

use crate::common::{Folder, assert_says, buffer, pattern, ramp, values};

/// Smooth, so that compression loses little.
fn smooth(channels: usize) -> DArray {
    let samples = (0..24 * 32 * channels).map(|n| (n / channels * 5 / 16 + n % channels * 8) as u8);
    Array::from_vec(samples.collect(), [24, 32, channels]).unwrap().into()
}

/// Grey images have no axis of channels, as in every other library of images.
fn without_one_channel(shape: &[usize]) -> &[usize] {
    shape.strip_suffix(&[1]).unwrap_or(shape)
}

#[cfg(feature = "png")]
mod png {
    use super::*;
    use crossdock::exchange::files::{OpenOptions, png};

    #[test]
    fn pixels_come_back_decoded_once() {
        let folder = Folder::new("png");
        for (dtype, channels) in
            [("u1", 1), ("u1", 2), ("u1", 3), ("u1", 4), ("<u2", 1), ("<u2", 3), ("<u2", 4)]
        {
            let array = pattern(dtype, &[5, 7, channels], Order::RowMajor);
            let path = folder.path("a.png");
            let before = copied_bytes_here();
            files::save(&path, &array).unwrap();
            assert_eq!(copied_bytes_here(), before, "the encoder reads what lies there");
            let contents = files::open_all(&path).unwrap();
            let entry = &contents.entries()[0];
            assert_eq!((entry.name(), entry.copied_because()), ("", Some("a PNG image")));
            assert_eq!((entry.dtype(), entry.shape()), (array.dtype(), without_one_channel(array.shape())));
            assert_eq!(copied_bytes_here(), before);
            let got = entry.open().unwrap();
            assert_eq!(copied_bytes_here() - before, array.nbytes() as u64);
            assert_eq!(values(&got), values(&array));
            assert_eq!(values(&crossdock::open(&path).unwrap()), values(&array));
        }
    }

    #[test]
    fn views_are_gathered_once_and_axes_may_lack_the_channels() {
        let strided = ramp([6, 8, 3]).at("::-2, 1::2").unwrap();
        let rows = DArray::from_rows(vec![vec![1u8, 2, 3], vec![250, 251, 252]]).unwrap();
        for array in [
            strided.clone(),
            strided.at("..., 0").unwrap(),
            pattern(">u2", &[3, 4, 3], Order::ColumnMajor),
            rows,
        ] {
            let (mut bytes, before) = (Vec::new(), copied_bytes_here());
            png::write(&mut bytes, &array).unwrap();
            assert_eq!(copied_bytes_here() - before, array.nbytes() as u64);
            assert_eq!(values(&png::from_buffer(buffer(&bytes)).unwrap()), values(&array));
        }
    }

    #[test]
    fn what_is_no_image_is_not_written() {
        for (array, words) in [
            (pattern("<f4", &[4, 4, 3], Order::RowMajor), "this array is float32 with 3"),
            (ramp([4, 4, 5]), "this array is uint8 with 5"),
            (ramp([0, 4, 3]), "0 x 4 pixels"),
        ] {
            let error = png::write(Vec::new(), &array).unwrap_err();
            assert!(error.is_unsupported(), "{error:?}");
            assert_says(&error, &[words]);
        }
        assert!(png::write(Vec::new(), &ramp([4])).unwrap_err().is_shape());
    }

    #[test]
    fn a_palette_that_is_no_list_of_colours_is_an_error() {
        // 5 x 4 pixels, and a palette has 49 bytes.
        #[rustfmt::skip]
        let mut file: [u8; 138] = [
            137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82,
            0, 0, 0, 5, 0, 0, 0, 4, 4, 3, 0, 0, 0, 180, 29, 232,
            115, 0, 0, 0, 49, 80, 76, 84, 69, 112, 72, 89, 115, 4, 5, 6,
            7, 8, 9, 10, 11, 12, 13, 18, 17, 15, 16, 14, 19, 20, 21, 22,
            23, 24, 116, 82, 78, 83, 29, 30, 31, 32, 33, 34, 40, 35, 36, 37,
            38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 173, 151, 142, 239, 0, 0,
            0, 19, 73, 68, 65, 84, 120, 156, 99, 96, 96, 24, 96, 96, 4, 98,
            38, 32, 47, 6, 98, 0, 0, 52, 0, 7, 241, 175, 18, 147, 0, 0,
            0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
        ];
        let mut crc = flate2::Crc::new();
        crc.update(&file[37..90]);
        file[90..94].copy_from_slice(&crc.sum().to_be_bytes());
        let error = png::from_buffer(buffer(&file)).unwrap_err();
        assert!(error.is_malformed() && error.to_string().contains("palette has 49 bytes"), "{error}");
    }

    #[test]
    fn a_truncated_or_damaged_image_is_an_error() {
        let mut bytes = Vec::new();
        png::write(&mut bytes, &pattern("u1", &[5, 7, 3], Order::RowMajor)).unwrap();
        // A file that ends behind the pixels is complete.
        let pixels_end = bytes.len() - 12 - 4;
        for end in 8..pixels_end {
            let error = png::from_buffer(buffer(&bytes[..end])).unwrap_err();
            assert!(error.is_malformed(), "{end}: {error:?}");
        }
        for at in 8..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            drop(png::from_buffer(buffer(&changed)));
        }
    }

    #[test]
    fn a_size_that_cannot_be_is_a_lie_and_one_that_is_too_large_is_refused() {
        let mut bytes = Vec::new();
        png::write(&mut bytes, &smooth(3)).unwrap();
        let mut lie = bytes.clone();
        lie[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0xff, 0xff]);
        let mut crc = flate2::Crc::new();
        crc.update(&lie[12..29]);
        lie[29..33].copy_from_slice(&crc.sum().to_be_bytes());
        let error = png::from_buffer(buffer(&lie)).unwrap_err();
        assert!(error.is_malformed(), "{error:?}");
        assert_says(&error, &["2147483647", "at most"]);
        let contents = OpenOptions::new().limit(1000).read(buffer(&bytes)).unwrap();
        let error = contents.single().unwrap().open().unwrap_err();
        assert!(error.is_unsupported());
        assert_says(&error, &["2304 bytes", "the limit is 1000"]);
    }
}

#[cfg(feature = "jpeg")]
mod jpeg {
    use super::*;
    use crossdock::exchange::files::{Format, SaveOptions, jpeg};

    #[test]
    fn pixels_come_back_nearly() {
        for channels in [1, 3] {
            let (array, mut bytes) = (smooth(channels), Vec::new());
            SaveOptions::new()
                .format(Format::Jpeg)
                .quality(95)
                .write(&mut bytes, &[("", array.clone())])
                .unwrap();
            let before = copied_bytes_here();
            let got = jpeg::from_buffer(buffer(&bytes)).unwrap();
            assert_eq!(copied_bytes_here() - before, array.nbytes() as u64);
            assert_eq!((got.dtype(), got.shape()), (array.dtype(), without_one_channel(array.shape())));
            for (got, wanted) in values(&got).iter().zip(values(&array)) {
                let [got, wanted]: [i32; 2] = [got, &wanted].map(|text| text.parse().unwrap());
                assert!((got - wanted).abs() <= 12, "{got} for {wanted}");
            }
        }
    }

    #[test]
    fn a_truncated_or_damaged_image_is_an_error() {
        let mut bytes = Vec::new();
        jpeg::write(&mut bytes, &smooth(3)).unwrap();
        for end in 3..bytes.len() {
            let error = jpeg::from_buffer(buffer(&bytes[..end])).unwrap_err();
            assert!(error.is_malformed() || error.is_unsupported(), "{end}: {error:?}");
        }
        for at in 3..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            drop(jpeg::from_buffer(buffer(&changed)));
        }
        // Trailing bytes are permitted.
        bytes.extend([0; 100]);
        assert!(jpeg::from_buffer(buffer(&bytes)).is_ok());
    }

    #[test]
    fn a_size_that_cannot_be_is_a_lie() {
        let mut bytes = Vec::new();
        jpeg::write(&mut bytes, &smooth(3)).unwrap();
        let at = bytes.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
        bytes[at + 5..at + 9].fill(0xff);
        let error = jpeg::from_buffer(buffer(&bytes)).unwrap_err();
        assert!(error.is_malformed(), "{error:?}");
        assert_says(&error, &["65535", "at most"]);
    }

    #[test]
    fn what_is_no_image_is_not_written() {
        for array in [ramp([4, 4, 4]), pattern("<u2", &[4, 4], Order::RowMajor), ramp([4, 0])] {
            assert!(jpeg::write(Vec::new(), &array).unwrap_err().is_unsupported());
        }
        let wide = DArray::zeros("u1".parse().unwrap(), &[1, 70_000], Order::RowMajor).unwrap();
        assert!(jpeg::write(Vec::new(), &wide).unwrap_err().is_unsupported());
        let folder = Folder::new("jpeg");
        SaveOptions::new().format(Format::Jpeg).save(folder.path("a.png"), &smooth(1)).unwrap();
        assert_eq!(crossdock::open(folder.path("a.png")).unwrap().shape(), [24, 32]);
        assert_eq!(files::open_all(folder.path("a.png")).unwrap().format(), files::Format::Jpeg);
    }
}
