//! NIfTI volumes (feature `nifti`): one array in column-major order, mapped in place, read only.
//!
//! ```text
//!   header             │ extensions │ elements
//!   348 or 540 bytes   │            │ from byte `vox_offset` on, the first axis is the fastest
//! ```
//!
//! Version 1 and 2 in one file (`.nii`) are read, in either byte order; a pair of files and a
//! compressed file are refused. The elements are given as they are stored. If the header scales
//! them, the texts of the file have `scl_slope` and `scl_inter`, and a note says so.

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::{ByteOrder, DType, ScalarKind};
use crate::error::{Advice, Error, Kind, Result};
use crate::exchange::files::contents::Contents;
use crate::exchange::files::fields::Fields;
use crate::exchange::files::format::Format;
use crate::layout::{Layout, Order};

/// Element types: the code, and the kind if there is one.
const TYPES: [(i16, &str, Option<ScalarKind>); 17] = [
    (1, "single bits", None),
    (2, "uint8", Some(ScalarKind::UInt8)),
    (4, "int16", Some(ScalarKind::Int16)),
    (8, "int32", Some(ScalarKind::Int32)),
    (16, "float32", Some(ScalarKind::Float32)),
    (32, "complex64", Some(ScalarKind::Complex64)),
    (64, "float64", Some(ScalarKind::Float64)),
    (128, "colours of 3 bytes (RGB24)", None),
    (256, "int8", Some(ScalarKind::Int8)),
    (512, "uint16", Some(ScalarKind::UInt16)),
    (768, "uint32", Some(ScalarKind::UInt32)),
    (1024, "int64", Some(ScalarKind::Int64)),
    (1280, "uint64", Some(ScalarKind::UInt64)),
    (1536, "floats of 128 bits", None),
    (1792, "complex128", Some(ScalarKind::Complex128)),
    (2048, "complex numbers of 256 bits", None),
    (2304, "colours of 4 bytes (RGBA32)", None),
];

/// The size of the header of each version, which is its first field, and the byte of its magic.
const SIZES: [(u32, usize); 2] = [(348, 344), (540, 4)];

/// The fields of a header that describe the array.
struct NiftiHeader {
    /// The number of axes, and their lengths.
    dim: [i64; 8],
    datatype: i16,
    vox_offset: f64,
    slope: f64,
    inter: f64,
}

pub(super) fn read(buffer: Buffer) -> Result<Contents> {
    let mut fields = Fields::new(&buffer, ByteOrder::Little)?;
    let size = fields.u32("the size of the header")?;
    let (size, order) = if SIZES.iter().any(|known| known.0 == size) {
        (size, ByteOrder::Little)
    } else {
        (size.swap_bytes(), ByteOrder::Big)
    };
    let mut fields = Fields::new(&buffer, order)?;
    let header = match SIZES.iter().find(|known| known.0 == size) {
        Some(&(348, magic)) => NiftiHeader::first(&mut fields, magic),
        Some(&(_, magic)) => NiftiHeader::second(&mut fields, magic),
        None => Err(Error::new(
            Kind::Malformed,
            format!("it is not a NIfTI file: its header has {} bytes, not 348 or 540", size.swap_bytes()),
        )),
    }?;
    let (dtype, layout, start) = header.described(order, size.into())?;
    let nbytes = buffer.nbytes();
    let end = start.checked_add(layout.nbytes()).filter(|&end| end <= nbytes).ok_or_else(|| {
        Error::new(
            Kind::Malformed,
            format!(
                "the file is truncated or damaged: {} elements of {} begin at byte {start}, but the file has \
                {nbytes} bytes",
                layout.len(),
                dtype.brief()
            ),
        )
    })?;
    let array = DArray::from_buffer(buffer, dtype, layout, start)?;
    let contents = Contents::of_array(Format::Nifti, array, nbytes - end);
    if !header.scales() {
        return Ok(contents);
    }
    let NiftiHeader { slope, inter, .. } = header;
    let texts =
        vec![("scl_slope".to_owned(), slope.to_string()), ("scl_inter".to_owned(), inter.to_string())];
    let note = format!(
        "the elements are as they are stored; the values are element × {slope} + {inter} (scl_slope, scl_inter)"
    );
    Ok(contents.with_metadata(texts).with_note(note))
}

