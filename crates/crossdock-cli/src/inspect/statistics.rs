//! Minimum, maximum and mean of every number in an array, in one pass over its memory.
//!
//! Elements are loaded once each, a chunk at a time, since another process may write them; only the
//! sums are kept.

use crossdock::DArray;
use crossdock::element::{ByteOrder, DType, DTypeKind, NAT, Scalar, ScalarKind, Value};
use crossdock::view::Request;

use crate::failure::Failure;
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
    /// Numbers, dates and durations. `least` and `greatest` are `None` if all are NaN or NaT.
    Numbers { least: Option<Value>, greatest: Option<Value>, mean: Option<f64>, nan: u64 },
    /// Booleans.
    Truths { no: u64, yes: u64 },
    /// Types without an order: text, bytes, void, pointers.
    Nothing,
}

/// Reads the whole array. Calls `tick` with the number of bytes read, and stops at its error.
pub(super) fn gather(
    array: &DArray,
    mut tick: impl FnMut(usize) -> Result<(), Failure>,
) -> Result<Vec<Statistics>, Failure> {
    let mut scalar_parts = scalar_parts(array.dtype());
    let view = as_it_lies(array)?.export(&Request::pin()).map_err(crossdock::Error::from)?;
    let itemsize = array.dtype().itemsize();
    let mut chunks = view.chunks()?;
    let mut packed = Vec::new();
    while let Some(bytes) = chunks.next_chunk() {
        for part in scalar_parts.iter_mut().filter(|part| !matches!(part.tally, Tally::Nothing)) {
            part.add(bytes, itemsize, &mut packed);
        }
        tick(bytes.len())?;
    }
    scalar_parts.into_iter().map(ScalarPart::finish).collect()
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
        Self { path, scalar, offset, nbytes, repeats: repeats.to_vec(), tally: Tally::new(scalar) }
    }

    /// Adds the values of the field in one chunk of whole elements.
    fn add(&mut self, bytes: &[u8], itemsize: usize, packed: &mut Vec<u8>) {
        if self.nbytes == itemsize {
            return self.tally.add(bytes);
        }
        packed.clear();
        for element in bytes.chunks_exact(itemsize) {
            pack(&self.repeats, self.nbytes, &element[self.offset..], packed);
        }
        self.tally.add(packed);
    }

    fn finish(self) -> Result<Statistics, Failure> {
        let dtype = DType::from(self.scalar);
        let found = self.tally.finish(self.scalar)?;
        Ok(Statistics { path: self.path, dtype, found })
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

/// The counts so far.
enum Tally {
    /// Integers of up to 64 bits, including dates and durations.
    Integers(Integers, fn(&mut Integers, &[u8])),
    /// Floats of 32 and 64 bits.
    Floats(Floats, fn(&mut Floats, &[u8])),
    /// How often each pattern of one or two bytes occurs: floats narrower than 32 bits, and
    /// booleans.
    Patterns {
        width: usize,
        counts: Vec<u64>,
    },
    /// Floats of more than 64 bits, rounded one by one.
    Wide(Floats, DType),
    Nothing,
}

#[derive(Default)]
struct Integers {
    count: u64,
    nat: u64,
    range: Option<(i128, i128)>,
    sum: i128,
}

struct Floats {
    count: u64,
    nan: u64,
    least: f64,
    greatest: f64,
    sum: f64,
}

/// Adds up the integers in packed bytes of one byte order.
macro_rules! add_integers {
    ($ty:ty, $sum:ty, $decode:ident) => {
        |tally, bytes| {
            let words = bytes.as_chunks().0;
            let (mut least, mut greatest, mut sum) = (<$ty>::MAX, <$ty>::MIN, 0 as $sum);
            for &word in words {
                let value = <$ty>::$decode(word);
                least = least.min(value);
                greatest = greatest.max(value);
                // A chunk is too short for the sum to overflow.
                sum += value as $sum;
            }
            if !words.is_empty() {
                tally.add(words.len() as u64, least as i128, greatest as i128, sum as i128);
            }
        }
    };
}

/// The function for this type and byte order.
macro_rules! integers {
    ($order:expr, $ty:ty, $sum:ty) => {
        Tally::Integers(
            Integers::default(),
            match $order {
                ByteOrder::Little => add_integers!($ty, $sum, from_le_bytes),
                ByteOrder::Big => add_integers!($ty, $sum, from_be_bytes),
            },
        )
    };
}

impl Tally {
    fn new(scalar: Scalar) -> Self {
        use ByteOrder::{Big, Little};
        let order = scalar.byte_order().unwrap_or(ByteOrder::NATIVE);
        match scalar.kind() {
            ScalarKind::Int8 => integers!(order, i8, i64),
            ScalarKind::Int16 => integers!(order, i16, i64),
            ScalarKind::Int32 => integers!(order, i32, i64),
            ScalarKind::Int64 => integers!(order, i64, i128),
            ScalarKind::UInt8 => integers!(order, u8, i64),
            ScalarKind::UInt16 => integers!(order, u16, i64),
            ScalarKind::UInt32 => integers!(order, u32, i64),
            ScalarKind::UInt64 => integers!(order, u64, i128),
            ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_) => Self::Integers(
                Integers::default(),
                match order {
                    Little => |tally, bytes| tally.add_times(bytes, i64::from_le_bytes),
                    Big => |tally, bytes| tally.add_times(bytes, i64::from_be_bytes),
                },
            ),
            ScalarKind::Float32 => Self::Floats(
                Floats::NONE,
                match order {
                    Little => |tally, bytes| tally.add(bytes, |word| f64::from(f32::from_le_bytes(word))),
                    Big => |tally, bytes| tally.add(bytes, |word| f64::from(f32::from_be_bytes(word))),
                },
            ),
            ScalarKind::Float64 => Self::Floats(
                Floats::NONE,
                match order {
                    Little => |tally, bytes| tally.add(bytes, f64::from_le_bytes),
                    Big => |tally, bytes| tally.add(bytes, f64::from_be_bytes),
                },
            ),
            ScalarKind::LongDouble => Self::Wide(Floats::NONE, scalar.into()),
            ScalarKind::Bytes(_) | ScalarKind::Text(_) | ScalarKind::Void(_) | ScalarKind::Pointer => {
                Self::Nothing
            }
            _ => match scalar.itemsize() {
                width @ 1..=2 => Self::Patterns { width, counts: vec![0; 1 << (8 * width)] },
                _ => Self::Nothing,
            },
        }
    }

    /// Adds packed bytes.
    fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Integers(tally, add) => add(tally, bytes),
            Self::Floats(tally, add) => add(tally, bytes),
            Self::Patterns { width: 1, counts } => {
                bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
            }
            Self::Patterns { counts, .. } => {
                for &word in bytes.as_chunks().0 {
                    counts[usize::from(u16::from_ne_bytes(word))] += 1;
                }
            }
            Self::Wide(tally, dtype) => {
                for element in bytes.chunks_exact(dtype.itemsize()) {
                    let value = Value::read(dtype, element).ok().and_then(|value| value.as_f64());
                    tally.add_one(value.unwrap_or(f64::NAN), 1);
                }
            }
            Self::Nothing => {}
        }
    }

    fn finish(self, scalar: Scalar) -> Result<Found, Failure> {
        Ok(match self {
            Self::Integers(tally, _) => tally.finish(scalar.kind()),
            Self::Floats(tally, _) | Self::Wide(tally, _) => tally.finish(),
            Self::Patterns { counts, .. } if scalar.kind() == ScalarKind::Bool => {
                Found::Truths { no: counts[0], yes: counts[1..].iter().sum() }
            }
            Self::Patterns { width, counts } => {
                let (dtype, mut tally) = (DType::from(scalar), Floats::NONE);
                for (pattern, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
                    let bytes = (pattern as u16).to_ne_bytes();
                    // A single byte is the pattern itself on any machine.
                    let bytes = if width == 1 { &[pattern as u8][..] } else { &bytes };
                    tally.add_one(Value::read(&dtype, bytes)?.as_f64().unwrap_or(f64::NAN), count);
                }
                tally.finish()
            }
            Self::Nothing => Found::Nothing,
        })
    }
}

