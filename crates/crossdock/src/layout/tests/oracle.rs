//! Every operation on layouts against the naive oracle, over random layouts of every class.

use crate::Result;
use crate::layout::{AxisSlice, Layout, Order};
use crossdock_testkit::invalid::{Fault, invalid, just_valid};
use crossdock_testkit::{Coverage, Memory, Nested, Pick, Placed, Plain, cases, generate, seed};
use fastrand::Rng;

const CASES: usize = 6_000;
const INVALID_CASES: usize = 4_000;

fn layout_of(plain: &Plain) -> Result<Layout> {
    match &plain.suboffsets {
        None => Layout::new(&plain.shape, &plain.strides, plain.itemsize),
        Some(suboffsets) => Layout::with_suboffsets(&plain.shape, &plain.strides, suboffsets, plain.itemsize),
    }
}

fn plain_of(layout: &Layout) -> Plain {
    Plain {
        shape: layout.shape().to_vec(),
        strides: layout.strides().to_vec(),
        suboffsets: layout.suboffsets().map(<[_]>::to_vec),
        itemsize: layout.itemsize(),
    }
}

fn axis_slices(picks: &[Pick]) -> Vec<AxisSlice> {
    let axis_slice = |pick: &Pick| match *pick {
        Pick::Index(index) => AxisSlice::Index(index),
        Pick::Range(start, stop, step) => AxisSlice::Range { start, stop, step },
        Pick::NewAxis => AxisSlice::NewAxis,
        Pick::Ellipsis => AxisSlice::Ellipsis,
    };
    picks.iter().map(axis_slice).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    SliceRust,
    SliceNumpy,
    Permute,
    Transpose,
    Reverse,
    Broadcast,
    ReshapeRows,
    ReshapeColumns,
    DropAxis,
    InsertAxis,
    Squeeze,
    Normalize,
    SwapAxes,
    MoveAxis,
    SliceAxis,
    SplitFront,
    SplitBack,
    Diagonal,
    Windows,
    Blocks,
}

const OPS: [Op; 20] = [
    Op::SliceRust,
    Op::SliceNumpy,
    Op::Permute,
    Op::Transpose,
    Op::Reverse,
    Op::Broadcast,
    Op::ReshapeRows,
    Op::ReshapeColumns,
    Op::DropAxis,
    Op::InsertAxis,
    Op::Squeeze,
    Op::Normalize,
    Op::SwapAxes,
    Op::MoveAxis,
    Op::SliceAxis,
    Op::SplitFront,
    Op::SplitBack,
    Op::Diagonal,
    Op::Windows,
    Op::Blocks,
];

/// The operations that always succeed on a direct array.
const TOTAL: [Op; 3] = [Op::Transpose, Op::Squeeze, Op::Normalize];

const WHOLE: Pick = Pick::Range(None, None, 1);

/// Whether an index may drop these axes of an indirect array: an axis that dereferences needs a
/// remaining earlier axis of the same segment. Otherwise the slice is possible.
fn can_drop(plain: &Plain, picks: &[Pick]) -> bool {
    let named = picks.iter().filter(|pick| matches!(pick, Pick::Index(_) | Pick::Range(..))).count();
    let rest = vec![WHOLE; plain.shape.len() - named];
    let mut spelt = picks.to_vec();
    match picks.iter().position(|pick| *pick == Pick::Ellipsis) {
        Some(at) => drop(spelt.splice(at..=at, rest)),
        None => spelt.extend(rest),
    }
    let (mut axis, mut in_front) = (0, 0);
    for pick in spelt {
        in_front += usize::from(!matches!(pick, Pick::Index(_)));
        if pick == Pick::NewAxis {
            continue;
        }
        if plain.suboffsets.as_ref().is_some_and(|suboffsets| suboffsets[axis].is_some()) {
            if in_front == 0 {
                return false;
            }
            in_front = 0;
        }
        axis += 1;
    }
    true
}

/// Whether a permutation leaves every axis of an indirect array between the same dereferences.
fn can_permute(plain: &Plain, axes: &[usize]) -> bool {
    let mut axes = axes.iter();
    plain.segments().iter().all(|segment| {
        let mut moved: Vec<usize> = axes.by_ref().take(segment.len()).copied().collect();
        moved.sort();
        moved == *segment
    })
}

/// An array in the library's and the oracle's representation.
#[derive(Clone)]
struct Twin {
    layout: Layout,
    /// The address of element 0, or of the first pointer that leads to it.
    base: i128,
    nested: Nested,
    /// Whether it is a view of a contiguous array without repetition.
    exact: bool,
}

