//! Tables over a channel: a message whose bytes are an Arrow IPC stream, in a slot.

use std::io::{self, ErrorKind, Write};
use std::time::Duration;

use crate::array::DArray;
use crate::buffer::ShareGuard;
use crate::element::DType;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::arrow_ipc::IpcFile;
use crate::exchange::files::set_tables::write_checked;
use crate::exchange::protocol::channel::{Loan, Receiver, Sender};
use crate::table::RecordBatchReader;

/// The field of the records that are a table's bytes.
const FIELD: &str = "arrow_ipc_stream";

impl Sender {
    /// Writes a table into a slot, as an Arrow IPC stream, and sends it: the batches of a reader,
    /// which the slot must have room for. Copies, and counts, the bytes of the columns, once;
    /// receivers copy none.
    ///
    /// ```
    /// use crossdock::Array;
    /// use crossdock::exchange::protocol::channel::{Channel, ChannelOptions};
    /// use crossdock::table::{Batches, Column, RecordBatch};
    ///
    /// let channel = Channel::new(&ChannelOptions::new(4, 1 << 16))?;
    /// let (mut receiver, mut sender) = (channel.receiver()?, channel.sender()?);
    /// let price = Column::from_array(Array::from_vec(vec![1.5f64, 2.5], [2])?)?;
    /// let batch = RecordBatch::from_columns([("price", price)])?;
    /// sender.send_table(&mut Batches::from_iter([batch]), None)?;
    /// let trades = receiver.receive_table(None)?.expect("there is no timeout");
    /// let price = trades.batch(0)?.column_named("price")?; // in the slot
    /// assert_eq!(price.array()?.get(&[1])?.as_f64(), Some(2.5));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Sender::loan`], and `is_bounds` if a slot is too small; as
    /// [`IpcOptions::write_stream`](crate::exchange::files::arrow_ipc::IpcOptions::write_stream).
    pub fn send_table(
        &mut self,
        reader: &mut dyn RecordBatchReader,
        timeout: Option<Duration>,
    ) -> Result<()> {
        let loan = loan_for_table(self, timeout)?;
        send_table_in(loan, reader)
    }
}

/// A slot for a table, which [`send_table_in`] fills.
///
/// # Errors
///
/// As [`Sender::loan`].
pub fn loan_for_table(sender: &mut Sender, timeout: Option<Duration>) -> Result<Loan> {
    let room = sender.slot_nbytes();
    let dtype = DType::packed_record([(FIELD, DType::U8)])?;
    sender.loan(&dtype, &[room], timeout)
}

/// Writes a table into a slot of [`loan_for_table`], and sends it.
///
/// # Errors
///
/// As [`Sender::send_table`], without those of the loan.
pub fn send_table_in(mut loan: Loan, reader: &mut dyn RecordBatchReader) -> Result<()> {
    let room = loan.array().nbytes();
    let nbytes = {
        let (buffer, _) = loan.array().buffer()?;
        let mut writer = SlotWriter { guard: buffer.share()?, at: 0, is_full: false };
        match write_checked(&mut writer, reader, true) {
            Err(_) if writer.is_full => {
                let text = format!(
                    "the table does not fit into a slot, which has {room} bytes; send fewer rows at a time, or make \
                    the channel with larger slots"
                );
                return Err(Error::new(Kind::Bounds, text));
            }
            written => written.map(|_| writer.at)?,
        }
    };
    loan.shorten(nbytes)?;
    loan.send().map_err(|rejected| rejected.error)
}

impl Receiver {
    /// The next message, which is a table. Waits as [`Receiver::receive`].
    ///
    /// The columns are views of the slot, which is free again when the table, its batches and
    /// columns are dropped. They are aliased: elements are read one by one, and other libraries,
    /// which rely on constancy, get copies ([`Column::compact`](crate::table::Column::compact)).
    ///
    /// # Errors
    ///
    /// As [`Receiver::receive`]; `is_unsupported` for a message that is an array, which is then
    /// dropped; as [`IpcFile::from_buffer`].
    pub fn receive_table(&mut self, timeout: Option<Duration>) -> Result<Option<IpcFile>> {
        let Some(array) = self.receive(timeout)? else { return Ok(None) };
        match table(&array)? {
            Some(table) => Ok(Some(table)),
            None => {
                let text = format!(
                    "the message is an array of {} {:?}, not a table; receive it as an array",
                    array.dtype().brief(),
                    array.shape()
                );
                Err(Error::new(Kind::Unsupported, text))
            }
        }
    }
}

/// The table whose bytes a message is; `None` for an array.
///
/// # Errors
///
/// As [`IpcFile::from_buffer`].
pub fn table(message: &DArray) -> Result<Option<IpcFile>> {
    if !is_table(message.dtype()) || message.rank() != 1 {
        return Ok(None);
    }
    let (buffer, start) = message.buffer()?;
    IpcFile::of_another_process(buffer.slice(start..start + message.len())?).map(Some)
}

/// Whether the elements of a message are the bytes of a table.
pub fn is_table(dtype: &DType) -> bool {
    let Some(record) = dtype.as_record() else { return false };
    let mut fields = record.fields().iter();
    let is_named = fields.next().is_some_and(|field| field.name() == FIELD);
    is_named && fields.next().is_none() && dtype.itemsize() == 1
}

/// Writes into a slot, up to its end.
struct SlotWriter {
    guard: ShareGuard,
    at: usize,
    is_full: bool,
}

impl Write for SlotWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.guard.nbytes() - self.at {
            self.is_full = true;
            return Err(ErrorKind::StorageFull.into());
        }
        // The writer of columns counts what it copies.
        self.guard.copy_in(self.at, bytes).map_err(io::Error::other)?;
        self.at += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
