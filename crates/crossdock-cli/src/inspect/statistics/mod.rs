//! Statistics of every number in an array, in one pass over its memory, by several threads.
//!
//! Another process may write the elements. Contiguous numbers are added up where they are, if the
//! CPU has AVX-512; others are loaded once each, a chunk at a time. Only the sums are kept, and an
//! evenly spread sample for the quantiles and the histogram.

mod floats;
mod integers;
mod longs;
mod moments;
pub(super) mod sample;
mod tally;
#[cfg(target_arch = "x86_64")]
mod vectors;

use std::thread;

use crossdock::DArray;
use crossdock::bindings::racy;
use crossdock::element::{ByteOrder, DType, DTypeKind, Scalar, ScalarKind, Value};
use crossdock::layout::Order;
use crossdock::view::{MemoryView, Request};

use crate::failure::Failure;
use crate::inspect::statistics::sample::{Distribution, Sample};
use crate::inspect::statistics::tally::Tally;
use crate::walk::as_it_lies;

/// The statistics of one field, or of one part of a complex number; of an array without fields,
/// under an empty name.
#[derive(Debug)]
pub(super) struct Statistics {
    /// The path of the field: `.position.x`, `.signal.real`.
    pub(super) path: String,
    /// The type of the field.
    pub(super) dtype: DType,
    /// The results.
    pub(super) found: Found,
}

#[derive(Debug)]
pub(super) enum Found {
    /// Numbers, dates and durations.
    Numbers(Numbers),
    /// Booleans.
    Truths { no: u64, yes: u64 },
    /// Types without an order: text, bytes, void, pointers.
    Nothing,
}

/// The statistics of numbers. NaN and NaT are only counted.
#[derive(Debug)]
pub(super) struct Numbers {
    /// `None` if all are NaN or NaT, here and below.
    pub(super) least: Option<Value>,
    pub(super) greatest: Option<Value>,
    /// Of dates and durations, `None`, and so is the deviation.
    pub(super) mean: Option<f64>,
    /// The standard deviation of all elements; `None` if it is not finite, too.
    pub(super) std: Option<f64>,
    pub(super) nan: u64,
    pub(super) zeros: u64,
    /// `None` if there are numbers [outside](Self::outside), too, and so are the mean and the
    /// deviation.
    pub(super) distribution: Option<Distribution>,
    /// How many numbers are too large or too small for a normal double, in which the mean, the
    /// deviation and the quantiles are computed.
    pub(super) outside: u64,
}

/// The most threads that read.
const MOST_THREADS: usize = 16;

/// Fewer bytes than this are not worth a thread.
const PER_THREAD: usize = 1 << 20;

/// The bytes that are read in place between two ticks.
const STRETCH: usize = 1 << 20;

/// Reads the whole array. Calls `tick` with the number of bytes read, and stops at its error.
pub(super) fn gather(
    array: &DArray,
    tick: impl Fn(usize) -> Result<(), Failure> + Sync,
) -> Result<Vec<Statistics>, Failure> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    gather_by(array, threads.min(array.nbytes() / PER_THREAD).max(1), &tick)
}

fn gather_by(
    array: &DArray,
    threads: usize,
    tick: &(impl Fn(usize) -> Result<(), Failure> + Sync),
) -> Result<Vec<Statistics>, Failure> {
    let all = scalar_parts(array.dtype());
    let every = Sample::every(array.len());
    let shares = shares(&as_it_lies(array)?, threads)?;
    let read = |share: &DArray, place: usize| read(share, tick, place as u64, every);
    let done: Vec<Result<Vec<ScalarPart>, Failure>> = thread::scope(|scope| {
        let others: Vec<_> = shares
            .iter()
            .enumerate()
            .skip(1)
            .map(|(place, share)| scope.spawn(move || read(share, place)))
            .collect();
        let first = shares.first().map(|share| read(share, 0));
        let joined = others.into_iter().map(|other| {
            other.join().unwrap_or_else(|_| Err(Failure::new("a thread that read elements panicked")))
        });
        first.into_iter().chain(joined).collect()
    });
    // In the order of the shares, so that sums round alike in every run.
    let mut merged = all;
    for parts in done {
        merged.iter_mut().zip(parts?).for_each(|(part, other)| part.merge(other));
    }
    merged.into_iter().map(ScalarPart::finish).collect()
}