/// The library's result, the oracle's result, and whether strides and suboffsets can express it.
struct Outcome {
    got: Result<(Layout, isize)>,
    expected: Option<Nested>,
    expressible: bool,
    arguments: String,
}

impl Twin {
    /// Runs an operation on both, compares the results, and returns the result if there is one.
    fn run(&self, op: Op, rng: &mut Rng, placed: &Placed) -> Option<Twin> {
        let Outcome { got, expected, expressible, arguments } = self.outcome(op, rng);
        let context = || format!("{op:?} ({arguments}) of {:?} at {}", self.layout, self.base);
        let Some(nested) = expected else {
            assert!(got.is_err(), "must be refused: {}", context());
            return None;
        };
        if !expressible {
            let error = got.expect_err(&context());
            assert!(error.is_layout(), "{error:?}: {}", context());
            return None;
        }
        let (layout, moved) = got.unwrap_or_else(|error| panic!("{error}: {}", context()));
        let exact = self.exact && !matches!(op, Op::Broadcast | Op::Windows);
        let twin = Twin { layout, base: self.base + moved as i128, nested, exact };
        twin.check(placed, &context());
        Some(twin)
    }

    fn outcome(&self, op: Op, rng: &mut Rng) -> Outcome {
        let (layout, nested) = (&self.layout, &self.nested);
        let plain = plain_of(layout);
        let rank = layout.rank();
        // Most operations keep element 0 in place.
        let still = |layout: Result<Layout>| layout.map(|layout| (layout, 0));
        let outcome = |got, expected: Option<Nested>, expressible: &dyn Fn() -> bool, arguments| {
            let expressible = expected.is_none() || expressible();
            Outcome { got, expected, expressible, arguments }
        };
        match op {
            Op::SliceRust | Op::SliceNumpy => {
                let tame = rng.bool();
                let picks = generate::slice(rng, layout.shape(), tame);
                let axes = axis_slices(&picks);
                let (got, expected) = match op {
                    Op::SliceRust => (layout.slice(axes), nested.slice_rust(&picks)),
                    _ => (layout.slice_numpy(axes), nested.slice_numpy(&picks)),
                };
                outcome(got, expected, &|| can_drop(&plain, &picks), format!("{picks:?}"))
            }
            Op::Permute => {
                let axes = generate::axes(rng, rank);
                let got = still(layout.permute(&axes));
                outcome(got, nested.permute(&axes), &|| can_permute(&plain, &axes), format!("{axes:?}"))
            }
            Op::Transpose => {
                let axes: Vec<usize> = (0..rank).rev().collect();
                let expected = Some(nested.transpose());
                outcome(still(layout.transpose()), expected, &|| can_permute(&plain, &axes), String::new())
            }
            Op::Reverse => {
                let axis = rng.usize(0..=rank);
                outcome(layout.reverse(axis), nested.reverse(axis), &|| true, format!("{axis}"))
            }
            Op::Broadcast => {
                let shape = generate::broadcast_shape(rng, layout.shape());
                let got = still(layout.broadcast_to(&shape));
                outcome(got, nested.broadcast(&shape), &|| true, format!("{shape:?}"))
            }
            Op::ReshapeRows | Op::ReshapeColumns => {
                let shape = generate::reshape_shape(rng, layout.shape());
                let rows = op == Op::ReshapeRows;
                let order = if rows { Order::RowMajor } else { Order::ColumnMajor };
                let expected = nested.reshape(&shape, rows);
                let by_strides = expected.as_ref().is_some_and(|nested| nested.strides().is_some());
                let same = shape == layout.shape();
                let expressible = || same || by_strides && plain.suboffsets.is_none();
                outcome(still(layout.reshape(&shape, order)), expected, &expressible, format!("{shape:?}"))
            }
            Op::DropAxis => {
                let axis = rng.usize(0..=rank);
                let len = layout.shape().get(axis).copied().unwrap_or(1);
                let huge = rng.usize(0..20) == 0;
                let index = if huge { usize::MAX - rng.usize(0..2) } else { rng.usize(0..=len) };
                let picks = [vec![WHOLE; axis], vec![Pick::Index(0)]].concat();
                let (got, expected) = (layout.drop_axis(axis, index), nested.drop_axis(axis, index));
                outcome(got, expected, &|| can_drop(&plain, &picks), format!("{axis}, {index}"))
            }
            Op::InsertAxis => {
                let axis = rng.usize(0..=rank + 1);
                let got = still(layout.insert_axis(axis));
                outcome(got, nested.insert_axis(axis), &|| true, format!("{axis}"))
            }
            Op::Squeeze => {
                let pick = |&len: &usize| if len == 1 { Pick::Index(0) } else { WHOLE };
                let picks: Vec<Pick> = layout.shape().iter().map(pick).collect();
                let expected = Some(nested.squeeze());
                outcome(still(layout.squeeze()), expected, &|| can_drop(&plain, &picks), String::new())
            }
            Op::SwapAxes | Op::MoveAxis => {
                let (a, b) = (rng.usize(0..=rank), rng.usize(0..=rank));
                let mut axes: Vec<usize> = (0..rank).collect();
                let (got, expected) = if op == Op::SwapAxes {
                    if a < rank && b < rank {
                        axes.swap(a, b);
                    }
                    (layout.swap_axes(a, b), nested.swap_axes(a, b))
                } else {
                    if a < rank && b < rank {
                        let axis = axes.remove(a);
                        axes.insert(b, axis);
                    }
                    (layout.move_axis(a, b), nested.move_axis(a, b))
                };
                outcome(still(got), expected, &|| can_permute(&plain, &axes), format!("{a}, {b}"))
            }
            Op::SliceAxis => {
                let axis = rng.usize(0..=rank);
                let len = layout.shape().get(axis).copied().unwrap_or(1);
                let outside = usize::from(rng.usize(0..10) == 0);
                let (start, end) = (rng.usize(0..=len + outside), rng.usize(0..=len + outside));
                let got = match end {
                    0 => layout.slice_axis(axis, start..end),
                    _ => layout.slice_axis(axis, start..=end - 1),
                };
                outcome(got, nested.slice_axis(axis, start, end), &|| true, format!("{axis}, {start}..{end}"))
            }
            Op::SplitFront | Op::SplitBack => {
                let axis = rng.usize(0..=rank);
                let len = layout.shape().get(axis).copied().unwrap_or(1);
                let outside = usize::from(rng.usize(0..10) == 0);
                let at = rng.usize(0..=len + outside);
                let got = layout.split_at(axis, at);
                let (got, expected) = if op == Op::SplitFront {
                    (got.map(|(front, ..)| (front, 0)), nested.slice_axis(axis, 0, at))
                } else {
                    (got.map(|(_, back, offset)| (back, offset)), nested.slice_axis(axis, at, len.max(at)))
                };
                outcome(got, expected, &|| true, format!("{axis}, {at}"))
            }
            Op::Diagonal => {
                let (first, second) = generate::two_axes(rng, rank);
                let offset = match rng.usize(0..20) {
                    0 => *rng.choice(&[isize::MIN, isize::MAX]).expect("not empty"),
                    1..8 => 0,
                    _ => rng.isize(-4..=4),
                };
                let got = layout.diagonal(first, second, offset);
                let direct = || plain.suboffsets.is_none();
                let text = format!("{first}, {second}, {offset}");
                outcome(got, nested.diagonal(first, second, offset), &direct, text)
            }
            Op::Windows | Op::Blocks => {
                let direct = || plain.suboffsets.is_none();
                let (tile, got, expected) = if op == Op::Windows {
                    let window = generate::window(rng, layout.shape());
                    let (got, expected) = (layout.windows(&window), nested.windows(&window));
                    (window, got, expected)
                } else {
                    let block = generate::block(rng, layout.shape());
                    let (got, expected) = (layout.blocks(&block), nested.blocks(&block));
                    (block, got, expected)
                };
                // A block of an empty array may be too long to count, and has no elements to
                // compare.
                let expected = expected.filter(|nested| !nested.cells.is_empty() || got.is_ok());
                outcome(still(got), expected, &direct, format!("{tile:?}"))
            }
            Op::Normalize => {
                outcome(Ok((layout.normalized(), 0)), Some(nested.clone()), &|| true, String::new())
            }
        }
    }

