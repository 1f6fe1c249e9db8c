//! Layouts that must be refused, each wrong in one way only, most of them by a single byte.

use fastrand::Rng;

use crate::{Memory, Placed, Plain, generate};

/// The fault of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The elements have more bytes than a word can count.
    TooManyBytes,
    /// The same, with an axis of length 0.
    TooManyBytesButEmpty,
    /// One stride reaches too far.
    StrideTooLong,
    /// Two strides that fit alone reach too far together.
    StridesTooLong,
    /// A stride whose magnitude cannot be represented.
    StrideWithoutMagnitude,
    /// More than 64 axes.
    RankTooHigh,
    /// More or fewer strides than axes.
    StridesMismatch,
    /// More or fewer suboffsets than axes.
    SuboffsetsMismatch,
    /// A row reaches too far from its pointer.
    SuboffsetTooFar,
    /// The lowest byte is before the window.
    BeforeWindow,
    /// The highest byte is after the window.
    BehindWindow,
    /// Element 0 of an empty array is after the window.
    EmptyOutside,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 12] = [
        Fault::TooManyBytes,
        Fault::TooManyBytesButEmpty,
        Fault::StrideTooLong,
        Fault::StridesTooLong,
        Fault::StrideWithoutMagnitude,
        Fault::RankTooHigh,
        Fault::StridesMismatch,
        Fault::SuboffsetsMismatch,
        Fault::SuboffsetTooFar,
        Fault::BeforeWindow,
        Fault::BehindWindow,
        Fault::EmptyOutside,
    ];

    /// Whether the layout itself is valid, and only exceeds its window.
    pub fn is_about_window(self) -> bool {
        matches!(self, Fault::BeforeWindow | Fault::BehindWindow | Fault::EmptyOutside)
    }
}

const MAX: usize = isize::MAX as usize;

/// A layout with this fault.
pub fn with_fault(rng: &mut Rng, fault: Fault) -> Placed {
    loop {
        let rank = rng.usize(1..=8);
        let mut placed = if fault == Fault::SuboffsetsMismatch || fault == Fault::SuboffsetTooFar {
            generate::indirect(rng, rank)
        } else {
            generate::direct(rng, rank)
        };
        if spoil(rng, fault, &mut placed).is_some() {
            return placed;
        }
    }
}

/// `None` if this layout cannot have the fault.
fn spoil(rng: &mut Rng, fault: Fault, placed: &mut Placed) -> Option<()> {
    let rank = placed.plain.shape.len();
    let plain = &mut placed.plain;
    let axis = rng.usize(0..rank);
    match fault {
        Fault::TooManyBytes | Fault::TooManyBytesButEmpty => {
            let itemsize = plain.itemsize.max(1);
            // One too many, far too many, and so many that a wrapping product looks small.
            let shape: Vec<usize> = match rng.usize(0..5) {
                0 => vec![MAX / itemsize + 1],
                1 => vec![usize::MAX],
                2 => vec![2, MAX / itemsize / 2 + 1],
                3 => vec![1 << (usize::BITS / 2), 1 << (usize::BITS / 2 - 1), 2],
                _ => vec![usize::MAX / 3 + 1, 3],
            };
            plain.shape = shape;
            if fault == Fault::TooManyBytesButEmpty {
                let len = plain.shape.len();
                plain.shape.insert(rng.usize(0..=len), 0);
            }
            plain.strides = vec![0; plain.shape.len()];
        }
        Fault::StrideTooLong => {
            plain.shape[axis] = plain.shape[axis].max(2);
            plain.strides[axis] = 0;
            let (low, high, _) = plain.reach(0);
            let room = isize::MAX as i128 - (high - low);
            let stride = room / (plain.shape[axis] as i128 - 1) + 1;
            plain.strides[axis] = isize::try_from(if rng.bool() { stride } else { -stride }).ok()?;
        }
        Fault::StridesTooLong => {
            let other = rng.usize(0..rank);
            if other == axis {
                return None;
            }
            (plain.shape[axis], plain.shape[other]) = (2, 2);
            (plain.strides[axis], plain.strides[other]) = (0, 0);
            let (low, high, _) = plain.reach(0);
            let room = isize::MAX as i128 - (high - low);
            plain.strides[axis] = (room / 2 + 1) as isize;
            plain.strides[other] = -((room - room / 2) as isize);
        }
        Fault::StrideWithoutMagnitude => {
            plain.shape[axis] = plain.shape[axis].max(2);
            plain.strides[axis] = isize::MIN;
        }
        Fault::RankTooHigh => {
            let rank = rng.usize(65..=300);
            plain.shape = vec![1; rank];
            plain.strides = vec![plain.itemsize as isize; rank];
        }
        Fault::StridesMismatch => {
            if rng.bool() {
                plain.strides.push(0);
            } else {
                plain.strides.pop();
            }
        }
        Fault::SuboffsetsMismatch => {
            let suboffsets = plain.suboffsets.as_mut()?;
            if rng.bool() {
                suboffsets.push(None);
            } else {
                suboffsets.pop();
            }
        }
        Fault::SuboffsetTooFar => {
            let follows = plain.suboffsets.as_ref()?.iter().position(Option::is_some)?;
            let (low, high, _) = plain.reach(1);
            let (front, back) = (isize::MIN as i128 - low - 1, isize::MAX as i128 - high + 1);
            let suboffset = isize::try_from(if rng.bool() { front } else { back }).ok()?;
            plain.suboffsets.as_mut()?[follows] = Some(suboffset);
        }
        Fault::BeforeWindow => {
            let (low, _, _) = plain.reach(0);
            if plain.shape.contains(&0) || low == 0 {
                return None;
            }
            placed.offset = (-low - rng.i128(1..=-low)) as usize;
            placed.window = isize::MAX as usize;
        }
        Fault::BehindWindow => {
            let (_, high, _) = plain.reach(0);
            if plain.shape.contains(&0) || high == 0 {
                return None;
            }
            match rng.usize(0..3) {
                0 => placed.window = placed.offset + high as usize - 1,
                1 => placed.window = 0,
                _ => placed.offset = usize::MAX - rng.usize(0..high.min(100) as usize),
            }
        }
        Fault::EmptyOutside => {
            plain.shape[axis] = 0;
            placed.offset = placed.window + if rng.bool() { 1 } else { MAX };
        }
    }
    Some(())
}

/// A random invalid layout, and its fault.
pub fn invalid(rng: &mut Rng) -> (Fault, Placed) {
    let fault = *rng.choice(&Fault::ALL).expect("not empty");
    (fault, with_fault(rng, fault))
}

/// A valid layout with the largest possible reach: the neighbour of [`Fault::StrideTooLong`].
pub fn just_valid(rng: &mut Rng) -> Placed {
    let itemsize = rng.usize(0..=16);
    let len = rng.usize(2..=8);
    let stride = ((MAX - itemsize) / (len - 1)) as isize;
    let negative = rng.bool();
    let reach = stride as usize * (len - 1);
    let plain = Plain {
        shape: vec![len],
        strides: vec![if negative { -stride } else { stride }],
        suboffsets: None,
        itemsize,
    };
    let offset = if negative { reach } else { 0 };
    Placed { plain, offset, window: reach + itemsize, memory: Memory::default() }
}
