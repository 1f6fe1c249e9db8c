//! The table of works.
//!
//! A ratio to `memcpy` is to a warm one on one thread, in the same rounds, of the mean of the bytes
//! read and written: for a copy, of its bytes. A ratio to the best copy is to the library's own
//! contiguous copy on as many threads, of the mean of the bytes that are touched: whole cache
//! lines.
//!
//! Reasons: `DESIGN.md`, "Works of the benchmark are data".

/// An operation on all elements of an array.
#[derive(Debug)]
pub struct Work {
    /// The name for display, and for the record.
    pub name: &'static str,
    /// The section of the table.
    pub section: Section,
    /// The dtype of the source, as [`DType`](crossdock::element::DType) parses it.
    pub dtype: &'static str,
    /// The shape of the row-major array of the source.
    pub shape: &'static [usize],
    /// The view of it that is read: the order of its axes, empty for its own, ...
    pub axes: &'static [usize],
    /// ... and the part of it, as [`DArray::at`](crossdock::DArray::at) parses it.
    pub at: &'static str,
    /// The operation.
    pub operation: Operation,
    /// The dtype of the target, which is row-major.
    pub into: &'static str,
    /// The ratio to exceed.
    pub reach: WorkReach,
}

/// The kind of a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Elements are copied unchanged.
    Copies,
    /// Numbers are converted to another type.
    Conversions,
    /// Records, whole or by field.
    Records,
}

impl Section {
    /// All kinds, in the order of the table.
    pub const ALL: [Self; 3] = [Self::Copies, Self::Conversions, Self::Records];

    /// The heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copies => "copies",
            Self::Conversions => "conversions",
            Self::Records => "records",
        }
    }
}

/// The operation of a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Writes every element to an existing row-major array, which is warm.
    Assign,
    /// The same into a new array, after one that was freed.
    New,
    /// Writes one element to all positions of an existing array of the shape, which is warm.
    Fill,
    /// Like [`Assign`](Self::Assign), followed by a read of the whole target, within the clock:
    /// streaming stores are fast, but leave nothing in the caches for the next reader.
    AssignAndRead,
}

/// The bounds of a work.
#[derive(Clone, Copy, Debug)]
pub struct WorkReach {
    /// The ratio to `memcpy`, on one thread.
    pub one: Option<f64>,
    /// The ratio to the best copy on as many threads, on one and on two; it counts instead of the
    /// one to `memcpy`.
    pub best: Option<f64>,
}

const fn reach_one(one: f64) -> WorkReach {
    WorkReach { one: Some(one), ..ANY }
}

const fn reach_best(best: f64) -> WorkReach {
    WorkReach { best: Some(best), ..ANY }
}

const ANY: WorkReach = WorkReach { one: None, best: None };

const F32: &str = "float32";
const F64: &str = "float64";
/// As in files and network protocols: 23 bytes, without gaps between the fields.
const PACKED: &str = "[('kind','u1'),('price','<f8'),('volume','<i4'),('venue','<u2'),('time','<i8')]";
/// In the layout of C: 32 bytes.
const ALIGNED: &str =
    "[('kind','u1'),('','V7'),('price','<f8'),('volume','<i4'),('venue','<u2'),('','V2'),('time','<i8')]";
/// 24 bytes.
const TRADE: &str = "[('time','<i8'),('volume','<i8'),('price','<f8')]";

const MI: usize = 1 << 20;

/// The common properties of most works.
const COPY: Work = Work {
    name: "",
    section: Section::Copies,
    dtype: F32,
    shape: &[16 * MI],
    axes: &[],
    at: "",
    operation: Operation::Assign,
    into: F32,
    reach: ANY,
};
const CUBE: Work = Work { dtype: F64, shape: &[256, 256, 256], into: F64, ..COPY };
const CUBE_REACH: WorkReach = reach_best(0.7);
const CONVERSION: Work = Work { section: Section::Conversions, ..COPY };
const RECORDS: Work = Work { section: Section::Records, ..COPY };