impl Integers {
    fn add(&mut self, count: u64, least: i128, greatest: i128, sum: i128) {
        let (low, high) = self.range.unwrap_or((least, greatest));
        self.range = Some((low.min(least), high.max(greatest)));
        self.count += count;
        self.sum += sum;
    }

    fn add_times(&mut self, bytes: &[u8], decode: impl Fn([u8; 8]) -> i64) {
        for value in bytes.as_chunks().0.iter().map(|&word| decode(word)) {
            match value {
                NAT => self.nat += 1,
                count => self.add(1, count.into(), count.into(), 0),
            }
        }
    }

    fn finish(self, kind: ScalarKind) -> Found {
        let value = |number: i128| match (kind, i64::try_from(number)) {
            (ScalarKind::DateTime(unit), Ok(count)) => Value::DateTime { count, unit },
            (ScalarKind::TimeDelta(unit), Ok(count)) => Value::TimeDelta { count, unit },
            (_, Ok(count)) => Value::Int(count),
            // Only a `u64` is too large for an `i64`.
            (_, Err(_)) => Value::UInt(number as u64),
        };
        let counted = !matches!(kind, ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_));
        Found::Numbers {
            least: self.range.map(|(low, _)| value(low)),
            greatest: self.range.map(|(_, high)| value(high)),
            mean: (counted && self.count > 0).then(|| self.sum as f64 / self.count as f64),
            nan: self.nat,
        }
    }
}

