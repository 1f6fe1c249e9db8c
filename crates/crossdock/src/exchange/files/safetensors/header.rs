//! The part in front of the tensors: parses JSON to checked ranges, and formats it.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use crate::element::dialect::safetensors::StoredType;
use crate::error::{Error, Kind, Result, short};
use crate::layout::{Layout, Order};

/// The longest header that the format allows.
pub(super) const MAX_NBYTES: u64 = 100_000_000;

/// The name of the entry that is not a tensor.
pub(super) const METADATA: &str = "__metadata__";

/// One tensor, checked.
#[derive(Debug)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) stored: StoredType,
    pub(super) layout: Layout,
    /// The range within the file.
    pub(super) range: Range<usize>,
}

/// The bytes of the elements in a file.
pub(super) fn packed_nbytes(stored: &StoredType, layout: &Layout) -> Result<usize> {
    if !stored.is_packed() {
        return Ok(layout.nbytes());
    }
    let (len, bits) = (layout.len(), stored.bits);
    // The layout has one byte per element and fits an `isize`, so the product fits a `u128`.
    let total = len as u128 * bits as u128;
    if !total.is_multiple_of(8) {
        return Err(malformed(format!("{len} elements of {bits} bits are not a whole number of bytes")));
    }
    Ok((total / 8) as usize)
}

/// The header of a file.
#[derive(Debug, Default)]
pub(super) struct SafetensorsHeader {
    pub(super) tensors: Vec<Tensor>,
    /// Tensors of a type that this library does not know.
    pub(super) refused: Vec<(String, Error)>,
    pub(super) metadata: Vec<(String, String)>,
}

/// The length of the header, from the first 8 bytes of a file of `nbytes` bytes.
pub(super) fn length(start: &[u8], nbytes: usize) -> Result<usize> {
    let Some(&length) = start.first_chunk() else {
        return Err(malformed(format!(
            "the file is truncated: it has {nbytes} bytes, but the length of the header alone takes 8; save \
            the tensors again"
        )));
    };
    let length = u64::from_le_bytes(length);
    if length > MAX_NBYTES {
        return Err(Error::new(
            Kind::Unsupported,
            format!("the header has {length} bytes; at most {MAX_NBYTES} are allowed"),
        ));
    }
    let left = nbytes - 8;
    if length > left as u64 {
        return Err(malformed(format!(
            "the file is truncated or damaged: its header has {length} bytes, but only {left} follow; save \
            the tensors again"
        )));
    }
    // `length` is at most `left`, which is a `usize`.
    Ok(length as usize)
}

impl SafetensorsHeader {
    /// Reads the JSON of a file of `nbytes` bytes.
    pub(super) fn parse(json: &[u8], nbytes: usize) -> Result<Self> {
        if json.first() != Some(&b'{') {
            return Err(malformed("the header is not a JSON object: it does not begin with a brace".into()));
        }
        let text = std::str::from_utf8(json).map_err(|error| {
            malformed(format!("the header is not UTF-8 from its byte {} on", error.valid_up_to()))
        })?;
        let root: Root = serde_json::from_str(text)
            .map_err(|error| malformed(format!("the header is invalid: {error}")))?;
        let begin = 8 + json.len();
        let (mut tensors, mut refused, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        for (name, info) in root.tensors {
            let within = |error: Error| error.within(format_args!("tensor {}", short(&name)));
            let range = info.range(begin, nbytes).map_err(within)?;
            ranges.push((range.clone(), name.clone()));
            match info.check(range.len()).map_err(within) {
                Ok((stored, layout)) => tensors.push(Tensor { name, stored, layout, range }),
                // A type newer than this library must not block access to the other tensors.
                Err(error) if error.is_unsupported() => refused.push((name, error)),
                Err(error) => return Err(error),
            }
        }
        check_gapless(ranges, begin, nbytes)?;
        Ok(Self { tensors, refused, metadata: root.metadata })
    }
}

/// Checks that the tensors cover all bytes after the header, each once.
fn check_gapless(mut ranges: Vec<(Range<usize>, String)>, begin: usize, nbytes: usize) -> Result<()> {
    ranges.sort_by_key(|(range, _)| (range.start, range.end));
    let mut end = begin;
    for (range, name) in ranges {
        let start = range.start;
        if start != end {
            let (what, many) = if start > end {
                ("follows a gap of", start - end)
            } else {
                ("overlaps the previous one by", end - start)
            };
            return Err(malformed(format!(
                "tensor {} at byte {start} of the file {what} {many} bytes",
                short(&name)
            )));
        }
        end = range.end;
    }
    if end != nbytes {
        return Err(malformed(format!(
            "the tensors end at byte {end}, but the file has {nbytes} bytes: {} bytes belong to no tensor",
            nbytes - end
        )));
    }
    Ok(())
}

fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}

