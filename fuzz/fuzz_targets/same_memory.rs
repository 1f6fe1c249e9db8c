//! Views of one memory that are imported in several ways, chosen by bytes, and operations on them:
//! assignments (shifts, reverses, transposes, casts, broadcasts), swapped columns, fills, copies of
//! bytes, comparisons.
//!
//! The oracle is a copy of the bytes, and views are lists of positions in it: it reads everything
//! before it writes.

use std::os::fd::AsFd;

use crossdock::buffer::Buffer;
use crossdock::element::{ByteOrder, DType, Field};
use crossdock::bindings::{array_interface, dlpack, pep3118, shm};
use crossdock::layout::{Layout, Order};
use crossdock::memory::{Birth, Place};
use crossdock::{Casting, DArray};
use crossdock_testkit::dlpack::Choices;

/// The size of the memory.
const NBYTES: usize = 4096;

/// The most elements of a view.
const MOST: usize = 600;

const LENGTHS: [usize; 16] = [0, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 300];

/// Integers: their widths, signs and byte orders, and their spellings in the dialects.
const NUMBERS: [(usize, bool, ByteOrder, &str, &[u8]); 6] = [
    (1, false, ByteOrder::Little, "|u1", b"B"),
    (1, true, ByteOrder::Little, "|i1", b"b"),
    (2, false, ByteOrder::Little, "<u2", b"<H"),
    (2, true, ByteOrder::Big, ">i2", b">h"),
    (4, false, ByteOrder::Little, "<u4", b"<I"),
    (8, true, ByteOrder::Little, "<i8", b"<q"),
];

/// The offsets of a record's two fields, and its size: in order without a gap, and with gaps.
const RECORDS: [([usize; 2], usize); 2] = [([0, 2], 4), ([5, 1], 8)];

#[derive(Clone, Copy, Debug)]
enum Element {
    Number(usize),
    /// A record of two `<u2`.
    Record(usize),
}

/// A view, as the oracle sees it.
#[derive(Clone, Debug)]
struct Plain {
    element: Element,
    shape: Vec<usize>,
    strides: Vec<isize>,
    offset: usize,
}

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices(data);
    let fresh: Vec<u8> = (0..NBYTES).map(|at| (at * 7 + at / 256) as u8).collect();
    let mut memory = fresh.clone();
    let is_shared = choices.byte() % 4 == 3;
    let root = if is_shared {
        let root = Buffer::shared(NBYTES).expect("few bytes of shared memory");
        let all = view(&root, &Plain::bytes(0, NBYTES)).expect("all of it");
        let source = DArray::from_buffer(
            Buffer::from_vec(fresh.clone()).expect("few bytes"),
            DType::U8,
            all.layout().clone(),
            0,
        );
        all.assign(&source.expect("as many bytes"), Casting::Checked).expect("no other lease");
        root
    } else {
        // SAFETY: `memory` has `NBYTES` bytes and outlives every view of it, and only the library
        // accesses it until the end.
        unsafe { Buffer::non_owned(memory.as_mut_ptr(), NBYTES, Place::CPU) }.expect("an address")
    };
    let mut model = fresh;
    let count = 2 + usize::from(choices.below(3));
    let views: Vec<(Plain, DArray)> = (0..count)
        .map(|_| {
            let plain = Plain::choose(&mut choices);
            let array = bring(&root, &plain, choices.byte(), is_shared);
            (plain, array)
        })
        .collect();
    for _ in 0..=choices.below(8) {
        let [this, other] = [0, 1].map(|_| &views[usize::from(choices.byte()) % count]);
        step(&mut choices, this, other, &root, &mut model);
        assert!(bytes(&root) == model, "{this:?} and {other:?}");
    }
    for (plain, array) in &views {
        assert_eq!(plain.in_a_row().values(&row_major(array)), plain.values(&model), "{plain:?}");
    }
});

fn step(
    choices: &mut Choices<'_>,
    this: &(Plain, DArray),
    other: &(Plain, DArray),
    root: &Buffer,
    model: &mut [u8],
) {
    let ((plain, array), (source, theirs)) = (this, other);
    let axis = usize::from(choices.byte());
    match choices.below(8) {
        // The source is the other view, possibly with an axis reversed or transposed, or this view
        // transposed.
        operation @ 0..=3 => {
            let (source, theirs) = if operation == 3 { (plain, array) } else { (source, theirs) };
            let (source, theirs) = match operation {
                0 => (source.clone(), theirs.clone()),
                1 if !source.shape.is_empty() => {
                    let axis = axis % source.shape.len();
                    (source.reversed(axis), theirs.reverse(axis).expect("an axis"))
                }
                _ => (source.transposed(), theirs.transpose().expect("axes")),
            };
            assign(plain, array, &source, &theirs, model);
        }
        4 => {
            // If destination elements share bytes, the last one written wins.
            if matches!(plain.element, Element::Record(_)) || plain.overlaps_itself() {
                return;
            }
            let value = i64::from(axis as u8 & 0x7f);
            if array.fill(&value.into()).is_ok() {
                plain.places().into_iter().for_each(|at| plain.write(model, at, value.into()));
            }
        }
        5 => swap_columns(plain, array, source, theirs, model),
        6 => copy(choices, root, theirs, model),
        _ => {
            let Ok(equal) = array.equals(theirs) else { return };
            assert_eq!(equal, plain.shape == source.shape && plain.values(model) == source.values(model));
        }
    }
}

