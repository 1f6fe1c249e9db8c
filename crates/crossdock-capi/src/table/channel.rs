//! Tables over channels.

use crossdock::bindings::channel::table;
use crossdock::exchange::files::arrow_ipc::IpcFile;
use crossdock::table::RecordBatch;

use crate::array::{XdArray, array_of};
use crate::channel::{XdReceiver, XdSender, duration};
use crate::error::Result;
use crate::foreign::given;
use crate::guard::{ErrorOut, fallible};
use crate::handle::Handle;
use crate::table::reader::{XdReader, batches_of};

/// Copies batches into a slot, as one table, and sends it.
///
/// # Safety
///
/// `batches` is null or points to `count` pointers, each null or a live batch, which nothing
/// writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_sender_send_table(
    sender: Option<&XdSender>,
    count: usize,
    batches: *const Option<&RecordBatch>,
    timeout_ms: i64,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let sender = given(sender, "sender")?;
        // SAFETY: `# Safety`: `batches` is null or points to `count` pointers, each null or a live
        // batch, which nothing writes during the call.
        let mut batches = unsafe { batches_of(count, batches) }?;
        sender.lock().send_table(&mut batches, duration(timeout_ms))?;
        Ok(true)
    })
}

/// The next message, which is a table; null without an error after the timeout.
#[unsafe(no_mangle)]
pub extern "C" fn xd_receiver_receive_table(
    receiver: Option<&XdReceiver>,
    timeout_ms: i64,
    error: ErrorOut<'_>,
) -> Handle<XdReader> {
    fallible(error, || {
        let table =
            given(receiver, "receiver")?.receive(|receiver| receiver.receive_table(duration(timeout_ms)))?;
        table.map_or(Ok(None), reader_of)
    })
}

/// The table that a message is; null without an error for an array.
#[unsafe(no_mangle)]
pub extern "C" fn xd_reader_from_message(message: Option<&XdArray>, error: ErrorOut<'_>) -> Handle<XdReader> {
    fallible(error, || table(array_of(message, "message")?)?.map_or(Ok(None), reader_of))
}

fn reader_of(file: IpcFile) -> Result<Handle<XdReader>> {
    XdReader::hand_over(Box::new(file.reader()))
}