/// The array in about equal shares along its longest axis, or its only one if it is contiguous.
fn shares(array: &DArray, threads: usize) -> Result<Vec<DArray>, Failure> {
    if threads <= 1 || array.rank() == 0 {
        return Ok(vec![array.clone()]);
    }
    let array = match array.flatten() {
        Ok(flat) => flat,
        Err(_) => array.clone(),
    };
    // Of the outermost axes, the first that is long enough.
    let axis = (0..array.rank()).find(|&axis| array.shape()[axis] >= 8 * threads);
    let axis = axis.or_else(|| (0..array.rank()).max_by_key(|&axis| array.shape()[axis])).unwrap_or(0);
    let len = array.shape()[axis];
    let cut = |share: usize| (len as u128 * share as u128 / threads as u128) as usize;
    (0..threads).map(|share| Ok(array.slice_axis(axis, cut(share)..cut(share + 1))?)).collect()
}

fn read(
    share: &DArray,
    tick: &impl Fn(usize) -> Result<(), Failure>,
    place: u64,
    every: u64,
) -> Result<Vec<ScalarPart>, Failure> {
    let mut parts = scalar_parts(share.dtype());
    parts.iter_mut().for_each(|part| part.sample = Sample::new(every, place));
    let view = share.export(&Request::pin()).map_err(crossdock::Error::from)?;
    let itemsize = share.dtype().itemsize();
    if let [part] = parts.as_mut_slice()
        && part.nbytes == itemsize
        && let Some(block) = part.tally.block()
        && view.layout().is_contiguous(Order::RowMajor)
        && !share.is_indirect()
    {
        // SAFETY: the conditions above are clause 1 and clause 2.
        unsafe { read_in_place(part, &view, block, tick) }?;
        return Ok(parts);
    }
    let mut chunks = view.chunks()?;
    let mut packed = Vec::new();
    while let Some(bytes) = chunks.next_chunk() {
        for part in parts.iter_mut().filter(|part| !matches!(part.tally, Tally::Nothing)) {
            part.add(bytes, itemsize, &mut packed);
        }
        tick(bytes.len())?;
    }
    Ok(parts)
}