impl Floats {
    const NONE: Self = Self { count: 0, nan: 0, least: f64::INFINITY, greatest: f64::NEG_INFINITY, sum: 0.0 };

    /// Adds packed floats. Several parallel sums are faster, and round less than one long sum.
    fn add<const N: usize>(&mut self, bytes: &[u8], decode: impl Fn([u8; N]) -> f64) {
        let mut lanes = [const { Self::NONE }; 8];
        let (groups, rest) = bytes.as_chunks::<N>().0.as_chunks::<8>();
        for group in groups {
            for (lane, &word) in lanes.iter_mut().zip(group) {
                lane.add_one(decode(word), 1);
            }
        }
        for (lane, &word) in lanes.iter_mut().zip(rest) {
            lane.add_one(decode(word), 1);
        }
        for lane in lanes {
            self.count += lane.count;
            self.nan += lane.nan;
            self.least = self.least.min(lane.least);
            self.greatest = self.greatest.max(lane.greatest);
            self.sum += lane.sum;
        }
    }

    /// Adds one value that occurs `count` times.
    #[inline]
    fn add_one(&mut self, value: f64, count: u64) {
        let nan = value.is_nan();
        self.count += if nan { 0 } else { count };
        self.nan += if nan { count } else { 0 };
        // A NaN is neither smaller nor larger.
        self.least = if value < self.least { value } else { self.least };
        self.greatest = if value > self.greatest { value } else { self.greatest };
        self.sum += if nan { 0.0 } else { value * count as f64 };
    }

    fn finish(self) -> Found {
        let some = |value: f64| (self.count > 0).then_some(value);
        Found::Numbers {
            least: some(self.least).map(Value::Float),
            greatest: some(self.greatest).map(Value::Float),
            mean: some(self.sum / self.count as f64),
            nan: self.nan,
        }
    }
}

#[cfg(test)]
mod tests {
    use crossdock::element::Element;
    use crossdock::layout::Order;
    use crossdock::{Array, Casting};

    use super::*;

    fn numbers(array: &DArray) -> (String, String, f64, u64) {
        let found = gather(array, |_| Ok(())).unwrap().remove(0);
        let dtype = found.dtype;
        match found.found {
            Found::Numbers { least: Some(least), greatest: Some(greatest), mean, nan } => (
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
        assert!(matches!(all, Found::Numbers { least: None, greatest: None, mean: None, nan: 9 }));
        let none = gather(&array::<f64>(&[]), |_| Ok(())).unwrap().remove(0).found;
        assert!(matches!(none, Found::Numbers { least: None, mean: None, nan: 0, .. }));
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
            Found::Numbers { greatest: Some(Value::Int(7)), mean: Some(3.5), .. }
        ));
        assert!(matches!(all[1].found, Found::Numbers { greatest: Some(Value::Float(1.5)), .. }));
        assert!(matches!(all[2].found, Found::Numbers { least: Some(Value::Float(-2.0)), .. }));
        assert!(matches!(all[3].found, Found::Truths { no: 5, yes: 1 }));
        assert!(matches!(all[4].found, Found::Nothing));
        let Found::Numbers { least: Some(day), mean: None, nan: 1, .. } = &all[5].found else {
            panic!("{:?}", all[5])
        };
        assert_eq!(day.to_string(), "1970-01-01");
    }

    #[test]
    fn reading_stops_where_it_is_told_to() {
        let stopped = gather(&array(&vec![0u8; 1 << 20]), |_| Err(Failure::new("enough")));
        assert!(stopped.is_err());
    }
}
