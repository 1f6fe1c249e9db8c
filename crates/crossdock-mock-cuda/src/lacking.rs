//! A copy of the driver that lacks functions, as an old driver does: their symbols are made local,
//! so that lookups by name fail.

/// The type of the section with the symbols that the loader looks up.
const DYNAMIC_SYMBOLS: u32 = 11;

/// A section of a 64-bit shared library.
struct Section {
    kind: u32,
    offset: usize,
    nbytes: usize,
    /// The index of the associated section.
    link: usize,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(number(bytes, at)?)).ok()
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    number(bytes, at).map(u32::from_le_bytes)
}

fn section(bytes: &[u8], index: usize) -> Option<Section> {
    const NBYTES: usize = 64;
    let at = word(bytes, 40)? + index * NBYTES;
    Some(Section {
        kind: half(bytes, at + 4)?,
        offset: word(bytes, at + 24)?,
        nbytes: word(bytes, at + 32)?,
        link: half(bytes, at + 40)? as usize,
    })
}

/// Hides a function of a library; `false` if the library has none of that name.
pub(crate) fn hide(bytes: &mut [u8], function: &str) -> bool {
    match symbol(bytes, function) {
        // The upper half is the binding of the symbol: 0 is local.
        Some(at) => {
            bytes[at + 4] &= 0x0f;
            true
        }
        None => false,
    }
}

/// The offset of a function's symbol.
fn symbol(bytes: &[u8], function: &str) -> Option<usize> {
    const NBYTES: usize = 24;
    let count = usize::from(u16::from_le_bytes(number(bytes, 60)?));
    let symbols = (0..count).filter_map(|index| section(bytes, index));
    let symbols = symbols.into_iter().find(|section| section.kind == DYNAMIC_SYMBOLS)?;
    let names = section(bytes, symbols.link)?.offset;
    let mut places = (symbols.offset..symbols.offset + symbols.nbytes).step_by(NBYTES);
    places.find(|&place| {
        let name = half(bytes, place).and_then(|name| bytes.get(names + name as usize..));
        name.and_then(|name| name.strip_prefix(function.as_bytes()))
            .is_some_and(|rest| rest.first() == Some(&0))
    })
}
