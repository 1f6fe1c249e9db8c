//! Files of elements and nothing else: a [`Description`] says what they are, and they are mapped in
//! place.
//!
//! ```text
//!   dtype=uint16; shape=480,640; order=F; offset=512
//! ```

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::DType;
use crate::element::dialect::typestr;
use crate::error::{Error, Kind, Result, short};
use crate::exchange::files::outgoing::OutgoingArray;
use crate::exchange::files::{elements, new_file};
use crate::layout::{Layout, Order};
use crate::memory::LeaseKind;

/// The description of the bytes of a raw file.
///
/// Converts to and from text: `dtype` (a name, a type string, or the Python literal of a record)
/// and `shape`; then, if they differ from the defaults, `order` (C or F) or `strides` (in bytes),
/// and the `offset` of element 0 (in bytes).
///
/// ```
/// use crossdock::{element::DType, exchange::files::raw::Description, layout::Order};
///
/// let picture = Description::new(DType::U16, &[480, 640]).order(Order::ColumnMajor).offset(512);
/// assert_eq!(picture.to_string(), "dtype=uint16; shape=480,640; order=F; offset=512");
/// assert_eq!("dtype=<u2; shape=480,640; order=F; offset=512".parse::<Description>()?, picture);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    dtype: DType,
    shape: Vec<usize>,
    lies: Lies,
    offset: usize,
}

/// How the elements are laid out.
#[derive(Clone, Debug, PartialEq)]
enum Lies {
    Gapless(Order),
    Strided(Vec<isize>),
}

impl Description {
    /// Contiguous elements in row-major order, from the first byte on.
    pub fn new(dtype: DType, shape: &[usize]) -> Self {
        Self { dtype, shape: shape.to_vec(), lies: Lies::Gapless(Order::RowMajor), offset: 0 }
    }

    /// Makes the elements contiguous in this order.
    pub fn order(mut self, order: Order) -> Self {
        self.lies = Lies::Gapless(order);
        self
    }

    /// Sets the strides, in bytes, which may be negative.
    pub fn strides(mut self, strides: &[isize]) -> Self {
        self.lies = Lies::Strided(strides.to_vec());
        self
    }

    /// Sets the byte of the file at which element 0 begins.
    pub fn offset(mut self, nbytes: usize) -> Self {
        self.offset = nbytes;
        self
    }

    /// The dtype as NumPy writes it, if NumPy can: `Display` of a compound type is for people and
    /// cannot be parsed.
    fn spelling(&self) -> Option<String> {
        if self.dtype.as_scalar().is_some() { None } else { typestr::print(&self.dtype).ok() }
    }

    fn layout(&self) -> Result<Layout> {
        match &self.lies {
            Lies::Gapless(order) => Layout::contiguous(&self.shape, self.dtype.itemsize(), *order),
            Lies::Strided(strides) => Layout::new(&self.shape, strides, self.dtype.itemsize()),
        }
    }
}

/// The array in bytes in memory, in place. O(1).
///
/// # Errors
///
/// `is_bounds` if elements are outside the bytes; `is_shape` if the number of strides differs from
/// the number of axes; `is_overflow` for more bytes than can be addressed; `is_unsupported` for too
/// many dimensions.
pub fn from_buffer(buffer: Buffer, description: &Description) -> Result<DArray> {
    let within = |error: Error| error.within(format_args!("as {description}"));
    let layout = description.layout().map_err(within)?;
    DArray::from_buffer(buffer, description.dtype.clone(), layout, description.offset).map_err(within)
}

/// Writes the elements of an array and nothing else, contiguous in row-major order
/// ([`SaveOptions::order`](crate::exchange::files::SaveOptions::order) selects the other one).
/// Copies, and counts, [`DArray::nbytes`]; never more than 256 KiB (or one element) at a time.
/// [`Description::new`] of its dtype and shape describes the file.
///
/// # Errors
///
/// `is_io` if the writer fails; `is_conflict` while another party holds Write; `is_place` on a
/// device.
pub fn write(writer: impl Write, array: &DArray) -> Result<()> {
    encode(writer, &OutgoingArray::new(array.clone()), Order::RowMajor)
}