    /// Compares every address, and asserts the properties of every layout.
    fn check(&self, placed: &Placed, context: &str) {
        let plain = plain_of(&self.layout);
        let seen = Nested::of(&plain, self.base, &placed.memory);
        assert_eq!(seen, self.nested, "{context} gave {:?}", self.layout);
        // A valid layout stays valid, and inside its window.
        let again = layout_of(&plain).unwrap_or_else(|error| panic!("{context} is invalid: {error}"));
        assert_eq!(again, self.layout, "{context}");
        let base = usize::try_from(self.base).expect("element 0 in the window");
        let inside = self.layout.span().check_window(base, placed.window);
        inside.unwrap_or_else(|error| panic!("{context}: {error}"));
        self.check_queries(context);
        self.check_each(&placed.memory, context);
    }

    fn check_queries(&self, context: &str) {
        let (layout, nested, itemsize) = (&self.layout, &self.nested, self.layout.itemsize());
        let direct = layout.suboffsets().is_none();
        assert_eq!(layout.len(), nested.cells.len(), "{context}");
        assert_eq!(layout.is_empty(), nested.cells.is_empty(), "{context}");
        assert_eq!(layout.nbytes(), nested.cells.len() * itemsize, "{context}");
        let orders = [(Order::RowMajor, true), (Order::ColumnMajor, false)];
        let is_in = |rows| direct && nested.is_contiguous(itemsize, rows);
        for (order, rows) in orders {
            assert_eq!(layout.is_contiguous(order), is_in(rows), "{context}");
        }
        assert_eq!(layout.order(), orders.iter().find(|(_, rows)| is_in(*rows)).map(|(order, _)| *order));
        if !direct {
            assert!(layout.offsets().is_err() && layout.runs().is_err() && layout.to_fixed::<2>().is_err());
            assert!(!layout.is_injective() && !layout.is_aligned(1), "{context}");
            return;
        }
        let bytes = nested.bytes(itemsize).unwrap_or((self.base, self.base));
        let span = layout.span();
        assert_eq!((self.base + span.low() as i128, self.base + span.high() as i128), bytes, "{context}");
        let (claimed, injective) = (layout.is_injective(), nested.is_injective(itemsize));
        assert!(injective || !claimed, "{context}: {layout:?} shares bytes");
        assert!(!self.exact || claimed == injective, "{context}: {layout:?} shares no bytes");
        for align in [2, 8] {
            let aligned = |cell: &i128| (cell - nested.cells[0]) % align as i128 == 0;
            let all = nested.cells.iter().all(aligned);
            // For an empty array, the answer may be no.
            assert!(layout.is_aligned(align) == all || nested.cells.is_empty(), "{context}");
        }
    }