/// Adds contiguous numbers where they are, without a copy of them.
///
/// # Safety
///
/// 1. The elements of the view are contiguous, and not behind pointers.
/// 2. [`Tally::block`] of the part returned `block`.
unsafe fn read_in_place(
    part: &mut ScalarPart,
    view: &MemoryView,
    block: usize,
    tick: &impl Fn(usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (nbytes, width) = (view.nbytes(), part.scalar.itemsize());
    for start in (0..nbytes).step_by(STRETCH) {
        let stretch = STRETCH.min(nbytes - start);
        let first = view.as_ptr().wrapping_add(start);
        for at in (0..stretch / block).map(|number| number * block) {
            // SAFETY: these bytes are elements of the view, by clause 1 of `# Safety`, and its
            // lease keeps them; clause 2 of `# Safety` is the callee's.
            unsafe { part.tally.add_in_place(first.wrapping_add(at)) };
        }
        let load = |at: usize, bytes: &mut [u8]| {
            assert!(bytes.len() <= stretch.saturating_sub(at), "a sample beyond its stretch");
            // SAFETY: these bytes lie within the stretch, by the check above, and so in the view,
            // by clause 1 of `# Safety`; its lease keeps them. `bytes` is memory of its own.
            unsafe { racy::copy(first.wrapping_add(at), bytes.as_mut_ptr(), bytes.len()) };
        };
        let mut rest = vec![0; stretch % block];
        load(stretch - rest.len(), &mut rest);
        part.tally.add(&rest);
        part.sample.add_by(stretch / width, part.scalar, load);
        tick(stretch)?;
    }
    Ok(())
}

/// A scalar somewhere in an element.
struct ScalarPart {
    path: String,
    scalar: Scalar,
    /// The offset of its first bytes, their number, and the repetitions in sub-arrays (count and
    /// stride), outermost first.
    offset: usize,
    nbytes: usize,
    repeats: Vec<(usize, usize)>,
    tally: Tally,
    sample: Sample,
}

fn scalar_parts(dtype: &DType) -> Vec<ScalarPart> {
    let mut scalar_parts = Vec::new();
    descend(dtype, String::new(), 0, &[], &mut scalar_parts);
    scalar_parts
}

fn descend(
    dtype: &DType,
    path: String,
    offset: usize,
    repeats: &[(usize, usize)],
    scalar_parts: &mut Vec<ScalarPart>,
) {
    match dtype.kind() {
        DTypeKind::Record(record) => {
            for field in record.fields() {
                let path = format!("{path}.{}", field.name());
                descend(field.dtype(), path, offset + field.offset(), repeats, scalar_parts);
            }
        }
        DTypeKind::SubArray(subarray) => {
            let repeats = [repeats, &[(subarray.len(), subarray.base().itemsize())]].concat();
            descend(subarray.base(), path, offset, &repeats, scalar_parts);
        }
        DTypeKind::Scalar(scalar) => {
            let Some(part) = part_of_complex(scalar) else {
                scalar_parts.push(ScalarPart::new(path, scalar, offset, repeats));
                return;
            };
            for (name, at) in [("real", 0), ("imag", part.itemsize())] {
                scalar_parts.push(ScalarPart::new(format!("{path}.{name}"), part, offset + at, repeats));
            }
        }
    }
}

/// The type of half a complex number.
fn part_of_complex(scalar: Scalar) -> Option<Scalar> {
    let kind = match scalar.kind() {
        ScalarKind::Complex32 => ScalarKind::Float16,
        ScalarKind::Complex64 => ScalarKind::Float32,
        ScalarKind::Complex128 => ScalarKind::Float64,
        ScalarKind::ComplexLongDouble => ScalarKind::LongDouble,
        _ => return None,
    };
    Scalar::new(kind, scalar.byte_order().unwrap_or(ByteOrder::NATIVE)).ok()
}

impl ScalarPart {
    fn new(path: String, scalar: Scalar, offset: usize, repeats: &[(usize, usize)]) -> Self {
        let (nbytes, repeats) = match repeats.split_last() {
            // The elements of this sub-array are contiguous.
            Some((&(count, stride), outer)) if stride == scalar.itemsize() => (count * stride, outer),
            _ => (scalar.itemsize(), repeats),
        };
        Self {
            path,
            scalar,
            offset,
            nbytes,
            repeats: repeats.to_vec(),
            tally: Tally::new(scalar),
            sample: Sample::default(),
        }
    }

    /// Adds the values of the field in one chunk of whole elements.
    fn add(&mut self, bytes: &[u8], itemsize: usize, packed: &mut Vec<u8>) {
        let bytes = if self.nbytes == itemsize {
            bytes
        } else {
            packed.clear();
            for element in bytes.chunks_exact(itemsize) {
                pack(&self.repeats, self.nbytes, &element[self.offset..], packed);
            }
            packed
        };
        self.tally.add(bytes);
        self.sample.add(bytes, self.scalar);
    }

    fn merge(&mut self, other: Self) {
        self.tally.merge(other.tally);
        self.sample.merge(other.sample);
    }

    fn finish(self) -> Result<Statistics, Failure> {
        let found = self.tally.finish(self.scalar, self.sample)?;
        Ok(Statistics { path: self.path, dtype: DType::from(self.scalar), found })
    }
}

/// Appends the bytes of one element that belong to a part, without the gaps.
fn pack(repeats: &[(usize, usize)], nbytes: usize, element: &[u8], packed: &mut Vec<u8>) {
    match repeats.split_first() {
        None => packed.extend_from_slice(&element[..nbytes]),
        Some((&(count, stride), inner)) => {
            (0..count).for_each(|index| pack(inner, nbytes, &element[index * stride..], packed));
        }
    }
}

#[cfg(test)]
mod tests {
    use crossdock::element::{Element, NAT};
    use crossdock::{Array, Casting};

    use super::*;

    fn numbers(array: &DArray) -> (String, String, f64, u64) {
        let found = gather(array, |_| Ok(())).unwrap().remove(0);
        let dtype = found.dtype;
        match found.found {
            Found::Numbers(Numbers { least: Some(least), greatest: Some(greatest), mean, nan, .. }) => (
                least.display(&dtype).to_string(),
                greatest.display(&dtype).to_string(),
                mean.unwrap_or(f64::NAN),
                nan,
            ),
            other => panic!("{other:?}"),
        }
    }

    fn array<T: Element>(values: &[T]) -> DArray {
        Array::from_vec(values.to_vec(), [values.len()]).unwrap().into()
    }

    /// The same values under another dtype.
    fn cast(values: &[f64], dtype: &str) -> DArray {
        array(values).cast(&dtype.parse().unwrap(), Order::RowMajor, Casting::Checked).unwrap()
    }

    #[test]
    fn every_number_type_in_both_orders_has_its_extremes_and_its_mean() {
        let values: Vec<f64> = (0..1000).map(|n| f64::from(n % 101)).collect();
        let mean = values.iter().sum::<f64>() / 1000.0;
        for dtype in ["int8", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "uint8", "<u2", ">u2", "<u8", ">u8"] {
            let (least, greatest, got, _) = numbers(&cast(&values, dtype));
            assert_eq!((least.as_str(), greatest.as_str(), got), ("0", "100", mean), "{dtype}");
        }
        for dtype in ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "longdouble", "bfloat16", ">bfloat16"] {
            let (least, greatest, got, nan) = numbers(&cast(&values, dtype));
            assert_eq!((least.parse(), greatest.parse(), nan), (Ok(0.0), Ok(100.0), 0), "{dtype}");
            assert!((got - mean).abs() < 1e-9, "{dtype}: {got}");
        }
    }

    #[test]
    fn long_doubles_are_counted_and_compared_as_such() {
        use crossdock::bindings::long_double::NATIVE;
        let leading_one = 1 << (NATIVE.precision() - 1);
        // Close to 1e4000 and 1e-4900; the second one above 1.
        let power = |exponent: i64| NATIVE.encode(false, leading_one, exponent).unwrap();
        let unit = 1 - i64::from(NATIVE.precision());
        let next = NATIVE.encode(false, leading_one + 1, unit).unwrap();
        let of = |values: &[[u8; 16]]| {
            let longs =
                DArray::zeros(DType::native(ScalarKind::LongDouble), &[values.len()], Order::RowMajor);
            let longs = longs.unwrap();
            for (at, raw) in values.iter().enumerate() {
                longs.set(&[at], &Value::LongDouble(*raw)).unwrap();
            }
            match gather_by(&longs, 2, &|_| Ok(())).unwrap().remove(0).found {
                Found::Numbers(found) => found,
                other => panic!("{other:?}"),
            }
        };
        let (one, zero) = (NATIVE.encode_f64(1.0), NATIVE.encode_f64(-0.0));
        let found = of(&[next, one, zero, one, NATIVE.encode_f64(f64::NAN), one, one, one, one, one]);
        assert_eq!(
            (found.least, found.greatest),
            (Some(Value::LongDouble(zero)), Some(Value::LongDouble(next)))
        );
        assert_eq!((found.zeros, found.nan, found.outside), (1, 1, 0));
        assert_eq!((found.mean, found.distribution.is_some()), (Some(8.0 / 9.0), true));
        let (huge, tiny) = (power(13_287), power(-16_300));
        let mut values = vec![one; 20];
        (values[3], values[17]) = (huge, tiny);
        let found = of(&values);
        assert_eq!(
            (found.least, found.greatest),
            (Some(Value::LongDouble(tiny)), Some(Value::LongDouble(huge)))
        );
        assert_eq!((found.zeros, found.outside), (0, 2));
        assert!(found.mean.is_none() && found.std.is_none() && found.distribution.is_none());
    }

    #[test]
    fn integers_do_not_overflow_and_do_not_round() {
        let (least, greatest, mean, _) = numbers(&array(&[u64::MAX; 20_000]));
        assert_eq!((least, greatest), (u64::MAX.to_string(), u64::MAX.to_string()));
        assert_eq!(mean, u64::MAX as f64);
        let (least, ..) = numbers(&array(&[i64::MIN, 5]));
        assert_eq!(least, i64::MIN.to_string());
    }

    #[test]
    fn nan_is_counted_and_left_out() {
        let nan = f64::NAN;
        assert_eq!(numbers(&array(&[nan, 2.0, nan, -4.0])), ("-4.0".into(), "2.0".into(), -1.0, 2));
        assert_eq!(numbers(&cast(&[nan, 2.0, 4.0], "float16")), ("2.0".into(), "4.0".into(), 3.0, 1));
        let all = gather(&array(&[nan; 9]), |_| Ok(())).unwrap().remove(0).found;
        assert!(matches!(
            all,
            Found::Numbers(Numbers { least: None, greatest: None, mean: None, nan: 9, .. })
        ));
        let none = gather(&array::<f64>(&[]), |_| Ok(())).unwrap().remove(0).found;
        assert!(matches!(none, Found::Numbers(Numbers { least: None, mean: None, nan: 0, .. })));
        let infinite = numbers(&array(&[f64::INFINITY, 1.0]));
        assert_eq!((infinite.1.as_str(), infinite.2), ("inf", f64::INFINITY));
    }

    #[test]
    fn a_view_is_read_as_it_lies_and_only_its_own_elements() {
        let whole = DArray::from(Array::from_vec((0..3000u32).collect(), [30, 10, 10]).unwrap());
        for expr in ["::-3, ::2, 4", "1, 2:5", ":, ::-1, ::-1", "..., newaxis, -1"] {
            let view = whole.at(expr).unwrap();
            let values: Vec<u64> = view
                .export(&Request::pin())
                .unwrap()
                .to_bytes()
                .unwrap()
                .as_chunks()
                .0
                .iter()
                .map(|&word| u32::from_ne_bytes(word).into())
                .collect();
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
            let extreme = |value: Option<&u64>| value.unwrap().to_string();
            let expected = (extreme(values.iter().min()), extreme(values.iter().max()), mean, 0);
            assert_eq!(numbers(&view), expected, "{expr:?}");
        }
    }

    #[test]
    fn fields_and_parts_are_told_apart() {
        let dtype: DType = "[('id', '|u1'), ('at', [('z', '>c8'), ('on', '|b1', (3,))]), ('name', 'S3'), ('when', '<M8[D]')]"
            .parse()
            .unwrap();
        let records = DArray::zeros(dtype, &[2], Order::RowMajor).unwrap();
        records.field("id").unwrap().set(&[1], &7u8.into()).unwrap();
        let inner = records.field("at").unwrap();
        inner.field("z").unwrap().set(&[0], &Value::Complex { re: 1.5, im: -2.0 }).unwrap();
        inner.field("on").unwrap().set(&[1, 2], &Value::Bool(true)).unwrap();
        records
            .field("when")
            .unwrap()
            .set(&[0], &Value::DateTime { count: NAT, unit: crossdock::element::TimeUnit::DAY })
            .unwrap();

        let all = gather(&records, |_| Ok(())).unwrap();
        let paths: Vec<&str> = all.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, [".id", ".at.z.real", ".at.z.imag", ".at.on", ".name", ".when"]);
        assert!(matches!(
            all[0].found,
            Found::Numbers(Numbers { greatest: Some(Value::Int(7)), mean: Some(3.5), .. })
        ));
        assert!(matches!(all[1].found, Found::Numbers(Numbers { greatest: Some(Value::Float(1.5)), .. })));
        assert!(matches!(all[2].found, Found::Numbers(Numbers { least: Some(Value::Float(-2.0)), .. })));
        assert!(matches!(all[3].found, Found::Truths { no: 5, yes: 1 }));
        assert!(matches!(all[4].found, Found::Nothing));
        let Found::Numbers(Numbers { least: Some(day), mean: None, nan: 1, .. }) = &all[5].found else {
            panic!("{:?}", all[5])
        };
        assert_eq!(day.to_string(), "1970-01-01");
    }

    #[test]
    fn every_number_of_threads_finds_the_same() {
        let values: Vec<f32> = (0..100_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 8) as f32).collect();
        let whole = DArray::from(Array::from_vec(values, [50, 20, 100]).unwrap());
        for expr in ["", "::-1, 3:, ::2", "..., 0"] {
            let view = whole.at(expr).unwrap();
            let bytes = view.export(&Request::pin()).unwrap().to_bytes().unwrap();
            let values: Vec<f64> =
                bytes.as_chunks().0.iter().map(|&word| f32::from_ne_bytes(word).into()).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance =
                values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
            for threads in [1, 2, 3, 16] {
                let found = gather_by(&view, threads, &|_| Ok(())).unwrap().remove(0).found;
                let Found::Numbers(found) = found else { panic!("{found:?}") };
                let near =
                    |found: Option<f64>, expected: f64| (found.unwrap() / expected - 1.0).abs() < 1e-12;
                assert!(near(found.mean, mean) && near(found.std, variance.sqrt()), "{expr:?} {threads}");
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                assert_eq!(found.least, Some(Value::Float(least)));
                assert_eq!(found.zeros, values.iter().filter(|&&value| value == 0.0).count() as u64);
            }
        }
    }

    #[test]
    fn the_deviation_of_numbers_far_from_zero_keeps_its_digits() {
        for dtype in ["i4", "u4", "i8", "u8", "f8"] {
            let values: Vec<f64> = (0..10_001).map(|n| 1e9 + f64::from(n % 3)).collect();
            let found = gather(&cast(&values, dtype), |_| Ok(())).unwrap().remove(0).found;
            let Found::Numbers(found) = found else { panic!("{found:?}") };
            assert!((found.std.unwrap() - (2.0f64 / 3.0).sqrt()).abs() < 1e-4, "{dtype}: {found:?}");
        }
        let small: Vec<f64> = (0..9000).map(|n| f64::from(n % 100)).collect();
        for dtype in ["i1", "u1", "i2", ">u2"] {
            let found = gather(&cast(&small, dtype), |_| Ok(())).unwrap().remove(0).found;
            let Found::Numbers(found) = found else { panic!("{found:?}") };
            assert!((found.std.unwrap() - 833.25f64.sqrt()).abs() < 1e-9, "{dtype}: {found:?}");
            assert_eq!(found.zeros, 90);
        }
    }

    #[test]
    fn reading_stops_where_it_is_told_to() {
        let stopped = gather(&array(&vec![0u8; 1 << 20]), |_| Err(Failure::new("enough")));
        assert!(stopped.is_err());
    }
}
