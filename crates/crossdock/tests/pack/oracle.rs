//! A second parser of templates, in the most obvious way: it splits the text into parts, and
//! computes with wide integers.

use crossdock::bindings::dialect::pack;
use fastrand::Rng;

/// The result for a template.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    /// The size of an item, and its components.
    Item(i128, Vec<pack::Component>),
    /// The offset of the invalid part.
    ErrorAt(usize),
}

const LIMIT: i128 = isize::MAX as i128;

pub(crate) fn read(format: &[u8]) -> Answer {
    let bar = usize::from(format.starts_with(b"|"));
    // A part is a byte that cannot follow another one, with all bytes that can follow it.
    let mut parts: Vec<(usize, Vec<u8>)> = Vec::new();
    for (at, &byte) in format.iter().enumerate().skip(bar) {
        match parts.last_mut() {
            Some((_, part)) if !part.ends_with(b" ") && b"!_<>0123456789".contains(&byte) => part.push(byte),
            _ if b" \t\n\x0b\x0c\r".contains(&byte) => parts.push((at, vec![b' '])),
            _ => parts.push((at, vec![byte])),
        }
    }
    let (mut size, mut strictest, mut components) = (0_i128, 1, Vec::new());
    let mut last = bar;
    for (at, part) in parts {
        if part == b" " {
            continue;
        }
        last = at;
        let text = String::from_utf8_lossy(&part[1..]).into_owned();
        let digits = text.trim_start_matches(['!', '_', '<', '>']);
        let modifiers = &text[..text.len() - digits.len()];
        let behind = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let digits = &digits[..digits.len() - behind.len()];
        let letter = part[0];
        let integer = b"sSiIlLqQjJ".contains(&letter);
        let orders = modifiers.matches(['<', '>']).count();
        let width = match letter {
            b'c' | b'C' | b'x' => 1,
            b's' | b'S' | b'n' | b'v' => 2,
            b'i' | b'I' | b'N' | b'V' | b'f' | b'e' | b'g' => 4,
            b'l' | b'L' if !modifiers.contains(['!', '_']) => 4,
            b'l' | b'L' => size_of::<std::ffi::c_long>(),
            b'q' | b'Q' | b'd' | b'E' | b'G' => 8,
            b'j' | b'J' => size_of::<usize>(),
            _ => return Answer::ErrorAt(at),
        };
        if !modifiers.is_empty() && !integer || orders > 1 {
            return Answer::ErrorAt(at);
        }
        let alignment = if letter == b'x' { 1 } else { width as i128 };
        if bar == 1 {
            size = (size + alignment - 1) / alignment * alignment;
        }
        let count = match digits.trim_start_matches('0') {
            "" if digits.is_empty() => 1,
            "" => 0,
            long if long.len() > 25 => return Answer::ErrorAt(at),
            count => count.parse::<i128>().unwrap(),
        };
        if letter != b'x' {
            strictest = strictest.max(alignment);
            components.push(pack::Component {
                format: letter,
                native_size: modifiers.contains(['!', '_']),
                little_endian: !(modifiers.contains('>') || b"nNgG".contains(&letter)),
                offset: size as usize,
                size: width,
                repeat: count as usize,
            });
        }
        size += count * width as i128;
        if size > LIMIT {
            return Answer::ErrorAt(at);
        }
        if !behind.is_empty() {
            return Answer::ErrorAt(at + part.len() - behind.len());
        }
    }
    if bar == 1 {
        size = (size + strictest - 1) / strictest * strictest;
        if size > LIMIT {
            return Answer::ErrorAt(last);
        }
    }
    Answer::Item(size, components)
}

const INTEGERS: &[u8] = b"sSiIlLqQjJ";
const OTHERS: &[u8] = b"cCnvNVfegdEGx";

fn choice(rng: &mut Rng, bytes: &[u8]) -> u8 {
    bytes[rng.usize(0..bytes.len())]
}

/// A template that is valid most of the time. `small` ones have items that fit in memory.
pub(crate) fn template(rng: &mut Rng, small: bool) -> Vec<u8> {
    let mut format = Vec::new();
    if rng.bool() {
        format.push(b'|');
    }
    for _ in 0..rng.usize(0..10) {
        while rng.u8(0..12) == 0 {
            format.push(choice(rng, b" \t\n\x0b\x0c\r"));
        }
        if rng.bool() {
            format.push(choice(rng, INTEGERS));
            for _ in 0..rng.usize(0..3) {
                format.push(choice(rng, b"!_"));
            }
            if rng.bool() {
                format.push(choice(rng, b"<>"));
            }
            if rng.u8(0..4) == 0 {
                format.push(choice(rng, b"!_"));
            }
        } else {
            format.push(choice(rng, OTHERS));
        }
        match rng.u8(0..12) {
            0 => format.push(b'0'),
            1..4 => format.extend(rng.u8(0..20).to_string().into_bytes()),
            4 if rng.bool() => format.extend(format!("00{}", rng.u8(0..9)).into_bytes()),
            5 if !small => {
                format.extend((rng.u128(..) >> rng.u8(56..128)).to_string().into_bytes());
            }
            _ => {}
        }
    }
    format
}

/// The same with an extra, missing or changed byte.
pub(crate) fn damaged(rng: &mut Rng, mut format: Vec<u8>) -> Vec<u8> {
    let byte = if rng.bool() { rng.u8(..) } else { choice(rng, b"!_<>|0123456789 *?azwxBhH(") };
    let at = rng.usize(0..=format.len());
    match rng.u8(0..3) {
        0 => format.insert(at, byte),
        1 if at < format.len() => format[at] = byte,
        2 if at < format.len() => drop(format.remove(at)),
        _ => format.push(byte),
    }
    format
}