/// Assigns one array to another; if that is refused, nothing is written.
fn assign(plain: &Plain, array: &DArray, source: &Plain, theirs: &DArray, model: &mut [u8]) {
    let broadcast = source.broadcast(&plain.shape);
    let alike = matches!(
        (plain.element, source.element),
        (Element::Number(_), Element::Number(_)) | (Element::Record(_), Element::Record(_))
    );
    if let Err(error) = array.assign(theirs, Casting::Saturating) {
        let interleaves = plain.overlaps_itself() || !array.layout().is_injective();
        assert!(!alike || interleaves || broadcast.is_none(), "{error:?}: {plain:?} of {source:?}");
        return;
    }
    let (from, to) = (broadcast.expect("another shape was assigned").places(), plain.places());
    assert!(from.is_empty() || alike, "numbers became records, or records numbers");
    assert!(!plain.overlaps_itself(), "elements that share bytes were assigned: {plain:?}");
    if let Element::Number(_) = plain.element {
        let values: Vec<i128> = from.iter().map(|&at| source.number(model, at)).collect();
        to.iter().zip(values).for_each(|(&at, value)| plain.write(model, at, value));
    } else {
        let records: Vec<Vec<u8>> = from.iter().map(|&at| source.fields(model, at)).collect();
        to.iter().zip(records).for_each(|(&at, record)| plain.write_fields(model, at, &record));
    }
}

/// Swaps both columns of one array with those of the other.
fn swap_columns(plain: &Plain, array: &DArray, source: &Plain, theirs: &DArray, model: &mut [u8]) {
    let (Element::Record(_), Element::Record(_)) = (plain.element, source.element) else { return };
    let [a, b] = ["a", "b"].map(|name| theirs.field(name).expect("a record has both"));
    if array.assign_columns(&[("a", &b), ("b", &a)], Casting::Checked).is_err() {
        let interleaves = plain.overlaps_itself() || !array.layout().is_injective();
        assert!(interleaves || source.broadcast(&plain.shape).is_none(), "{plain:?} of {source:?}");
        return;
    }
    let from = source.broadcast(&plain.shape).expect("another shape was assigned").places();
    let records: Vec<Vec<u8>> = from.iter().map(|&at| source.fields(model, at)).collect();
    for (at, record) in plain.places().into_iter().zip(records) {
        plain.write_fields(model, at, &[&record[2..], &record[..2]].concat());
    }
}

/// Copies a range of bytes to another one, through two buffers.
fn copy(choices: &mut Choices<'_>, root: &Buffer, theirs: &DArray, model: &mut [u8]) {
    let Ok((buffer, _)) = theirs.buffer() else { return };
    let nbytes = buffer.nbytes().min(usize::from(choices.byte()));
    let to = usize::from(choices.byte()) * 15;
    let (source, target) =
        (buffer.slice(..nbytes).expect("within"), root.slice(to..(to + nbytes).min(NBYTES)).expect("within"));
    let before = bytes(&source);
    if source.copy_into(&target).is_ok() {
        model[to..to + nbytes].copy_from_slice(&before);
    }
}