/// All works, in display order.
#[rustfmt::skip]
pub const WORKS: &[Work] = &[
    Work { name: "f32 copy 16 Mi", ..COPY },
    Work { name: "f32 copy 16 Mi, then read", operation: Operation::AssignAndRead, ..COPY },
    Work { name: "f32 copy 256 Ki, then read", shape: &[MI / 4], operation: Operation::AssignAndRead, ..COPY },
    Work { name: "f32 copy 16 Mi into a new array", operation: Operation::New, reach: reach_one(0.9), ..COPY },
    Work { name: "f32 fill 16 Mi", operation: Operation::Fill, ..COPY },
    Work { name: "f32 4096 rows of 4080, padded", shape: &[4096, 4096], at: ":, :-16", ..COPY },
    Work { name: "f32 every other of 32 Mi", shape: &[32 * MI], at: "::2", reach: reach_best(0.9), ..COPY },
    Work { name: "f32 reversed 16 Mi", at: "::-1", reach: reach_best(0.8), ..COPY },
    Work { name: "f32 transpose 4096 x 4096", shape: &[4096, 4096], axes: &[1, 0], reach: reach_best(0.7), ..COPY },
    Work { name: "f64 256^3 permuted 021", axes: &[0, 2, 1], reach: CUBE_REACH, ..CUBE },
    Work { name: "f64 256^3 permuted 102", axes: &[1, 0, 2], reach: CUBE_REACH, ..CUBE },
    Work { name: "f64 256^3 permuted 120", axes: &[1, 2, 0], reach: CUBE_REACH, ..CUBE },
    Work { name: "f64 256^3 permuted 201", axes: &[2, 0, 1], reach: CUBE_REACH, ..CUBE },
    Work { name: "f64 256^3 permuted 210", axes: &[2, 1, 0], reach: CUBE_REACH, ..CUBE },
    Work { name: "u8 HWC to CHW 2160 x 3840", dtype: "uint8", shape: &[2160, 3840, 3], axes: &[2, 0, 1], into: "uint8", reach: reach_best(0.7), ..COPY },
    Work { name: "u8 CHW to HWC 2160 x 3840", dtype: "uint8", shape: &[3, 2160, 3840], axes: &[1, 2, 0], into: "uint8", reach: reach_best(0.7), ..COPY },

    Work { name: "f32 to f16", into: "float16", reach: reach_best(0.8), ..CONVERSION },
    Work { name: "f16 to f32", dtype: "float16", reach: reach_best(0.8), ..CONVERSION },
    Work { name: "f32 to bf16", into: "bfloat16", reach: reach_best(0.8), ..CONVERSION },
    Work { name: "bf16 to f32", dtype: "bfloat16", reach: reach_best(0.8), ..CONVERSION },
    Work { name: "f32 to fp8 e4m3fn", into: "float8_e4m3fn", reach: reach_best(0.7), ..CONVERSION },
    Work { name: "fp8 e4m3fn to f32", dtype: "float8_e4m3fn", reach: reach_best(0.7), ..CONVERSION },
    Work { name: "f32 to fp8 e5m2", into: "float8_e5m2", reach: reach_best(0.7), ..CONVERSION },
    Work { name: "fp8 e5m2 to f32", dtype: "float8_e5m2", reach: reach_best(0.7), ..CONVERSION },
    Work { name: "f32 to f64", into: F64, reach: reach_best(0.8), ..CONVERSION },
    Work { name: "i16 to f32", dtype: "int16", reach: reach_best(0.8), ..CONVERSION },
    Work { name: "u8 to f32", dtype: "uint8", reach: reach_best(0.8), ..CONVERSION },
    Work { name: "i32 big-endian to native", dtype: ">i4", into: "int32", reach: reach_best(0.8), ..CONVERSION },

    Work { name: "i64 field of 24-byte records, 4 Mi", dtype: TRADE, shape: &[4 * MI], at: ".volume", into: "int64", reach: reach_best(0.9), ..RECORDS },
    Work { name: "records packed to aligned, 4 Mi", dtype: PACKED, shape: &[4 * MI], into: ALIGNED, reach: reach_best(0.7), ..RECORDS },
    Work { name: "records aligned to packed, 4 Mi", dtype: ALIGNED, shape: &[4 * MI], into: PACKED, reach: reach_best(0.7), ..RECORDS },
];

