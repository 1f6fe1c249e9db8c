//! Random valid layouts, and random arguments for operations on them.

use fastrand::Rng;

use crate::plain::POINTER;
use crate::{Memory, Pick, Placed, Plain};

/// The maximum number of elements, so that an oracle can list them.
pub const MAX_ELEMENTS: usize = 128;

/// A valid layout of any class: ranks 0 to 12 (0 to 8 equally often, few above); contiguous in
/// either order, padded, permuted or overlapping; negative, zero and unaligned strides, and strides
/// that reach to the end of the address space; open strides of single axes; empty, 0-d, indirect;
/// anywhere in its window.
pub fn valid(rng: &mut Rng) -> Placed {
    let rank = if rng.usize(0..100) < 4 { rng.usize(9..=12) } else { rng.usize(0..=8) };
    match rng.usize(0..100) {
        0..12 if rank > 0 => indirect(rng, rank),
        _ => direct(rng, rank),
    }
}

/// A valid layout without suboffsets.
pub fn direct(rng: &mut Rng, rank: usize) -> Placed {
    let shape = shape(rng, rank);
    let itemsize = itemsize(rng);
    let strides = strides(rng, &shape, itemsize, itemsize);
    place(rng, Plain { shape, strides, suboffsets: None, itemsize })
}

/// A valid layout with at least one suboffset, and the pointers that it follows.
pub fn indirect(rng: &mut Rng, rank: usize) -> Placed {
    assert!(rank > 0, "a dereference needs an axis to stand on");
    let shape = shape(rng, rank);
    let itemsize = itemsize(rng);
    // One axis always follows pointers, the others sometimes.
    let sure = rng.usize(0..rank);
    let follows: Vec<bool> = (0..rank).map(|axis| axis == sure || rng.usize(0..5) == 0).collect();
    let mut strides = vec![];
    let mut first = 0;
    for (axis, &follows) in follows.iter().enumerate() {
        if follows || axis + 1 == rank {
            let unit = if follows { POINTER } else { itemsize };
            strides.extend(self::strides(rng, &shape[first..=axis], unit, unit));
            first = axis + 1;
        }
    }
    let suboffsets = follows.iter().map(|&follows| follows.then_some(0)).collect();
    let mut plain = Plain { shape, strides, suboffsets: Some(suboffsets), itemsize };
    // Each segment alone fits; several long ones may be too large together.
    let segments = plain.segments();
    let total: i128 = (0..segments.len()).map(|k| plain.reach(k)).map(|(low, high, _)| high - low).sum();
    if total > isize::MAX as i128 {
        return indirect(rng, rank);
    }
    let following = follows.iter().enumerate().filter(|(_, follows)| **follows);
    for (behind, (axis, _)) in following.enumerate() {
        let (low, high, _) = plain.reach(behind + 1);
        let (least, most) = (isize::MIN as i128 - low, isize::MAX as i128 - high);
        let suboffset = match rng.usize(0..10) {
            0 => most,
            1 => least,
            2..5 => 0,
            _ => rng.i128(-100..100),
        };
        // After a long segment, not every small suboffset fits.
        plain.suboffsets.as_mut().expect("just made")[axis] = Some(suboffset.clamp(least, most) as isize);
    }
    let mut placed = place(rng, plain);
    placed.memory = fill(rng, &placed);
    placed
}

/// Stores a pointer wherever the layout looks for one. Rows do not overlap.
fn fill(rng: &mut Rng, placed: &Placed) -> Memory {
    let plain = &placed.plain;
    let suboffsets = plain.suboffsets.as_ref().expect("an indirect layout");
    let mut memory = Memory::default();
    let mut row = 1i128 << 70;
    let numel: usize = plain.shape.iter().product();
    for element in 0..numel {
        let (mut p, mut rest, mut after) = (placed.offset as i128, element, numel);
        for (axis, suboffset) in suboffsets.iter().enumerate() {
            after /= plain.shape[axis];
            p += (rest / after) as i128 * plain.strides[axis] as i128;
            rest %= after;
            if let Some(suboffset) = *suboffset {
                row += (1 << 66) + rng.i128(0..1000);
                memory.store_if_absent(p, row);
                p = memory.load(p) + suboffset as i128;
            }
        }
    }
    memory
}

/// Lengths with few elements in total; some axes of length 1, occasionally one of length 0.
pub fn shape(rng: &mut Rng, rank: usize) -> Vec<usize> {
    let mut shape = vec![1; rank];
    let mut left = MAX_ELEMENTS;
    for len in &mut shape {
        *len = match rng.usize(0..10) {
            0 => 1,
            1 => rng.usize(1..=left.clamp(1, 24)),
            _ => rng.usize(1..=left.clamp(1, 4)),
        };
        left /= *len;
    }
    rng.shuffle(&mut shape);
    if rank > 0 && rng.usize(0..100) < 14 {
        for _ in 0..rng.usize(1..=2) {
            shape[rng.usize(0..rank)] = 0;
        }
    }
    shape
}

