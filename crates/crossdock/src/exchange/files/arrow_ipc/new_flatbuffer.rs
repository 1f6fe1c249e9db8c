//! FlatBuffers, written: tables first, then what they refer to, at greater offsets.

/// A table to write: its fields by their slots. A field that is missing has its default.
#[derive(Debug, Default)]
pub(super) struct NewTable(Vec<(usize, NewValue)>);

/// The value of a field.
#[derive(Debug)]
pub(super) enum NewValue {
    U8(u8),
    I16(i16),
    I32(i32),
    I64(i64),
    /// Text or other bytes.
    Bytes(Vec<u8>),
    Table(NewTable),
    Tables(Vec<NewTable>),
    I32s(Vec<i32>),
    /// So many elements, aligned to eight bytes.
    Structs(usize, Vec<u8>),
}

impl NewValue {
    /// The bytes in the table: of the value, or of the reference to it.
    fn size(&self) -> usize {
        match self {
            Self::U8(_) => 1,
            Self::I16(_) => 2,
            Self::I64(_) => 8,
            _ => 4,
        }
    }
}

impl NewTable {
    /// The same table with a field more.
    pub(super) fn with(mut self, slot: usize, value: NewValue) -> Self {
        self.0.push((slot, value));
        self
    }

    /// The same table, with the field if there is a value.
    pub(super) fn with_some(self, slot: usize, value: Option<NewValue>) -> Self {
        match value {
            Some(value) => self.with(slot, value),
            None => self,
        }
    }

    /// The bytes of the table as the root.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut writer = NewBytes(vec![0; 4]);
        let at = writer.table(self);
        writer.refer(0, at);
        writer.0
    }
}

struct NewBytes(Vec<u8>);

impl NewBytes {
    /// Pads so that the byte after `before` more is aligned.
    fn align(&mut self, alignment: usize, before: usize) {
        let end = (self.0.len() + before).next_multiple_of(alignment) - before;
        self.0.resize(end, 0);
    }

    /// Writes at `from` that what it refers to is at `to`.
    fn refer(&mut self, from: usize, to: usize) {
        self.0[from..from + 4].copy_from_slice(&((to - from) as u32).to_le_bytes());
    }

    fn table(&mut self, table: &NewTable) -> usize {
        let slots = table.0.iter().map(|(slot, _)| slot + 1).max().unwrap_or(0);
        let mut fields: Vec<_> = table.0.iter().collect();
        // Aligned without gaps: the widest first.
        fields.sort_by_key(|(_, value)| std::cmp::Reverse(value.size()));
        let (mut offsets, mut size) = (vec![0u16; slots], 4);
        for (slot, value) in &fields {
            offsets[*slot] = size as u16;
            size += value.size();
        }
        self.align(2, 0);
        let vtable = self.0.len();
        for number in [4 + 2 * slots as u16, size as u16].iter().chain(&offsets) {
            self.0.extend(number.to_le_bytes());
        }
        self.align(8, 4);
        let start = self.0.len();
        self.0.extend(((start - vtable) as i32).to_le_bytes());
        let mut references = Vec::new();
        for (_, value) in fields {
            match value {
                NewValue::U8(number) => self.0.push(*number),
                NewValue::I16(number) => self.0.extend(number.to_le_bytes()),
                NewValue::I32(number) => self.0.extend(number.to_le_bytes()),
                NewValue::I64(number) => self.0.extend(number.to_le_bytes()),
                _ => {
                    references.push((self.0.len(), value));
                    self.0.extend([0; 4]);
                }
            }
        }
        for (from, value) in references {
            let to = self.referred(value);
            self.refer(from, to);
        }
        start
    }

    fn referred(&mut self, value: &NewValue) -> usize {
        let (len, alignment) = match value {
            NewValue::Table(table) => return self.table(table),
            NewValue::Bytes(bytes) => (bytes.len(), 4),
            NewValue::Tables(tables) => (tables.len(), 4),
            NewValue::I32s(numbers) => (numbers.len(), 4),
            NewValue::Structs(len, _) => (*len, 8),
            _ => (0, 4),
        };
        self.align(alignment, 4);
        let start = self.0.len();
        self.0.extend((len as u32).to_le_bytes());
        match value {
            NewValue::Bytes(bytes) => {
                self.0.extend(bytes);
                // Text ends by a NUL that is not counted.
                self.0.push(0);
            }
            NewValue::Tables(tables) => {
                let first = self.0.len();
                self.0.resize(first + 4 * len, 0);
                for (k, table) in tables.iter().enumerate() {
                    let to = self.table(table);
                    self.refer(first + 4 * k, to);
                }
            }
            NewValue::I32s(numbers) => self.0.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
            NewValue::Structs(_, bytes) => self.0.extend(bytes),
            _ => {}
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::files::arrow_ipc::flatbuffer::Table;

    #[test]
    fn what_is_written_is_read() {
        let inner = |name: &str| NewTable::default().with(0, NewValue::Bytes(name.into()));
        let bytes = NewTable::default()
            .with(1, NewValue::U8(7))
            .with(0, NewValue::I16(-3))
            .with(5, NewValue::I64(i64::MIN))
            .with(2, NewValue::Table(inner("one")))
            .with(3, NewValue::Tables(vec![inner("two"), NewTable::default(), inner("")]))
            .with(6, NewValue::I32s(vec![1, -2]))
            .with(8, NewValue::Structs(2, vec![1; 48]))
            .to_bytes();
        let table = Table::root(&bytes).unwrap();
        assert_eq!((table.u8(1).unwrap(), table.i16(0, 9).unwrap(), table.i16(4, 9).unwrap()), (7, -3, 9));
        assert_eq!((table.i64(5).unwrap(), table.i64(7).unwrap(), table.i64(70).unwrap()), (i64::MIN, 0, 0));
        assert_eq!(table.table(2).unwrap().unwrap().bytes(0).unwrap(), Some(&b"one"[..]));
        let names: Vec<_> = table.tables(3).unwrap().map(|table| table.unwrap().bytes(0).unwrap()).collect();
        assert_eq!(names, [Some(&b"two"[..]), None, Some(&b""[..])]);
        let numbers: Vec<_> =
            table.vector(6, 4).unwrap().elements().map(|n| i32::from_le_bytes(*n)).collect();
        assert_eq!(numbers, [1, -2]);
        assert_eq!(table.vector(8, 24).unwrap().elements::<24>().count(), 2);
        for cut in 0..bytes.len() {
            let read = |bytes| -> crate::Result<()> {
                let table = Table::root(bytes)?;
                table.i64(5)?;
                table.vector(8, 24)?;
                table.vector(6, 4)?;
                table.tables(3)?.try_for_each(|table| table?.bytes(0).map(drop))
            };
            assert!(read(&bytes[..cut]).is_err(), "{cut}");
        }
    }
}