const LARGE_CUBE: Work = Work { shape: &[GI_ROOT, GI_ROOT, GI_ROOT], reach: reach_one(0.8), ..COPY };
/// The cube of this is 2^30.
const GI_ROOT: usize = 1024;

/// Works for a device, large enough that execution takes longer than enqueueing. A ratio is to the
/// device's own copy of the mean of the bytes read and written.
#[rustfmt::skip]
pub const DEVICE_WORKS: &[Work] = &[
    Work { name: "f32 copy 256 Mi", shape: &[256 * MI], reach: reach_one(0.95), ..COPY },
    Work { name: "f32 fill 256 Mi", shape: &[256 * MI], operation: Operation::Fill, ..COPY },
    Work { name: "f32 16384 rows of 16368, padded", shape: &[16384, 16384], at: ":, :-16", ..COPY },
    Work { name: "f32 every other of 512 Mi", shape: &[512 * MI], at: "::2", ..COPY },
    Work { name: "f32 reversed 256 Mi", shape: &[256 * MI], at: "::-1", ..COPY },
    Work { name: "f32 transpose 16384 x 16384", shape: &[16384, 16384], axes: &[1, 0], reach: reach_one(0.8), ..COPY },
    Work { name: "f32 1024^3 permuted 021", axes: &[0, 2, 1], ..LARGE_CUBE },
    Work { name: "f32 1024^3 permuted 102", axes: &[1, 0, 2], ..LARGE_CUBE },
    Work { name: "f32 1024^3 permuted 120", axes: &[1, 2, 0], ..LARGE_CUBE },
    Work { name: "f32 1024^3 permuted 201", axes: &[2, 0, 1], ..LARGE_CUBE },
    Work { name: "f32 1024^3 permuted 210", axes: &[2, 1, 0], ..LARGE_CUBE },
    Work { name: "u8 HWC to CHW 17280 x 15360", dtype: "uint8", shape: &[17280, 15360, 3], axes: &[2, 0, 1], into: "uint8", ..COPY },
    Work { name: "u8 CHW to HWC 17280 x 15360", dtype: "uint8", shape: &[3, 17280, 15360], axes: &[1, 2, 0], into: "uint8", ..COPY },

    Work { name: "f32 to f16, 256 Mi", shape: &[256 * MI], into: "float16", ..CONVERSION },
    Work { name: "bf16 to f32, 256 Mi", shape: &[256 * MI], dtype: "bfloat16", ..CONVERSION },
    Work { name: "u8 to f32, 256 Mi", shape: &[256 * MI], dtype: "uint8", ..CONVERSION },
    Work { name: "i32 big-endian to native, 256 Mi", shape: &[256 * MI], dtype: ">i4", into: "int32", ..CONVERSION },

    Work { name: "i64 field of 24-byte records, 64 Mi", dtype: TRADE, shape: &[64 * MI], at: ".volume", into: "int64", ..RECORDS },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_all_different_and_go_into_a_table() {
        let works: Vec<_> = WORKS.iter().chain(DEVICE_WORKS).collect();
        for (index, work) in works.iter().enumerate() {
            assert!(
                !works[..index].iter().any(|other| other.name == work.name),
                "{} stands twice",
                work.name
            );
            assert!(work.name.chars().count() <= 40 && !work.name.contains('"'), "{}", work.name);
        }
    }

    #[test]
    fn works_of_a_section_follow_each_other() {
        for works in [WORKS, DEVICE_WORKS] {
            let mut sections: Vec<Section> = works.iter().map(|work| work.section).collect();
            sections.dedup();
            assert_eq!(sections, Section::ALL);
        }
    }
}