/// The header's description of a tensor.
#[derive(Deserialize)]
struct Info {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

impl Info {
    /// The byte range of the tensor in a file of `nbytes` bytes, counted from byte `begin`.
    fn range(&self, begin: usize, nbytes: usize) -> Result<Range<usize>> {
        let [start, end] = self.data_offsets;
        let available = (nbytes - begin) as u64;
        if start > end || end > available {
            return Err(malformed(format!(
                "the file is truncated or damaged: its data_offsets are {start} and {end}, but only \
                {available} bytes follow the header"
            )));
        }
        // Both offsets are at most `available`.
        Ok(begin + start as usize..begin + end as usize)
    }

    /// The dtype and layout of the tensor in a range of `nbytes` bytes.
    fn check(self, nbytes: usize) -> Result<(StoredType, Layout)> {
        let stored = StoredType::named(&self.dtype)?;
        let shape: Option<Vec<usize>> = self.shape.iter().map(|&len| usize::try_from(len).ok()).collect();
        let lies = |error: Error| match error {
            error if error.is_unsupported() => error,
            _ => malformed(format!(
                "the header is invalid: {} elements of shape {:?} exceed the address space",
                stored.name, self.shape
            )),
        };
        let shape = shape.ok_or_else(|| lies(malformed(String::new())))?;
        let layout = Layout::contiguous(&shape, stored.dtype.itemsize(), Order::RowMajor).map_err(lies)?;
        let wanted = packed_nbytes(&stored, &layout)?;
        if nbytes != wanted {
            return Err(malformed(format!(
                "{} elements of shape {shape:?} take {wanted} bytes, but its data_offsets cover {nbytes}",
                stored.name,
            )));
        }
        Ok((stored, layout))
    }
}

/// The whole object, with all entries in their order: a map would lose entries with duplicate
/// names.
#[derive(Default)]
struct Root {
    tensors: Vec<(String, Info)>,
    metadata: Vec<(String, String)>,
}

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Root;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Root, A::Error> {
                let (mut root, mut seen) = (Root::default(), HashSet::new());
                while let Some(name) = map.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(twice(&name));
                    }
                    if name == METADATA {
                        root.metadata = map.next_value::<Texts>()?.0;
                    } else {
                        let info = map.next_value()?;
                        root.tensors.push((name, info));
                    }
                }
                Ok(root)
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// Texts under names.
struct Texts(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Texts, A::Error> {
                let (mut pairs, mut seen) = (Vec::new(), HashSet::new());
                while let Some((name, text)) = map.next_entry::<String, String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(twice(&name));
                    }
                    pairs.push((name, text));
                }
                Ok(Texts(pairs))
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}

fn twice<E: serde::de::Error>(name: &str) -> E {
    E::custom(format_args!("the name {} occurs twice", short(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_order() {
        let json = br#"{"z":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"__metadata__":{"b":"1","a":"2"},
            "a":{"dtype":"F4","shape":[2,1],"data_offsets":[0,1],"more":null}}   "#;
        let header = SafetensorsHeader::parse(json, 8 + json.len() + 3).unwrap();
        let names: Vec<&str> = header.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
        assert_eq!(names, ["z", "a"]);
        assert_eq!(header.metadata, [("b".into(), "1".into()), ("a".into(), "2".into())]);
        assert_eq!(header.tensors[1].range, 8 + json.len()..9 + json.len());
    }
}
