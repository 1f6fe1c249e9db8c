//! `--verify`: reads the output back, and compares it with the input, in parts.

use crossdock::bindings::files::{NewFile, OutgoingArray, release_pages};
use crossdock::exchange::files::{Contents, OpenOptions};
use crossdock::layout::Order;
use crossdock::view::Request;
use crossdock::{Casting, DArray};

use crate::diff::tiles::Tiles;
use crate::failure::{Failure, Result};
use crate::progress;

/// Compares the complete file with what was to be written.
pub(super) fn compare(
    file: &NewFile,
    options: OpenOptions,
    arrays: &[(String, OutgoingArray)],
) -> Result<()> {
    let path = file.path().map_err(|error| {
        Failure::new(format_args!("it could not be read back: {}", crossdock::bindings::system_text(&error)))
    })?;
    let contents = options.guarded(true).limit(u64::MAX).open_all(path)?;
    let nbytes = arrays.iter().map(|(_, outgoing)| outgoing.nbytes().unwrap_or(0));
    let bar = progress::comparing(nbytes.sum());
    let compared = arrays.iter().try_for_each(|(name, outgoing)| {
        let written = written(&contents, name)?;
        match same(outgoing, &written, |nbytes| bar.inc(nbytes as u64))? {
            true => Ok(()),
            false => Err(Failure::new(format_args!(
                "array {name:?} was read back with other elements than were written; check the disk and \
                its messages in the system's log"
            ))),
        }
    });
    bar.finish_and_clear();
    compared
}

fn written(contents: &Contents, name: &str) -> Result<DArray> {
    let entry = if contents.format().has_names() { contents.get(name)? } else { contents.single()? };
    Ok(entry.open()?)
}

/// Whether the array in the file has the bytes of the converted elements.
fn same(outgoing: &OutgoingArray, written: &DArray, tick: impl Fn(usize)) -> Result<bool> {
    let source = outgoing.array();
    if written.len() != source.len() {
        return Ok(false);
    }
    // Images have no axis of length 1, and arrays of sub-arrays have more axes.
    if written.shape() != source.shape() {
        let all = outgoing.to_array()?.to_order(Order::RowMajor)?;
        return Ok(bytes(&all)? == bytes(written)?);
    }
    let tiles = Tiles::new(source, written);
    for number in 0..tiles.len() {
        let origin = tiles.origin(number);
        let (part, found) = (tiles.part(source, &origin)?, tiles.part(written, &origin)?);
        // The file may have another byte order.
        let expected = outgoing.convert(&part, Order::RowMajor)?;
        let expected = if expected.dtype() == found.dtype() {
            expected
        } else {
            expected.cast(found.dtype(), Order::RowMajor, Casting::Checked)?
        };
        if bytes(&expected)? != bytes(&found)? {
            return Ok(false);
        }
        tick(found.nbytes());
        release_pages(&part);
        release_pages(&found);
    }
    Ok(true)
}

fn bytes(array: &DArray) -> Result<Vec<u8>> {
    let view = array.to_order(Order::RowMajor)?.export(&Request::pin());
    Ok(view.map_err(crossdock::Error::from)?.to_bytes()?)
}