    /// Checks every element by its index and in order, and the indices just outside.
    fn check_each(&self, memory: &Memory, context: &str) {
        let (layout, nested) = (&self.layout, &self.nested);
        let by_index = Nested::from_fn(&nested.shape, |index| {
            let distances: Vec<isize> = layout.distances(index).expect("an index that exists").collect();
            match layout.offset_of(index) {
                Ok(offset) => assert_eq!(distances, [offset], "{context} at {index:?}"),
                Err(error) => {
                    assert!(error.is_layout() && distances.len() > 1, "{context} at {index:?}: {error}")
                }
            }
            let first = self.base + distances[0] as i128;
            distances[1..].iter().fold(first, |pointer, distance| memory.load(pointer) + *distance as i128)
        });
        assert_eq!(by_index, *nested, "{context}");
        let zeros = vec![0; layout.rank()];
        for (axis, &len) in layout.shape().iter().enumerate() {
            let mut outside = zeros.clone();
            outside[axis] = len;
            assert!(layout.distances(&outside).is_err(), "{context}");
        }
        assert!(layout.distances(&[&zeros[..], &[0]].concat()).is_err(), "{context}");

        let Ok(offsets) = layout.offsets() else { return };
        assert_eq!(offsets.len(), nested.cells.len(), "{context}");
        let mut turns = offsets.clone();
        let by_turn: Vec<i128> =
            std::iter::from_fn(|| turns.next()).map(|offset| self.base + offset as i128).collect();
        assert_eq!(by_turn, nested.cells, "{context}");
        let mut folded = vec![];
        offsets.for_each(|offset| folded.push(self.base + offset as i128));
        assert_eq!(folded, nested.cells, "{context}");
    }
}

