//! Random arrays in shared memory are sent through a socket: they arrive unchanged, on the same
//! pages, and nothing is copied. `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose them.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::element::{ByteOrder, DType, Field};
use crossdock::exchange::protocol::shm;
use crossdock::layout::Layout;
use crossdock::memory::Birth;
use crossdock::memory::copied_bytes_here;
use crossdock::view::Request;
use crossdock_testkit::{Coverage, Placed, generate, seed};
use fastrand::Rng;

/// Scalars by their names, and their sizes. Those behind `SPELT` have no spelling within a record.
const SCALARS: [(&str, usize); 29] = [
    ("bool", 1),
    ("int8", 1),
    ("uint8", 1),
    ("int16", 2),
    ("uint16", 2),
    ("float16", 2),
    ("int32", 4),
    ("uint32", 4),
    ("float32", 4),
    ("U1", 4),
    ("int64", 8),
    ("uint64", 8),
    ("float64", 8),
    ("complex64", 8),
    ("datetime64[25us]", 8),
    ("timedelta64", 8),
    ("U3", 12),
    ("longdouble", 16),
    ("complex128", 16),
    ("U4", 16),
    ("float8_e3m4", 1),
    ("float8_e4m3fn", 1),
    ("float8_e5m2", 1),
    ("float8_e8m0fnu", 1),
    ("float6_e2m3fn", 1),
    ("float4_e2m1fn", 1),
    ("bfloat16", 2),
    ("complex32", 4),
    ("pointer", 8),
];
const SPELT: usize = 20;

fn scalar(rng: &mut Rng, itemsize: usize, known: &[(&str, usize)]) -> DType {
    let fit: Vec<_> = known.iter().filter(|(_, nbytes)| *nbytes == itemsize).collect();
    let name = match rng.choice(&fit) {
        Some((name, _)) if rng.usize(0..8) > 0 => (*name).to_owned(),
        _ => format!("{}{itemsize}", rng.choice(['S', 'V']).unwrap()),
    };
    let dtype: DType = name.parse().unwrap();
    if rng.bool() { dtype } else { dtype.swapped() }
}

/// Any dtype of this size.
fn dtype(rng: &mut Rng, itemsize: usize, depth: usize) -> DType {
    if depth > 2 || itemsize == 0 || rng.usize(0..5) < 3 {
        // Sometimes a type that a record cannot express.
        let known = if depth == 0 || rng.usize(0..20) == 0 { &SCALARS[..] } else { &SCALARS[..SPELT] };
        return scalar(rng, itemsize, known);
    }
    // Fields anywhere: with gaps, in any order, overlapping.
    let fields: Vec<Field> = (0..rng.usize(1..=4))
        .map(|index| {
            let offset = rng.usize(0..itemsize);
            let room = rng.usize(1..=itemsize - offset);
            let name = *rng.choice(&["x", "größe", "it's", "a; dtype=", "\n"]).unwrap();
            let count = rng.usize(1..=room);
            let dtype = match rng.usize(0..4) {
                0 => DType::subarray(&[count], self::dtype(rng, room / count, depth + 1)).unwrap(),
                _ => self::dtype(rng, room, depth + 1),
            };
            let field = Field::new(format!("{name}{index}"), offset, dtype);
            if rng.usize(0..4) == 0 { field.with_title(format!("title {index}")) } else { field }
        })
        .collect();
    DType::record(fields, itemsize).unwrap()
}

/// A layout whose window is small enough to allocate.
fn small(rng: &mut Rng) -> Placed {
    loop {
        let rank = rng.usize(0..=8);
        let placed = generate::direct(rng, rank);
        if placed.window <= 1 << 16 {
            return placed;
        }
    }
}

/// The bytes of all elements in row-major order of their indices, read at the array's own
/// addresses.
fn bytes_of(array: &DArray) -> Vec<u8> {
    let (buffer, offset) = array.buffer().unwrap();
    let memory = buffer.pin().unwrap().to_vec();
    let placed = Placed {
        plain: crossdock_testkit::Plain {
            shape: array.shape().to_vec(),
            strides: array.strides().to_vec(),
            suboffsets: None,
            itemsize: array.dtype().itemsize(),
        },
        offset,
        window: memory.len(),
        memory: Default::default(),
    };
    elements(&placed, &memory)
}

/// The oracle: the bytes of all elements, found one by one.
fn elements(placed: &Placed, memory: &[u8]) -> Vec<u8> {
    let cells = placed.nested().cells;
    cells.iter().flat_map(|&at| &memory[at as usize..at as usize + placed.plain.itemsize]).copied().collect()
}

/// The pages, and the offset of the buffer in them.
fn pages(buffer: &Buffer) -> (u64, u64, u64) {
    let (fd, offset) = buffer.descriptor().unwrap();
    let metadata = File::from(fd.try_clone_to_owned().unwrap()).metadata().unwrap();
    (metadata.dev(), metadata.ino(), offset)
}