fn itemsize(rng: &mut Rng) -> usize {
    *rng.choice(&[1, 1, 2, 3, 4, 4, 8, 8, 8, 12, 16, 0]).expect("not empty")
}

/// Strides in bytes for elements of `itemsize` bytes, which together span at most `isize::MAX`
/// bytes.
fn strides(rng: &mut Rng, shape: &[usize], itemsize: usize, unit: usize) -> Vec<isize> {
    let rank = shape.len();
    let mut order: Vec<usize> = (0..rank).rev().collect();
    let kind = rng.usize(0..21);
    // The step of each axis over the inner ones, from the innermost outwards.
    let mut strides = vec![0i128; rank];
    match kind {
        0..5 => {}
        5..8 => order.reverse(),
        _ => rng.shuffle(&mut order),
    }
    let mut inside = itemsize as i128;
    for &axis in &order {
        let len = shape[axis].max(1) as i128;
        strides[axis] = match kind {
            0..8 => inside,
            // Padded by elements, by odd bytes, or as far as possible.
            8..12 => inside + (unit * rng.usize(0..4)) as i128,
            12..16 => inside + rng.i128(0..9),
            16 | 17 => (isize::MAX as i128 / (rank as i128 * len) - rng.i128(0..3)).max(inside),
            // Anything: elements may share bytes.
            18 => unit as i128 * rng.i128(-6..=6),
            _ => rng.i128(-40..=40),
        };
        inside = inside.max(strides[axis].abs() * (len - 1) + inside);
    }
    let (negative, zero, open) = (rng.usize(0..3) == 0, rng.usize(0..5) == 0, rng.usize(0..5) == 0);
    for axis in 0..rank {
        if negative && rng.bool() {
            strides[axis] = -strides[axis];
        }
        if zero && rng.usize(0..3) == 0 {
            strides[axis] = 0;
        }
        if open && shape[axis] <= 1 {
            strides[axis] =
                *rng.choice(&[isize::MIN as i128, isize::MAX as i128, 0, 7, -1]).expect("not empty");
        }
    }
    let reach: i128 = (0..rank).map(|axis| (shape[axis].max(1) as i128 - 1) * strides[axis].abs()).sum();
    if reach + itemsize.max(POINTER) as i128 > isize::MAX as i128 {
        return self::strides(rng, shape, itemsize, unit);
    }
    strides.into_iter().map(|stride| stride as isize).collect()
}

/// Places a layout in a window, tightly or not.
fn place(rng: &mut Rng, plain: Plain) -> Placed {
    let empty = plain.shape.contains(&0);
    // An array without elements needs no bytes.
    let (low, high) = if empty { (0, 0) } else { (plain.reach(0).0, plain.reach(0).1) };
    let room = isize::MAX as i128 - (high - low);
    let mut slack = || if rng.bool() { 0 } else { rng.i128(0..=room.min(64) / 2) };
    let (before, behind) = (slack(), slack());
    let offset = (before - low) as usize;
    Placed { plain, offset, window: offset + (high + behind) as usize, memory: Memory::default() }
}

// ===== arguments

/// A slice: usually a possible one, sometimes with bounds outside, a step of 0, or too many or too
/// few items. `tame` ones name every axis and stay inside, with bounds that both readings accept.
pub fn slice(rng: &mut Rng, shape: &[usize], tame: bool) -> Vec<Pick> {
    let mut picks: Vec<Pick> = shape.iter().map(|&len| pick(rng, len, tame)).collect();
    if rng.usize(0..4) == 0 {
        picks.insert(rng.usize(0..=picks.len()), Pick::NewAxis);
    }
    if rng.usize(0..4) == 0 {
        // Some of the axes from here on are not named.
        let at = rng.usize(0..=picks.len());
        let end = rng.usize(at..=picks.len());
        picks.splice(at..end, [Pick::Ellipsis]);
    }
    if !tame {
        match rng.usize(0..30) {
            0 => picks.push(Pick::Index(0)),
            1 => picks.push(Pick::Ellipsis),
            2 => drop(picks.pop()),
            _ => {}
        }
    }
    picks
}

fn pick(rng: &mut Rng, len: usize, tame: bool) -> Pick {
    let len = len as isize;
    let wild = !tame && rng.usize(0..12) == 0;
    let extremes = [isize::MIN, isize::MIN + 1, isize::MAX, isize::MAX - 1];
    if rng.usize(0..4) == 0 && (len > 0 || wild) {
        return Pick::Index(match rng.usize(0..10) {
            0 if wild => *rng.choice(&extremes).expect("not empty"),
            _ if wild => rng.isize(-len - 2..len + 2),
            _ => rng.isize(-len..len),
        });
    }
    let mut bound = || match rng.usize(0..10) {
        0..3 => None,
        3 if wild => Some(*rng.choice(&extremes).expect("not empty")),
        _ if wild => Some(rng.isize(-len - 3..=len + 3)),
        _ => Some(rng.isize(-len..=len)),
    };
    let (start, stop) = (bound(), bound());
    let step = match rng.usize(0..20) {
        0..9 => 1,
        9..12 => -1,
        12 if wild => 0,
        13 => *rng.choice(&extremes).expect("not empty"),
        _ => *rng.choice(&[2, 3, -2, -3]).expect("not empty"),
    };
    Pick::Range(start, stop, step)
}