/// Imports a view of the memory in one of several ways.
fn bring(root: &Buffer, plain: &Plain, road: u8, is_shared: bool) -> DArray {
    let direct = || view(root, plain).expect("within the bytes");
    let data = root.as_ptr().cast_mut().wrapping_add(plain.offset);
    let shape: Vec<isize> = plain.shape.iter().map(|&len| len as isize).collect();
    let spelt = match plain.element {
        Element::Number(number) => Some(NUMBERS[number]),
        Element::Record(_) => None,
    };
    // The import keeps the owner of shared memory.
    let kept = root.clone();
    match (road % 6, spelt) {
        (1, Some((.., typestr, _))) => {
            let described = array_interface::Described {
                typestr,
                descr: None,
                name: None,
                data,
                shape: &shape,
                strides: Some(&plain.strides),
            };
            // SAFETY: the plain view lies within the bytes of `root`, which live until all views
            // are dropped.
            unsafe { array_interface::import(&described, false, Birth::Aliased, || drop(kept)) }
                .expect("a legal description")
        }
        (2, Some((width, .., format))) => {
            let described = pep3118::Described {
                buf: data,
                len: (width * plain.shape.iter().product::<usize>()) as isize,
                itemsize: width as isize,
                format: Some(format),
                shape: Some(&shape),
                strides: Some(&plain.strides),
                suboffsets: None,
            };
            // SAFETY: the plain view lies within the bytes of `root`, which live until all views
            // are dropped.
            unsafe { pep3118::import(&described, false, Birth::Aliased, || drop(kept)) }
                .expect("a legal description")
        }
        (3, _) => match dlpack::export_versioned(&direct(), &dlpack::ExportOptions::new()) {
            // SAFETY: the tensor was exported just now, and this import is its only consumer.
            Ok(exported) => unsafe { dlpack::import_versioned(exported.into_raw()) }.expect("it comes back"),
            // DLPack has no strides between elements, no byte orders, and no records.
            Err(_) => direct(),
        },
        (4, _) => {
            // SAFETY: `root` has `NBYTES` bytes, which live until all views are dropped.
            let again = unsafe { Buffer::non_owned(root.as_ptr().cast_mut(), NBYTES, Place::CPU) };
            view(&again.expect("an address"), plain).expect("within the bytes")
        }
        (5, _) if is_shared => {
            // The same pages at another address.
            let (fd, start) = root.descriptor().expect("shared memory has one");
            let fd = fd.as_fd().try_clone_to_owned().expect("few descriptors");
            let offset = start + plain.offset as u64;
            let described = shm::Description::new(plain.dtype(), &plain.shape, &plain.strides, offset, true);
            shm::import(fd, &described.expect("few bytes")).expect("it is all there")
        }
        _ => direct(),
    }
}

fn view(buffer: &Buffer, plain: &Plain) -> crossdock::Result<DArray> {
    let layout = Layout::new(&plain.shape, &plain.strides, plain.itemsize())?;
    DArray::from_buffer(buffer.clone(), plain.dtype(), layout, plain.offset)
}

fn bytes(buffer: &Buffer) -> Vec<u8> {
    buffer.pin().expect("no Write lease").to_vec()
}

fn row_major(array: &DArray) -> Vec<u8> {
    bytes(&array.to_order(Order::RowMajor).expect("few bytes").buffer().expect("one more handle").0)
}

impl Plain {
    /// This many bytes.
    fn bytes(offset: usize, len: usize) -> Self {
        Self { element: Element::Number(0), shape: vec![len], strides: vec![1], offset }
    }

    /// A view within the bytes: contiguous, or with any strides.
    fn choose(choices: &mut Choices<'_>) -> Self {
        let element = match choices.below(8) {
            number @ 0..=5 => Element::Number(number.into()),
            record => Element::Record(usize::from(record) - 6),
        };
        let mut plain = Self { element, shape: vec![], strides: vec![], offset: 0 };
        for _ in 0..choices.below(4) {
            let left = MOST / plain.shape.iter().product::<usize>().max(1);
            plain.shape.push(LENGTHS[usize::from(choices.below(16))].min(left));
        }
        let mut step = plain.itemsize() as isize;
        let is_tight = choices.byte().is_multiple_of(2);
        for axis in (0..plain.shape.len()).rev() {
            let around = isize::from(choices.byte() as i8);
            plain.strides.insert(0, if is_tight { step * (1 + around % 2).max(1) } else { around % 40 });
            if around < -64 {
                plain.strides[0] = -plain.strides[0];
            }
            step *= plain.shape[axis].max(1) as isize;
        }
        // A view that does not fit is made shorter.
        let (mut low, mut high) = plain.reach();
        while high - low > NBYTES as isize {
            let axis = (0..plain.shape.len()).max_by_key(|&axis| plain.shape[axis]).expect("there are axes");
            plain.shape[axis] /= 2;
            (low, high) = plain.reach();
        }
        let room = NBYTES as isize - (high - low);
        let place = (isize::from(choices.byte()) * 3).min(room);
        plain.offset = (place - low) as usize;
        plain
    }

    fn itemsize(&self) -> usize {
        match self.element {
            Element::Number(number) => NUMBERS[number].0,
            Element::Record(record) => RECORDS[record].1,
        }
    }

