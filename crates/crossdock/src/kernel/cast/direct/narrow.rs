//! Direct conversions between `f32` and narrower floats, by the registers of x86-64.

use std::arch::x86_64::{__m256i, __m512i};

use crate::kernel::cast::by_64::{self, registers};
use crate::kernel::cast::direct::group::{GROUP, GroupCast, any, each};
use crate::kernel::cast::direct::registers::CastRegisters;
use crate::kernel::cast::narrow::{LostToNarrow, ToBrain, ToNarrow8, half_by_cpu};
use crate::kernel::cast::step::StepArgs;
use crate::kernel::cast::table::FromTable;
use crate::kernel::cpu::Level;

/// Groups of eight lanes.
macro_rules! eights {
    ($from:expr, $convert:path, $zero:expr) => {{
        let mut to = [$zero; GROUP];
        for (to, from) in to.as_chunks_mut::<8>().0.iter_mut().zip($from.as_chunks::<8>().0) {
            // SAFETY: clause 1 of `convert`: the CPU has AVX2, and F16C with it.
            *to = unsafe { $convert(*from) };
        }
        to
    }};
}

/// Encodes a float of at most 8 bits; refuses what is lost if `CHECKED`.
pub(super) struct ToByte<const CHECKED: bool>;

impl<const CHECKED: bool> GroupCast for ToByte<CHECKED> {
    type From = f32;
    type To = u8;

    #[inline(always)]
    unsafe fn convert<R: CastRegisters>(args: &StepArgs, from: &[f32; GROUP]) -> [u8; GROUP] {
        if R::LEVEL != Level::Avx512 {
            return each::<ToNarrow8>(args, from);
        }
        let words = registers!(*from, [f32; GROUP] => [__m512i; 4]);
        // SAFETY: clause 1 of `convert`: the CPU has AVX-512.
        let format = unsafe { by_64::byte_format(&args.narrow) };
        // SAFETY: clause 1 of `convert`: the CPU has AVX-512.
        let packed = unsafe { by_64::to_byte(&format, words) };
        registers!(packed, __m512i => [u8; GROUP])
    }

    #[inline(always)]
    fn is_lost(args: &StepArgs, from: &[f32; GROUP]) -> bool {
        CHECKED && any::<LostToNarrow>(args, from)
    }
}

/// Encodes a `float16`; refuses what is lost if `CHECKED`.
pub(super) struct ToHalf<const CHECKED: bool>;

impl<const CHECKED: bool> GroupCast for ToHalf<CHECKED> {
    type From = f32;
    type To = u16;

    #[inline(always)]
    unsafe fn convert<R: CastRegisters>(_: &StepArgs, from: &[f32; GROUP]) -> [u16; GROUP] {
        match R::LEVEL {
            Level::Avx512 => {
                let [a, b, c, d] = registers!(*from, [f32; GROUP] => [__m512i; 4]);
                // SAFETY: clause 1 of `convert`: the CPU has AVX-512.
                let half = |words| unsafe { by_64::to_half(words) };
                registers!([half(a), half(b), half(c), half(d)], [__m256i; 4] => [u16; GROUP])
            }
            _ => eights!(from, half_by_cpu::to_eight, 0_u16),
        }
    }

    #[inline(always)]
    fn is_lost(args: &StepArgs, from: &[f32; GROUP]) -> bool {
        CHECKED && any::<LostToNarrow>(args, from)
    }
}

/// Encodes a `bfloat16`; refuses what is lost if `CHECKED`.
pub(super) struct ToBrains<const CHECKED: bool>;

impl<const CHECKED: bool> GroupCast for ToBrains<CHECKED> {
    type From = f32;
    type To = u16;

    #[inline(always)]
    unsafe fn convert<R: CastRegisters>(args: &StepArgs, from: &[f32; GROUP]) -> [u16; GROUP] {
        if R::LEVEL != Level::Avx512 {
            return each::<ToBrain>(args, from);
        }
        let [a, b, c, d] = registers!(*from, [f32; GROUP] => [__m512i; 4]);
        // SAFETY: clause 1 of `convert`: the CPU has AVX-512.
        let brain = |a, b| unsafe { by_64::to_brain(a, b) };
        registers!([brain(a, b), brain(c, d)], [__m512i; 2] => [u16; GROUP])
    }

    #[inline(always)]
    fn is_lost(args: &StepArgs, from: &[f32; GROUP]) -> bool {
        CHECKED && any::<LostToNarrow>(args, from)
    }
}

/// Decodes a float of at most 8 bits.
pub(super) struct FromByte;

impl GroupCast for FromByte {
    type From = u8;
    type To = f32;

    #[inline(always)]
    unsafe fn convert<R: CastRegisters>(args: &StepArgs, from: &[u8; GROUP]) -> [f32; GROUP] {
        if R::LEVEL != Level::Avx512 {
            return each::<FromTable>(args, from);
        }
        // SAFETY: clause 1 of `convert`: the CPU has AVX-512.
        let tables = unsafe { by_64::byte_tables(args.table) };
        let patterns = registers!(*from, [u8; GROUP] => __m512i);
        // SAFETY: clause 1 of `convert`: the CPU has AVX-512.
        let words = unsafe { by_64::from_byte(&tables, patterns) };
        registers!(words, [__m512i; 4] => [f32; GROUP])
    }
}

/// Decodes a `float16`.
pub(super) struct FromHalves;

impl GroupCast for FromHalves {
    type From = u16;
    type To = f32;

    #[inline(always)]
    unsafe fn convert<R: CastRegisters>(_: &StepArgs, from: &[u16; GROUP]) -> [f32; GROUP] {
        match R::LEVEL {
            Level::Avx512 => {
                let [a, b, c, d] = registers!(*from, [u16; GROUP] => [__m256i; 4]);
                // SAFETY: clause 1 of `convert`: the CPU has AVX-512.
                let wide = |half| unsafe { by_64::from_half(half) };
                registers!([wide(a), wide(b), wide(c), wide(d)], [__m512i; 4] => [f32; GROUP])
            }
            _ => eights!(from, half_by_cpu::from_eight, 0_f32),
        }
    }
}