impl NiftiHeader {
    /// Version 1.
    fn first(fields: &mut Fields, magic: usize) -> Result<Self> {
        check_magic(fields, magic)?;
        let mut dim = [0; 8];
        fields.seek(40);
        for len in &mut dim {
            *len = fields.i16("the shape")?.into();
        }
        fields.seek(70);
        let datatype = fields.i16("the datatype")?;
        fields.seek(108);
        let mut number = || fields.f32("the header").map(f64::from);
        Ok(Self { dim, datatype, vox_offset: number()?, slope: number()?, inter: number()? })
    }

    /// Version 2.
    fn second(fields: &mut Fields, magic: usize) -> Result<Self> {
        check_magic(fields, magic)?;
        fields.seek(12);
        let datatype = fields.i16("the datatype")?;
        let mut dim = [0; 8];
        fields.seek(16);
        for len in &mut dim {
            *len = fields.i64("the shape")?;
        }
        fields.seek(168);
        // A file has fewer bytes than a double has exact integers.
        let vox_offset = fields.i64("vox_offset")? as f64;
        let mut number = || fields.f64("the header");
        Ok(Self { dim, datatype, vox_offset, slope: number()?, inter: number()? })
    }

    /// The dtype, the layout, and the byte of the first element.
    fn described(&self, order: ByteOrder, size: u64) -> Result<(DType, Layout, usize)> {
        let kind = match TYPES.iter().find(|row| row.0 == self.datatype) {
            Some(&(_, _, Some(kind))) => kind,
            Some(&(code, name, None)) => {
                let text = format!("its elements are {name} (datatype {code}), which are not supported");
                return Err(Error::new(Kind::Unsupported, text).advising(Advice::OpenNifti));
            }
            None => {
                let text = format!("its datatype {} is unknown", self.datatype);
                return Err(Error::new(Kind::Unsupported, text));
            }
        };
        let dtype = DType::scalar(kind, order)?;
        let [rank, lens @ ..] = self.dim;
        let lens = usize::try_from(rank).ok().filter(|&rank| rank > 0).and_then(|rank| lens.get(..rank));
        let shape: Option<Vec<usize>> =
            lens.and_then(|lens| lens.iter().map(|&len| usize::try_from(len).ok()).collect());
        let lies = |why: String| Error::new(Kind::Malformed, format!("the header is damaged: {why}"));
        let shape = shape.ok_or_else(|| {
            lies(format!("dim is {:?}, but it begins with 1 to 7, the number of lengths from 0 on", self.dim))
        })?;
        let layout = Layout::contiguous(&shape, dtype.itemsize(), Order::ColumnMajor)
            .map_err(|error| lies(error.to_string()))?;
        let start = self.vox_offset;
        if start.fract() != 0.0 || !(size as f64..=2f64.powi(53)).contains(&start) {
            return Err(lies(format!(
                "vox_offset is {start}, but the elements begin at a whole byte after the header of {size} bytes"
            )));
        }
        Ok((dtype, layout, start as usize))
    }

    /// Whether the values differ from the elements. A slope of 0, and one that is no number, mean
    /// that there is none.
    fn scales(&self) -> bool {
        self.slope.is_finite() && self.slope != 0.0 && (self.slope, self.inter) != (1.0, 0.0)
    }
}

/// Refuses a pair of files: the header is in one, and the elements are in the other.
fn check_magic(fields: &mut Fields, at: usize) -> Result<()> {
    fields.seek(at as u64);
    match &fields.array("the magic")? {
        b"n+1\0" | b"n+2\0" => Ok(()),
        b"ni1\0" | b"ni2\0" => {
            let text = "it is the header of a NIfTI pair, whose elements are in a second file (.img)";
            Err(Error::new(Kind::Unsupported, text).advising(Advice::OpenNifti))
        }
        other => Err(Error::new(
            Kind::Malformed,
            format!("it is not a NIfTI file: its magic is \"{}\", not \"n+1\"", other.escape_ascii()),
        )),
    }
}
