//! Each loop against the blocks of the baseline, which the tests of `cast` compare with values:
//! lengths around a group, addresses that are not aligned, streams and threads, and lost elements
//! at every place.

use crossdock_testkit::seed;
use fastrand::Rng;

use super::*;
use crate::element::{ByteOrder, DType, TimeUnit};
use crate::kernel::cast::{Cast, CastPlan};
use crate::layout::{Layout, Order};

/// Kinds of every size that have loops among themselves.
const KINDS: [ScalarKind; 17] = [
    ScalarKind::Int8,
    ScalarKind::Int16,
    ScalarKind::Int32,
    ScalarKind::Int64,
    ScalarKind::UInt8,
    ScalarKind::UInt16,
    ScalarKind::UInt32,
    ScalarKind::UInt64,
    ScalarKind::Float16,
    ScalarKind::BFloat16,
    ScalarKind::Float8E4M3Fn,
    ScalarKind::Float8E5M2,
    ScalarKind::Float4E2M1Fn,
    ScalarKind::Float32,
    ScalarKind::Float64,
    ScalarKind::Complex64,
    ScalarKind::Complex128,
];

/// All loops of a level, with their scalars.
fn loops(level: Level, casting: Casting) -> Vec<(DirectCast, Scalar, Scalar)> {
    let native = |kind| Scalar::new(kind, ByteOrder::NATIVE).unwrap();
    let mut pairs: Vec<(Scalar, Scalar)> =
        KINDS.iter().flat_map(|&from| KINDS.iter().map(move |&to| (native(from), native(to)))).collect();
    pairs.extend(KINDS.iter().map(|&kind| (native(kind), native(kind).swapped())));
    let date = DType::datetime(TimeUnit::DAY).as_scalar().unwrap();
    pairs.push((date, date.swapped()));
    let direct = |(from, to)| {
        // SAFETY: clause 1 of `new`: the callers pass a level of `Level::available`.
        let direct = unsafe { DirectCast::new(from, to, casting, level) };
        direct.map(|direct| (direct, from, to))
    };
    pairs.into_iter().filter_map(direct).collect()
}

fn levels() -> impl Iterator<Item = Level> {
    Level::available().filter(|&level| level > Level::Baseline)
}

/// Numbers that fit into every kind that a loop converts this one to: halves from -4 to 4.
fn numbers(from: Scalar, len: usize, rng: &mut Rng) -> Vec<u8> {
    if !is_float(from) {
        return (0..len * from.itemsize()).map(|_| rng.u8(..)).collect();
    }
    let one = |rng: &mut Rng| {
        let number = f32::from(rng.i8(-8..=8)) / 2.0;
        let number = if number == 0.0 { 1.0 } else { number };
        blocks(scalar(ScalarKind::Float32), &number.to_ne_bytes(), from, Casting::Saturating).unwrap()
    };
    let few: Vec<Vec<u8>> = (0..32).map(|_| one(rng)).collect();
    (0..len).flat_map(|_| rng.choice(&few).unwrap().clone()).collect()
}

fn scalar(kind: ScalarKind) -> Scalar {
    Scalar::new(kind, ByteOrder::NATIVE).unwrap()
}

fn is_float(scalar: Scalar) -> bool {
    let name = scalar.kind().to_string();
    name.contains("float") || name.contains("complex")
}

/// The elements converted by the blocks of the baseline; `None` if one was refused.
fn blocks(from: Scalar, elements: &[u8], to: Scalar, casting: Casting) -> Option<Vec<u8>> {
    let len = elements.len() / from.itemsize();
    let layout = |scalar: Scalar| Layout::contiguous(&[len], scalar.itemsize(), Order::RowMajor).unwrap();
    let mut out = vec![0; len * to.itemsize()];
    let cast = Cast { casting, level: Level::Baseline };
    let (from_dtype, to_dtype) = (DType::from(from), DType::from(to));
    // SAFETY: both vectors hold `len` contiguous elements, as the layouts say.
    let done = unsafe {
        cast.run(elements.as_ptr(), &from_dtype, &layout(from), out.as_mut_ptr(), &to_dtype, &layout(to))
    };
    done.is_ok().then_some(out)
}

/// The elements converted by the loop, from and to addresses beyond an alignment of 64. The bytes
/// around the result must stay.
fn converted(
    direct: &DirectCast,
    (from, elements): (Scalar, &[u8]),
    to: Scalar,
    beyond: [usize; 2],
) -> Option<Vec<u8>> {
    let len = elements.len() / from.itemsize();
    let at = |bytes: &[u8], beyond: usize| bytes.as_ptr().addr().wrapping_neg() % 64 + beyond;
    let mut source = vec![0x5a; elements.len() + 192];
    let first = at(&source, beyond[0]);
    source[first..][..elements.len()].copy_from_slice(elements);
    let mut target = vec![0xa5; len * to.itemsize() + 192];
    let place = at(&target, beyond[1]);
    let (src, dst) = (source[first..].as_ptr(), target[place..].as_mut_ptr());
    // SAFETY: both vectors hold `len` elements from there on, and only this function accesses them.
    let whole = unsafe { direct.run(src, dst, len) };
    let (before, rest) = target.split_at(place);
    let (result, after) = rest.split_at(len * to.itemsize());
    assert!(before.iter().chain(after).all(|&byte| byte == 0xa5), "{from:?} to {to:?}: around the result");
    whole.then(|| result.to_vec())
}

