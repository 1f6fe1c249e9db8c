//! Writes arrays to files.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::Write;

use crate::array::DArray;
use crate::element::dialect::safetensors::StoredType;
use crate::error::{Error, Kind, Result, short};
use crate::exchange::files::elements;
use crate::exchange::files::new_file::{put, write_error};
use crate::exchange::files::outgoing::{OutgoingArray, outgoing};
use crate::exchange::files::safetensors::header::{MAX_NBYTES, METADATA, packed_nbytes};
use crate::exchange::files::safetensors::packed::pack;
use crate::layout::{Layout, Order};
use crate::memory::LeaseKind;

/// The tensors begin at a multiple of this, so that a mapped file has them aligned for every type.
const ALIGN: usize = 64;

/// A tensor and its position in the file.
struct Planned<'a> {
    name: &'a str,
    outgoing: OutgoingArray,
    stored: StoredType,
    nbytes: usize,
    /// The offset from the end of the header.
    start: usize,
}

/// Writes arrays as a file, each under its name
/// ([`SaveOptions::metadata`](crate::exchange::files::SaveOptions::metadata) adds texts). Copies,
/// and counts, their bytes. Packed arrays need another copy each.
///
/// # Errors
///
/// `is_unsupported` for a dtype that the format does not have, two arrays of one name, an array
/// named `__metadata__`, or a header longer than the format allows; `is_io` if the writer fails;
/// `is_conflict` while another party holds Write; `is_place` on a device. Bytes written before an
/// error stay written.
pub fn write<N: AsRef<str>>(writer: impl Write, arrays: &[(N, DArray)]) -> Result<()> {
    encode(writer, &outgoing(arrays), &[])
}

/// Like `write`, with texts beside the arrays.
pub(in crate::exchange::files) fn encode<N: AsRef<str>>(
    mut writer: impl Write,
    arrays: &[(N, OutgoingArray)],
    metadata: &[(String, String)],
) -> Result<()> {
    let mut plans = plan(arrays)?;
    // Held until the end, so that no other party takes Write between two arrays.
    let leases = plans.iter().map(|plan| plan.outgoing.array.lease(LeaseKind::Pin));
    let _pins = leases.collect::<Result<Vec<_>>>()?;
    put(&mut writer, &header(arrays, &plans, metadata)?)?;
    plans.sort_by_key(|plan| plan.start);
    for Planned { name, outgoing, stored, nbytes, .. } in &plans {
        let written = if stored.is_packed() {
            packed(&mut writer, outgoing, stored.bits)
        } else {
            elements::write(&mut writer, outgoing, Order::RowMajor)
        };
        written.map_err(|error| error.within(format_args!("array {}", short(name))))?;
        if stored.is_packed() {
            outgoing.wrote(*nbytes);
        }
    }
    writer.flush().map_err(write_error)
}

fn packed(writer: &mut impl Write, outgoing: &OutgoingArray, bits: usize) -> Result<()> {
    let (bytes, _) = outgoing.to_array()?.to_order(Order::RowMajor)?.buffer()?;
    put(writer, &pack(&bytes.read()?, bits))
}

/// The position of each array: the widest elements first, so that all are aligned.
fn plan<N: AsRef<str>>(arrays: &[(N, OutgoingArray)]) -> Result<Vec<Planned<'_>>> {
    let mut plans = Vec::with_capacity(arrays.len());
    for (name, array) in arrays {
        let within = |error: Error| error.within(format_args!("array {}", short(name.as_ref())));
        let mut outgoing = array.with_plain_elements()?;
        let stored = StoredType::of(&outgoing.dtype).map_err(within)?;
        outgoing.dtype = stored.dtype.clone();
        let shape = outgoing.array.shape();
        let layout = Layout::contiguous(shape, stored.dtype.itemsize(), Order::RowMajor)?;
        let nbytes = packed_nbytes(&stored, &layout).map_err(|error| {
            within(Error::new(Kind::Unsupported, format!("{error}, as the format requires; add elements")))
        })?;
        plans.push(Planned { name: name.as_ref(), outgoing, stored, nbytes, start: 0 });
    }
    let mut order: Vec<usize> = (0..plans.len()).collect();
    order.sort_by_key(|&index| Reverse(plans[index].stored.dtype.alignment()));
    let mut start = 0;
    for index in order {
        plans[index].start = start;
        start += plans[index].nbytes;
    }
    Ok(plans)
}

/// The length, the JSON in the order of the arrays, and spaces up to the first tensor.
fn header<N: AsRef<str>>(
    arrays: &[(N, OutgoingArray)],
    plans: &[Planned<'_>],
    metadata: &[(String, String)],
) -> Result<Vec<u8>> {
    let mut json = String::from("{");
    let mut seen = HashSet::from([METADATA]);
    if !metadata.is_empty() {
        let mut keys = HashSet::new();
        let mut texts = Vec::with_capacity(metadata.len());
        for (key, text) in metadata {
            if !keys.insert(key) {
                return Err(Error::new(
                    Kind::Unsupported,
                    format!("there are two texts named {}", short(key)),
                ));
            }
            texts.push(format!("{}:{}", quoted(key), quoted(text)));
        }
        json += &format!("{}:{{{}}}", quoted(METADATA), texts.join(","));
    }
    for ((name, _), plan) in arrays.iter().zip(plans) {
        let name = name.as_ref();
        if !seen.insert(name) {
            let why =
                if name == METADATA { "which the format reserves for texts" } else { "which exists already" };
            return Err(Error::new(
                Kind::Unsupported,
                format!("an array cannot be named {}, {why}", short(name)),
            ));
        }
        let comma = if json.len() > 1 { "," } else { "" };
        let (start, end) = (plan.start, plan.start + plan.nbytes);
        let shape: Vec<String> = plan.outgoing.array.shape().iter().map(ToString::to_string).collect();
        json += &format!(
            "{comma}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{start},{end}]}}",
            quoted(name),
            plan.stored.name,
            shape.join(",")
        );
    }
    json.push('}');
    let length = (8 + json.len()).next_multiple_of(ALIGN) - 8;
    if length as u64 > MAX_NBYTES {
        return Err(Error::new(
            Kind::Unsupported,
            format!(
                "the header has {length} bytes; the format allows at most {MAX_NBYTES}; use shorter names"
            ),
        ));
    }
    let mut bytes = (length as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(json.as_bytes());
    bytes.resize(8 + length, b' ');
    Ok(bytes)
}

/// A string in JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
