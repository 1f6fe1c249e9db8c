//! Dictionaries: each from one message or several, of which some replace and others extend it.

use std::collections::HashSet;
use std::sync::OnceLock;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::exchange::files::arrow_ipc::columns_read::{Dictionaries, Permissions, columns};
use crate::exchange::files::arrow_ipc::flatbuffer::malformed;
use crate::exchange::files::arrow_ipc::message::IpcMessage;
use crate::exchange::files::arrow_ipc::schema_read::IpcSchema;
use crate::memory::fork::get_or_make;
use crate::table::Column;

/// What a dictionary message is.
#[derive(Clone, Copy, Debug)]
pub(super) struct DictionaryMessage {
    pub(super) id: i64,
    /// Whether its values follow those so far, instead of replacing them.
    pub(super) is_delta: bool,
}

impl DictionaryMessage {
    pub(super) fn read(message: &IpcMessage<'_>) -> Result<Self> {
        Ok(Self { id: message.header.i64(0)?, is_delta: message.header.bool(2)? })
    }

    /// Checks that no message of a file replaces a dictionary: its batches have no order in which
    /// one could.
    pub(super) fn check_file(messages: &[Self]) -> Result<()> {
        let mut seen = HashSet::new();
        match messages.iter().find(|message| !message.is_delta && !seen.insert(message.id)) {
            None => Ok(()),
            Some(message) => {
                Err(malformed(format!("dictionary {} is replaced, which only streams may do", message.id)))
            }
        }
    }
}

impl IpcSchema {
    /// The values in one message.
    pub(super) fn dictionary(
        &self,
        message: &IpcMessage<'_>,
        id: i64,
        body: &Buffer,
        permissions: Permissions,
        inner: Dictionaries<'_>,
    ) -> Result<Column> {
        let values =
            self.dictionaries.get(&id).ok_or_else(|| malformed(format!("no column has dictionary {id}")))?;
        let data =
            message.header.table(1)?.ok_or_else(|| malformed(format!("dictionary {id} has no values")))?;
        let fields = std::slice::from_ref(values);
        let read = columns(data, message.version, body, fields, None, permissions, inner);
        let (_, mut columns) = read.map_err(|error| error.within(format_args!("dictionary {id}")))?;
        columns.pop().ok_or_else(|| malformed(format!("dictionary {id} has no values")))
    }
}

/// Dictionaries that were read, each at the last message that changed it.
#[derive(Debug)]
pub(super) struct DictionaryCache(Box<[OnceLock<Column>]>);

impl DictionaryCache {
    /// For so many messages.
    pub(super) fn new(messages: usize) -> Self {
        Self((0..messages).map(|_| OnceLock::new()).collect())
    }

    /// The dictionary as these messages define it. `read` returns the values of one.
    pub(super) fn get(
        &self,
        id: i64,
        messages: &[DictionaryMessage],
        read: impl Fn(usize) -> Result<Column>,
    ) -> Result<Column> {
        let mut chain: Vec<usize> = Vec::new();
        for (index, message) in messages.iter().enumerate().rev().filter(|(_, message)| message.id == id) {
            chain.push(index);
            if !message.is_delta {
                break;
            }
        }
        let Some(&last) = chain.first() else {
            return Err(malformed(format!("dictionary {id} has no values before the batch that needs it")));
        };
        let cell = &self.0[last];
        if let Some(known) = cell.get() {
            return Ok(known.clone());
        }
        let parts = chain.into_iter().rev().map(&read).collect::<Result<Vec<_>>>()?;
        let column = joined(parts)?;
        // Another thread may have read it meanwhile; one of both stays.
        Ok(get_or_make(cell, || column).clone())
    }
}

/// The values of all parts: in place if there is one, else copied.
pub(super) fn joined(mut parts: Vec<Column>) -> Result<Column> {
    match parts.len() {
        1 => Ok(parts.remove(0)),
        _ => Column::concat(&parts),
    }
}