fn note_classes(coverage: &mut Coverage, placed: &Placed) {
    let plain = &placed.plain;
    let direct = plain.suboffsets.is_none();
    let long =
        || plain.shape.iter().zip(&plain.strides).filter(|(len, _)| **len > 1).map(|(_, stride)| *stride);
    match plain.shape.len() {
        rank @ 0..=8 => coverage.note(format!("rank {rank}")),
        _ => coverage.note("rank above 8"),
    }
    let align = 1 << plain.itemsize.max(1).trailing_zeros();
    coverage.note_if(long().any(|stride| stride < 0), "negative stride");
    coverage.note_if(long().any(|stride| stride == 0), "zero stride");
    coverage.note_if(direct && long().any(|stride| stride % align != 0), "unaligned stride");
    coverage.note_if(plain.shape.contains(&0), "empty");
    coverage.note_if(!direct, "suboffsets");
    coverage.note_if(plain.segments().len() > 2, "suboffsets on several axes");
    coverage.note_if(placed.offset != 0, "offset into its window");
    coverage.note_if(placed.window > usize::MAX / 8, "far-reaching strides");
    coverage.note_if(plain.itemsize == 0, "itemsize 0");
}

fn classes() -> impl Iterator<Item = String> {
    let named = [
        "negative stride",
        "zero stride",
        "unaligned stride",
        "empty",
        "suboffsets",
        "offset into its window",
    ];
    (0..=8).map(|rank| format!("rank {rank}")).chain(named.map(String::from))
}

#[test]
fn every_operation_agrees_with_the_oracle() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    let mut operations = Coverage::default();
    for _ in 0..cases(CASES) {
        let placed = generate::valid(&mut rng);
        coverage.case();
        note_classes(&mut coverage, &placed);
        let layout = layout_of(&placed.plain).unwrap_or_else(|error| panic!("{error}: {placed:?}"));
        let exact = layout.order().is_some();
        let twin = Twin { layout, base: placed.offset as i128, nested: placed.nested(), exact };
        twin.check(&placed, "a valid layout");
        let mut run = |twin: &Twin, op: Op, rng: &mut Rng| {
            operations.case();
            let result = twin.run(op, rng, &placed);
            operations.note(format!("{op:?} {}", if result.is_some() { "done" } else { "refused" }));
            result
        };
        for op in OPS {
            run(&twin, op, &mut rng);
        }
        // Continues with views of views.
        let mut twin = twin;
        for _ in 0..3 {
            let op = OPS[rng.usize(0..OPS.len())];
            // At most as many elements and axes as the oracle can list.
            let is_kept = |next: &Twin| next.nested.cells.len() <= 512 && next.layout.rank() <= 24;
            twin = run(&twin, op, &mut rng).filter(is_kept).unwrap_or(twin);
        }
    }
    println!("{coverage}\n{operations}");
    if cases(CASES) < CASES {
        return;
    }
    coverage.assert_at_least(0.05, classes());
    // Each operation succeeded and failed often enough.
    operations.assert_at_least(0.36 / OPS.len() as f64, OPS.map(|op| format!("{op:?} done")));
    let refusable = OPS.iter().filter(|op| !TOTAL.contains(op));
    operations.assert_at_least(0.002, refusable.map(|op| format!("{op:?} refused")));
}

#[test]
fn every_invalid_layout_is_refused() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for _ in 0..cases(INVALID_CASES) {
        let (fault, placed) = invalid(&mut rng);
        coverage.case();
        coverage.note(format!("{fault:?}"));
        let made = layout_of(&placed.plain);
        let error = if fault.is_about_window() {
            let layout = made.unwrap_or_else(|error| panic!("{fault:?} {placed:?}: {error}"));
            layout.span().check_window(placed.offset, placed.window).err()
        } else {
            made.err()
        };
        let error = error.unwrap_or_else(|| panic!("{fault:?} was accepted: {placed:?}"));
        let named = match fault {
            Fault::RankTooHigh => error.is_unsupported(),
            Fault::StridesMismatch | Fault::SuboffsetsMismatch => error.is_shape(),
            Fault::BeforeWindow | Fault::BehindWindow | Fault::EmptyOutside => error.is_bounds(),
            _ => error.is_overflow(),
        };
        assert!(named, "{fault:?} of {placed:?} is refused as {error:?}");
        assert!(error.to_string().contains(|c: char| c.is_ascii_digit()), "no numbers: {error}");

        let valid = just_valid(&mut rng);
        let layout = layout_of(&valid.plain).unwrap_or_else(|error| panic!("{error}: {valid:?}"));
        layout
            .span()
            .check_window(valid.offset, valid.window)
            .unwrap_or_else(|error| panic!("{error}: {valid:?}"));
    }
    println!("{coverage}");
    if cases(INVALID_CASES) < INVALID_CASES {
        return;
    }
    coverage.assert_at_least(0.05, Fault::ALL.map(|fault| format!("{fault:?}")));
}