/// A permutation of the axes; rarely an invalid one.
pub fn axes(rng: &mut Rng, rank: usize) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..rank).collect();
    rng.shuffle(&mut axes);
    if rank > 0 && rng.usize(0..10) == 0 {
        match rng.usize(0..3) {
            0 => axes[rng.usize(0..rank)] = rng.usize(0..=rank),
            1 => drop(axes.pop()),
            _ => axes.push(rank - 1),
        }
    }
    axes
}

/// Two axes, rarely a missing one, or the same one twice.
pub fn two_axes(rng: &mut Rng, rank: usize) -> (usize, usize) {
    if rank < 2 || rng.usize(0..10) == 0 {
        return (rng.usize(0..=rank), rng.usize(0..=rank));
    }
    let first = rng.usize(0..rank);
    (first, (first + rng.usize(1..rank)) % rank)
}

/// The shape of a window that usually fits.
pub fn window(rng: &mut Rng, shape: &[usize]) -> Vec<usize> {
    // Usually of few windows, or of small ones, so that an oracle can list them all.
    let wide = |rng: &mut Rng, len: usize| match rng.usize(0..4) {
        0 => rng.usize(1..=len),
        1 => len,
        _ => 1,
    };
    let mut window: Vec<usize> = shape.iter().map(|&len| wide(rng, len.max(1))).collect();
    spoil(rng, &mut window);
    window
}

/// The shape of a block that usually divides the array.
pub fn block(rng: &mut Rng, shape: &[usize]) -> Vec<usize> {
    let divisor = |rng: &mut Rng, len: usize| match len {
        0 => rng.usize(1..5),
        _ => *rng
            .choice(&(1..=len).filter(|&k| len.is_multiple_of(k)).collect::<Vec<_>>())
            .expect("1 at least"),
    };
    let mut block: Vec<usize> = shape.iter().map(|&len| divisor(rng, len)).collect();
    spoil(rng, &mut block);
    block
}

/// Rarely makes one length 0 or too large, or adds or removes one.
fn spoil(rng: &mut Rng, lengths: &mut Vec<usize>) {
    match rng.usize(0..24) {
        0 => lengths.push(1),
        1 => drop(lengths.pop()),
        kind @ 2..=4 if !lengths.is_empty() => {
            let axis = rng.usize(0..lengths.len());
            lengths[axis] = [0, lengths[axis] + 1, usize::MAX][kind - 2];
        }
        _ => {}
    }
}

/// A shape to broadcast to, usually one that fits.
pub fn broadcast_shape(rng: &mut Rng, shape: &[usize]) -> Vec<usize> {
    let mut target = shape.to_vec();
    let mut left = MAX_ELEMENTS / shape.iter().product::<usize>().max(1);
    for len in &mut target {
        if *len == 1 && rng.bool() {
            *len = rng.usize(0..=left.clamp(1, 3));
            left /= (*len).max(1);
        }
    }
    for _ in 0..rng.usize(0..=2) {
        let len = rng.usize(1..=left.clamp(1, 3));
        left /= len;
        target.insert(0, len);
    }
    match rng.usize(0..12) {
        0 if !target.is_empty() => drop(target.remove(rng.usize(0..target.len()))),
        1 if !target.is_empty() => target[rng.usize(0..shape.len().max(1))] += 1,
        _ => {}
    }
    target
}

/// A shape to reshape to: the lengths are factorised and recombined, usually between neighbours (so
/// that views are common); rarely with another number of elements.
pub fn reshape_shape(rng: &mut Rng, shape: &[usize]) -> Vec<usize> {
    let mut factors = vec![];
    for &len in shape {
        let mut rest = len;
        for prime in [2, 3, 5, 7, 11, 13, 17, 19, 23] {
            while rest > 1 && rest % prime == 0 {
                factors.push(prime);
                rest /= prime;
            }
        }
        if rest != 1 {
            factors.push(rest);
        }
    }
    if rng.usize(0..6) == 0 {
        rng.shuffle(&mut factors);
    }
    let mut target = vec![];
    for factor in factors {
        match target.last_mut() {
            Some(last) if rng.usize(0..5) < 3 => *last *= factor,
            _ => target.push(factor),
        }
    }
    for _ in 0..rng.usize(0..=2) {
        target.insert(rng.usize(0..=target.len()), 1);
    }
    match rng.usize(0..16) {
        0 => target.push(2),
        1 => drop(target.pop()),
        _ => {}
    }
    target
}