/// Like `write`, in this order.
pub(super) fn encode(mut writer: impl Write, array: &OutgoingArray, order: Order) -> Result<()> {
    let _pin = array.array.lease(LeaseKind::Pin)?;
    elements::write(&mut writer, array, order)?;
    writer.flush().map_err(new_file::write_error)
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spelling() {
            Some(literal) => write!(f, "dtype={literal}; shape=")?,
            None => write!(f, "dtype={}; shape=", self.dtype)?,
        }
        list(f, &self.shape)?;
        match &self.lies {
            Lies::Gapless(Order::RowMajor) => {}
            Lies::Gapless(Order::ColumnMajor) => f.write_str("; order=F")?,
            Lies::Strided(strides) => {
                f.write_str("; strides=")?;
                list(f, strides)?;
            }
        }
        if self.offset > 0 {
            write!(f, "; offset={}", self.offset)?;
        }
        Ok(())
    }
}

fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, numbers: &[T]) -> fmt::Result {
    for (index, number) in numbers.iter().enumerate() {
        write!(f, "{}{number}", if index > 0 { "," } else { "" })?;
    }
    Ok(())
}

impl FromStr for Description {
    type Err = Error;

    /// Entries `name=value` in any order, separated by semicolons; semicolons within the quotes of
    /// a literal do not separate. An empty shape is that of a single element.
    fn from_str(text: &str) -> Result<Self> {
        let refused =
            |why: String| Error::new(Kind::Malformed, format!("the description {}: {why}", short(text)));
        let names = ["dtype", "shape", "order", "strides", "offset"];
        let mut found: [Option<&str>; 5] = [None; 5];
        for part in parts(text).map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                refused(format!(
                    "{} is not NAME=VALUE; write it like dtype=uint16; shape=480,640",
                    short(part)
                ))
            })?;
            let slot = names.iter().position(|&known| known == name.trim()).ok_or_else(|| {
                refused(format!("{} is not one of {}", short(name.trim()), names.join(", ")))
            })?;
            if found[slot].replace(value.trim()).is_some() {
                return Err(refused(format!("{} is given twice", names[slot])));
            }
        }
        let [dtype, shape, order, strides, offset] = found;
        let missing =
            |name: &str| refused(format!("{name} is missing; write it like dtype=uint16; shape=480,640"));
        let dtype = dtype.ok_or_else(|| missing("dtype"))?.parse::<DType>();
        let shape = numbers(shape.ok_or_else(|| missing("shape"))?, &refused)?;
        let mut description = Self::new(
            dtype.map_err(|error| error.within(format_args!("the description {}", short(text))))?,
            &shape,
        );
        description = match (order, strides) {
            (None | Some("C"), None) => description,
            (Some("F"), None) => description.order(Order::ColumnMajor),
            (None, Some(strides)) => description.strides(&numbers(strides, &refused)?),
            (Some(_), Some(_)) => {
                return Err(refused("order and strides are both given; give one of them".into()));
            }
            (Some(order), None) => return Err(refused(format!("the order {order:?} is neither C nor F"))),
        };
        match offset.map(str::parse) {
            None => Ok(description),
            Some(Ok(offset)) => Ok(description.offset(offset)),
            Some(Err(_)) => {
                Err(refused(format!("the offset {:?} is not a number of bytes", offset.unwrap_or_default())))
            }
        }
    }
}

/// Splits a text at its semicolons, except those within the quotes of a Python literal.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let (mut quote, mut is_escaped) = (None, false);
    text.split(move |letter| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match (quote, letter) {
            (Some(_), '\\') => is_escaped = !was_escaped,
            (Some(open), _) if letter == open && !was_escaped => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            _ => {}
        }
        letter == ';' && quote.is_none()
    })
}

fn numbers<T: FromStr>(text: &str, refused: &impl Fn(String) -> Error) -> Result<Vec<T>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            part.parse().map_err(|_| {
                let within = if part == text { String::new() } else { format!(" in {}", short(text)) };
                let why = if part.parse::<i128>().is_ok() { "out of range" } else { "not a whole number" };
                refused(format!("{}{within} is {why}", short(part)))
            })
        })
        .collect()
}