    fn dtype(&self) -> DType {
        match self.element {
            Element::Number(number) => NUMBERS[number].3.parse().expect("a type string"),
            Element::Record(record) => {
                let ([a, b], size) = RECORDS[record];
                let field = |name, offset| Field::new(name, offset, "<u2".parse().expect("a type string"));
                DType::record([field("a", a), field("b", b)], size).expect("few bytes")
            }
        }
    }

    /// The lowest and the highest byte, the latter exclusive, relative to element 0.
    fn reach(&self) -> (isize, isize) {
        let (mut low, mut high) = (0, self.itemsize() as isize);
        for (&len, &stride) in self.shape.iter().zip(&self.strides) {
            let last = (len.max(1) as isize - 1) * stride;
            (low, high) = (low + last.min(0), high + last.max(0));
        }
        (low, high)
    }

    /// The positions of the elements, in row-major order.
    fn places(&self) -> Vec<usize> {
        let mut places = vec![self.offset as isize];
        for (&len, &stride) in self.shape.iter().zip(&self.strides) {
            places = places
                .into_iter()
                .flat_map(|place| (0..len as isize).map(move |index| place + index * stride))
                .collect();
        }
        places.into_iter().map(|place| place as usize).collect()
    }

    fn overlaps_itself(&self) -> bool {
        let mut places = self.places();
        places.sort_unstable();
        places.windows(2).any(|pair| pair[1] - pair[0] < self.itemsize())
    }

    fn reversed(&self, axis: usize) -> Self {
        let mut plain = self.clone();
        if plain.shape[axis] > 0 {
            let last = (plain.shape[axis] as isize - 1) * plain.strides[axis];
            plain.offset = (plain.offset as isize + last) as usize;
        }
        plain.strides[axis] = -plain.strides[axis];
        plain
    }

    fn transposed(&self) -> Self {
        let mut plain = self.clone();
        plain.shape.reverse();
        plain.strides.reverse();
        plain
    }

    /// Broadcasts as NumPy does.
    fn broadcast(&self, shape: &[usize]) -> Option<Self> {
        let more = shape.len().checked_sub(self.shape.len())?;
        let mut plain = Self { shape: shape.to_vec(), strides: vec![0; shape.len()], ..self.clone() };
        for (axis, &len) in self.shape.iter().enumerate() {
            match shape[more + axis] {
                wanted if wanted == len => plain.strides[more + axis] = self.strides[axis],
                _ if len == 1 => {}
                _ => return None,
            }
        }
        Some(plain)
    }

    /// The number at a position.
    fn number(&self, model: &[u8], at: usize) -> i128 {
        let Element::Number(number) = self.element else { unreachable!("records have no number") };
        let (width, signed, order, ..) = NUMBERS[number];
        let mut bytes = model[at..at + width].to_vec();
        if order == ByteOrder::Big {
            bytes.reverse();
        }
        let value = bytes.iter().rev().fold(0i128, |value, &byte| value << 8 | i128::from(byte));
        let bits = 8 * width as u32;
        if signed && value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
    }

    /// The nearest number that the element type represents.
    fn write(&self, model: &mut [u8], at: usize, value: i128) {
        let Element::Number(number) = self.element else { unreachable!("records have no number") };
        let (width, signed, order, ..) = NUMBERS[number];
        let bits = 8 * width as u32;
        let (low, high) =
            if signed { (-(1i128 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
        let mut bytes = value.clamp(low, high).to_le_bytes()[..width].to_vec();
        if order == ByteOrder::Big {
            bytes.reverse();
        }
        model[at..at + width].copy_from_slice(&bytes);
    }

    /// The bytes of an element without padding; a number is little-endian, in the widest type.
    fn fields(&self, model: &[u8], at: usize) -> Vec<u8> {
        match self.element {
            Element::Number(_) => self.number(model, at).to_le_bytes().to_vec(),
            Element::Record(record) => {
                let ([a, b], _) = RECORDS[record];
                [&model[at + a..at + a + 2], &model[at + b..at + b + 2]].concat()
            }
        }
    }

    fn write_fields(&self, model: &mut [u8], at: usize, fields: &[u8]) {
        let Element::Record(record) = self.element else { unreachable!("numbers have no fields") };
        let ([a, b], _) = RECORDS[record];
        model[at + a..at + a + 2].copy_from_slice(&fields[..2]);
        model[at + b..at + b + 2].copy_from_slice(&fields[2..]);
    }

    /// The concatenated elements, in row-major order.
    fn in_a_row(&self) -> Self {
        let strides = self.itemsize() as isize;
        Self {
            element: self.element,
            shape: vec![self.shape.iter().product()],
            strides: vec![strides],
            offset: 0,
        }
    }

    fn values(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.places().iter().map(|&at| self.fields(bytes, at)).collect()
    }
}