#[test]
fn arrays_arrive_as_they_were_on_the_same_pages() {
    let cases = crossdock_testkit::cases(6000);
    let (mut rng, mut coverage) = (Rng::with_seed(seed()), Coverage::default());
    let (ours, theirs) = UnixStream::pair().unwrap();
    for _ in 0..cases {
        coverage.case();
        let placed = small(&mut rng);
        let (shape, strides) = (&placed.plain.shape[..], &placed.plain.strides[..]);
        let dtype = dtype(&mut rng, placed.plain.itemsize, 0);
        let lead = *rng.choice(&[0, 1, 7, 100, 4095, 4096, 9000]).unwrap();
        let bytes: Vec<u8> = (0..placed.window).map(|_| rng.u8(..)).collect();
        let buffer = Buffer::shared(lead + placed.window).unwrap().slice(lead..).unwrap();
        buffer.share().unwrap().copy_from_slice(&bytes).unwrap();
        let layout = Layout::new(shape, strides, placed.plain.itemsize).unwrap();
        let mut array = DArray::from_buffer(buffer, dtype.clone(), layout, placed.offset).unwrap();
        let request = match rng.usize(0..3) {
            0 => Request::pin(),
            1 => Request::share(),
            _ => {
                array = array.into_sealed().unwrap();
                Request::read()
            }
        };
        note(&mut coverage, &array, &request, lead);

        let before = copied_bytes_here();
        let lent = shm::export(&array, &request).unwrap();
        shm::send(&ours, &lent).unwrap();
        let (witness, within) = array.buffer().unwrap();
        drop((lent, array));
        let got = shm::receive(&theirs).unwrap().unwrap();
        assert_eq!(copied_bytes_here(), before, "something was copied");

        assert_eq!((got.dtype(), got.shape()), (&dtype, shape));
        for (axis, &len) in shape.iter().enumerate().filter(|_| !got.is_empty()) {
            assert!(len == 1 || got.strides()[axis] == strides[axis], "{strides:?} {:?}", got.strides());
        }
        assert_eq!(bytes_of(&got), elements(&placed, &bytes), "{got:?}");
        let sealed = request.lease() == crossdock::memory::LeaseKind::Read;
        assert_eq!(got.birth(), if sealed { Birth::Constant } else { Birth::Aliased });
        let (buffer, offset) = got.buffer().unwrap();
        assert_eq!(pages(&buffer), pages(&witness));
        assert_eq!((buffer.nbytes(), offset), (witness.nbytes(), within));
        if let Ok(shared) = buffer.share()
            && buffer.nbytes() > 0
        {
            let (at, value) = (rng.usize(0..buffer.nbytes()), rng.u8(..));
            shared.store(at, value).unwrap();
            assert_eq!(witness.pin().unwrap().load::<u8>(at).unwrap(), value);
            coverage.note("written by the receiver");
        } else {
            assert!(buffer.nbytes() == 0 || request.lease() != crossdock::memory::LeaseKind::Share);
        }
    }
    println!("{coverage}");
    let classes = [
        "Pin",
        "Share",
        "Read",
        "scalar",
        "record",
        "swapped",
        "empty",
        "negative",
        "zero",
        "unaligned start",
    ];
    coverage.assert_at_least(0.05, classes);
    coverage.assert_at_least(0.2, ["written by the receiver"]);
    coverage.assert_at_least(0.005, ["sub-array", "no NumPy name", "itemsize 0"]);
    coverage.assert_at_least(0.05, (0..=8).map(|rank| format!("rank {rank}")));
}

fn has_subarray(dtype: &DType) -> bool {
    dtype.as_subarray().is_some()
        || dtype
            .as_record()
            .is_some_and(|record| record.fields().iter().any(|field| has_subarray(field.dtype())))
}

fn note(coverage: &mut Coverage, array: &DArray, request: &Request, lead: usize) {
    let dtype = array.dtype();
    coverage.note(format!("{:?}", request.lease()));
    coverage.note(format!("rank {}", array.rank()));
    coverage.note_if(dtype.as_record().is_some(), "record");
    coverage.note_if(has_subarray(dtype), "sub-array");
    if let Some(scalar) = dtype.as_scalar() {
        coverage.note("scalar");
        coverage.note_if(scalar.byte_order().is_some_and(|order| order != ByteOrder::NATIVE), "swapped");
        let known = SCALARS[SPELT..].iter().any(|(name, _)| dtype.to_string().ends_with(name));
        coverage.note_if(known, "no NumPy name");
    }
    coverage.note_if(dtype.itemsize() == 0, "itemsize 0");
    coverage.note_if(array.is_empty(), "empty");
    coverage.note_if(array.strides().iter().any(|&stride| stride < 0), "negative");
    coverage.note_if(array.strides().contains(&0), "zero");
    coverage.note_if(!lead.is_multiple_of(8), "unaligned start");
}