#[test]
fn every_loop_converts_as_blocks_do_at_every_length_and_address() {
    let mut rng = Rng::with_seed(seed());
    for (level, casting) in
        levels().flat_map(|level| [(level, Casting::Checked), (level, Casting::Saturating)])
    {
        let loops = loops(level, casting);
        assert!(loops.len() >= 50, "{} loops at {level:?}", loops.len());
        for (direct, from, to) in &loops {
            for len in [0, 1, 2, 7, 16, 63, 64, 65, 127, 128, 200] {
                let elements = numbers(*from, len, &mut rng);
                let beyond = [rng.usize(0..64), rng.usize(0..64)];
                let expected = blocks(*from, &elements, *to, casting).unwrap();
                let got = converted(direct, (*from, &elements), *to, beyond);
                assert_eq!(got, Some(expected), "{from:?} to {to:?} at {level:?}, {len} elements");
            }
        }
    }
}

#[test]
fn large_arrays_are_streamed_by_threads_wherever_they_begin() {
    let mut rng = Rng::with_seed(seed());
    for level in levels() {
        for (from, to) in [
            (ScalarKind::Float32, ScalarKind::Float16),
            (ScalarKind::UInt8, ScalarKind::Float32),
            (ScalarKind::Float32, ScalarKind::Float64),
            (ScalarKind::Complex64, ScalarKind::Complex128),
        ] {
            let (from, to) = (scalar(from), scalar(to));
            // SAFETY: clause 1 of `new`: the level is one of `Level::available`.
            let Some(direct) = (unsafe { DirectCast::new(from, to, Casting::Checked, level) }) else {
                assert!(to.kind() == ScalarKind::Float16 && !cfg!(target_arch = "x86_64"), "{to:?}");
                continue;
            };
            let len = STREAMED / to.itemsize() + rng.usize(1..300);
            let elements = numbers(from, len, &mut rng);
            let expected = blocks(from, &elements, to, Casting::Checked);
            for beyond in [0, to.itemsize(), 1] {
                let got = converted(&direct, (from, &elements), to, [rng.usize(0..64), beyond]);
                assert!(got == expected, "{from:?} to {to:?} at {level:?}, {beyond} bytes beyond");
            }
        }
    }
}

#[test]
fn a_lost_element_is_found_at_every_place() {
    let mut rng = Rng::with_seed(seed());
    let mut found = 0;
    for level in levels() {
        for (direct, from, to) in &loops(level, Casting::Checked) {
            if !is_float(*from) || from.kind() == to.kind() || from.itemsize() <= to.itemsize() {
                continue;
            }
            let greatest = match from.kind() {
                ScalarKind::Float32 => f32::MAX.to_ne_bytes().to_vec(),
                ScalarKind::Float64 => f64::MAX.to_ne_bytes().to_vec(),
                other => panic!("{other:?} is narrowed by no loop"),
            };
            for len in [1, 64, 130] {
                let good = numbers(*from, len, &mut rng);
                for at in 0..len {
                    let mut elements = good.clone();
                    elements[at * from.itemsize()..][..from.itemsize()].copy_from_slice(&greatest);
                    assert!(blocks(*from, &elements, *to, Casting::Checked).is_none());
                    let got = converted(direct, (*from, &elements), *to, [0, 0]);
                    assert_eq!(got, None, "{from:?} to {to:?} at {level:?}, {at} of {len}");
                    found += 1;
                }
            }
        }
    }
    println!("{found} lost elements found");
    assert!(found > 0 || levels().next().is_none());
}

#[test]
fn a_loop_swaps_bytes_in_place() {
    for level in levels() {
        let from = scalar(ScalarKind::UInt32);
        // SAFETY: clause 1 of `new`: the level is one of `Level::available`.
        let direct = unsafe { DirectCast::new(from, from.swapped(), Casting::Checked, level) }.unwrap();
        let mut words: Vec<u32> = (0..150).collect();
        let ptr = words.as_mut_ptr().cast::<u8>();
        // SAFETY: clauses 1 and 2 of `run`: the vector has 150 words, each of which replaces
        // itself.
        assert!(unsafe { direct.run(ptr, ptr, 150) });
        assert!(words.iter().zip(0_u32..).all(|(&word, number)| word == number.swap_bytes()));
    }
}

#[test]
fn plans_know_every_pair_of_a_loop() {
    // After a refusal a plan finds the element.
    for level in levels() {
        for (_, from, to) in loops(level, Casting::Checked) {
            // SAFETY: clause 1 of `new`: the level is one of `Level::available`.
            assert!(unsafe { CastPlan::new(from, to, Casting::Checked, level) }.is_some(), "{from:?} {to:?}");
        }
    }
}
