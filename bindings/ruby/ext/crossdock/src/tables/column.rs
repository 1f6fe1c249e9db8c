//! The class `Crossdock::Column`.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crossdock::DArray;
use crossdock::bindings::memory_view::CachedExport;
use crossdock::bindings::table::{chunk_of, displayed, nbytes, parts};
use crossdock::element::{DType, Value as Element};
use crossdock::table::{Column, ColumnType, Field};
use magnus::{
    DataTypeFunctions, RArray, RModule, RString, Ruby, TryConvert, TypedData, Value, function, method,
    prelude::*,
};

use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::keep;
use crate::pressure::{ReportedMemory, again};
use crate::tables::content::{Content, Reported};
use crate::tables::{lent_column, new_column, values};
use crate::value;

/// How many elements of a column are displayed.
const ELEMENTS: usize = 10;

/// `Crossdock::Column`.
#[derive(TypedData)]
#[magnus(class = "Crossdock::Column", free_immediately, size)]
pub(super) struct RubyColumn(Content<ColumnContent>);

/// The chunks of a column, one for each batch of its table.
pub(super) struct ColumnContent {
    field: Field,
    /// Columns of the field's type.
    chunks: Vec<Column>,
    len: usize,
    kept: Option<Arc<ReportedMemory>>,
    /// Made by the first request for a view.
    export: OnceLock<Option<CachedExport>>,
}

impl DataTypeFunctions for RubyColumn {
    fn size(&self) -> usize {
        size_of::<Self>() + self.0.told()
    }
}

impl Reported for ColumnContent {
    const NAME: &str = "column";

    fn kept(&self) -> Option<Arc<ReportedMemory>> {
        self.kept.clone()
    }
}

impl RubyColumn {
    pub(super) fn with(content: ColumnContent) -> Self {
        Self(Content::new(content))
    }

    fn sharing(field: Field, chunks: Vec<Column>, kept: Option<Arc<ReportedMemory>>) -> Self {
        Self::with(ColumnContent::sharing(field, chunks, kept))
    }

    /// A column of new memory, or of another producer's.
    pub(super) fn new(field: Field, chunks: Vec<Column>) -> Result<Self> {
        let kept = ReportedMemory::new(nbytes(&chunks))?;
        Ok(Self::sharing(field, chunks, kept))
    }

    pub(super) fn of(column: Column) -> Result<Self> {
        let field = Field::new("", column.column_type().clone())?;
        Self::new(field, vec![column])
    }

    pub(super) fn content(&self, ruby: &Ruby) -> Result<Arc<ColumnContent>> {
        self.0.open(ruby)
    }

    /// The content; `None` after the release.
    pub(super) fn unless_released(&self) -> Option<Arc<ColumnContent>> {
        self.0.get()
    }
}

impl ColumnContent {
    /// A column whose memory the collector knows.
    pub(super) fn sharing(field: Field, chunks: Vec<Column>, kept: Option<Arc<ReportedMemory>>) -> Self {
        let len = chunks.iter().map(Column::len).sum();
        Self { field, chunks, len, kept, export: OnceLock::new() }
    }

    pub(super) fn field(&self) -> &Field {
        &self.field
    }

    pub(super) fn chunks(&self) -> &[Column] {
        &self.chunks
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn slice(&self, range: Range<usize>) -> Result<Self> {
        let chunks = parts(range, self.chunks.iter().map(Column::len)).into_iter();
        let chunks = chunks.map(|(index, range)| self.chunks[index].slice(range));
        Ok(Self::sharing(self.field.clone(), chunks.collect::<crossdock::Result<_>>()?, self.kept()))
    }

    /// The only chunk.
    pub(super) fn only(&self, ruby: &Ruby) -> Result<&Column> {
        match &self.chunks[..] {
            [only] => Ok(only),
            chunks => {
                let text = format!(
                    "the column has {} chunks, which lie apart; `compact` joins them by a copy, and `chunks` gives each",
                    chunks.len()
                );
                Err(Failure::refused(ruby, text))
            }
        }
    }

    /// The elements as a Ruby Array.
    pub(super) fn values(&self, ruby: &Ruby) -> Result<RArray> {
        let [first, rest @ ..] = &self.chunks[..] else { return Ok(ruby.ary_new()) };
        let all = values::elements(ruby, first)?;
        for chunk in rest {
            all.concat(values::elements(ruby, chunk)?)?;
        }
        Ok(all)
    }

    /// The text of an element, on one line: an error in place of one that cannot be read.
    pub(super) fn shown(&self, ruby: &Ruby, index: usize, how: &str) -> String {
        let Some((chunk, index)) = chunk_of(&self.chunks, index) else { return String::new() };
        let shown = values::element(ruby, chunk, index).and_then(|value| {
            let how = if value.is_nil() { "inspect" } else { how };
            Ok(value.funcall::<_, _, String>(how, ())?)
        });
        match shown {
            Ok(text) => text,
            Err(failure) => format!("<{}>", magnus::error::IntoError::into_error(failure, ruby)),
        }
    }

    /// The elements as an array, in place.
    pub(super) fn array(&self, ruby: &Ruby) -> Result<DArray> {
        let column = self.only(ruby)?;
        let array = column.complete_array().map_err(|error| match error.is_value() {
            true => Failure::refused(
                ruby,
                format!("{error}; `fill_nulls` gives them a value, and `mask` says which they are"),
            ),
            false if error.is_unsupported() => {
                Failure::of_type(ruby, format!("{error}; `to_a` has the values"))
            }
            false => error.into(),
        })?;
        Ok(if self.field.extension().is_some() { self.field.array_of(column)? } else { array })
    }

    /// The export of the elements for MemoryViews.
    pub(super) fn export(&self) -> std::result::Result<&CachedExport, String> {
        let of = |column: &Column| Ok(CachedExport::new(column.complete_array()?));
        match &self.chunks[..] {
            [only] => match self.export.get_or_init(|| of(only).ok()) {
                Some(export) => Ok(export),
                None => {
                    Err(of(only).err().map_or_else(String::new, |error: crossdock::Error| error.to_string()))
                }
            },
            chunks => Err(format!("the column has {} chunks, which lie apart", chunks.len())),
        }
    }
}

// ===== methods

fn name(ruby: &Ruby, this: &RubyColumn) -> Result<String> {
    Ok(this.content(ruby)?.field.name().to_owned())
}

fn ty(ruby: &Ruby, this: &RubyColumn) -> Result<String> {
    Ok(this.content(ruby)?.field.column_type().to_string())
}

fn is_nullable(ruby: &Ruby, this: &RubyColumn) -> Result<bool> {
    Ok(this.content(ruby)?.field.is_nullable())
}

fn null_count(ruby: &Ruby, this: &RubyColumn) -> Result<usize> {
    Ok(this.content(ruby)?.chunks.iter().map(Column::null_count).sum::<crossdock::Result<_>>()?)
}

fn array(ruby: &Ruby, this: &RubyColumn) -> Result<Wrapped> {
    let this = this.content(ruby)?;
    Wrapped::sharing(ruby, this.array(ruby)?, this.kept())
}

fn mask(ruby: &Ruby, this: &RubyColumn) -> Result<Wrapped> {
    let this = this.content(ruby)?;
    let column = this.only(ruby)?;
    Wrapped::new(ruby, again(ruby, || Ok(column.mask()?))?)
}

fn fill_nulls(ruby: &Ruby, this: &RubyColumn, object: Value) -> Result<RubyColumn> {
    let this = this.content(ruby)?;
    let ty = this.field.column_type();
    let string = RString::from_value(object);
    let value = match (ty, ty.dtype(), string) {
        (ColumnType::Fixed(dtype), ..) => value::from_ruby(ruby, object, dtype)?,
        (ColumnType::Boolean, ..) => value::from_ruby(ruby, object, &DType::BOOL)?,
        (_, None, Some(string)) if ty.is_utf8() => Element::Text(value::characters(ruby, string)?),
        (ColumnType::Binary(_) | ColumnType::BinaryView, _, Some(string)) => {
            // SAFETY: `string` is alive, and the bytes are copied before Ruby runs again.
            Element::Bytes(unsafe { string.as_slice() }.to_vec())
        }
        _ => {
            let text = format!(
                "nulls of type {ty} cannot be filled with {}; those of numbers, truth values and text can, with their kind",
                value::describe(object)
            );
            return Err(Failure::of_type(ruby, text));
        }
    };
    let chunks = this.chunks.iter().map(|chunk| chunk.fill_nulls(&value));
    RubyColumn::new(this.field.clone(), chunks.collect::<crossdock::Result<_>>()?)
}

fn compact(ruby: &Ruby, this: &RubyColumn) -> Result<RubyColumn> {
    let this = this.content(ruby)?;
    let chunks = match &this.chunks[..] {
        [] => vec![],
        [only] => vec![only.compact()?],
        several => vec![Column::concat(several)?],
    };
    RubyColumn::new(this.field.clone(), chunks)
}

fn chunks(ruby: &Ruby, this: &RubyColumn) -> Result<RArray> {
    let (this, all) = (this.content(ruby)?, ruby.ary_new());
    for chunk in &this.chunks {
        all.push(RubyColumn::sharing(this.field.clone(), vec![chunk.clone()], this.kept()))?;
    }
    Ok(all)
}

fn size(ruby: &Ruby, this: &RubyColumn) -> Result<usize> {
    Ok(this.content(ruby)?.len)
}

/// The element at an index, which Ruby code has checked.
fn at(ruby: &Ruby, this: &RubyColumn, index: usize) -> Result<Value> {
    match chunk_of(this.content(ruby)?.chunks(), index) {
        Some((chunk, index)) => values::element(ruby, chunk, index),
        None => Ok(ruby.qnil().as_value()),
    }
}

/// Elements from a start on, which Ruby code has checked.
fn part(ruby: &Ruby, this: &RubyColumn, start: usize, len: usize) -> Result<RubyColumn> {
    let this = this.content(ruby)?;
    let end = start.saturating_add(len).min(this.len);
    Ok(RubyColumn::with(this.slice(start.min(end)..end)?))
}

fn to_a(ruby: &Ruby, this: &RubyColumn) -> Result<RArray> {
    this.content(ruby)?.values(ruby)
}

/// The elements from a start on, which Ruby code has checked, without an object on the memory.
fn values_of(ruby: &Ruby, this: &RubyColumn, start: usize, len: usize) -> Result<RArray> {
    let this = this.content(ruby)?;
    let end = start.saturating_add(len).min(this.len);
    this.slice(start.min(end)..end)?.values(ruby)
}

fn named(ruby: &Ruby, this: &RubyColumn, name: String) -> Result<RubyColumn> {
    let this = this.content(ruby)?;
    Ok(RubyColumn::sharing(this.field.clone().with_name(name), this.chunks.clone(), this.kept()))
}

fn text(ruby: &Ruby, this: &RubyColumn) -> Result<String> {
    let this = this.content(ruby)?;
    let shown = displayed(this.len, ELEMENTS).into_iter().map(|index| match index {
        Some(index) => this.shown(ruby, index, "inspect"),
        None => "...".to_owned(),
    });
    Ok(format!("[{}]", shown.collect::<Vec<_>>().join(", ")))
}

fn release(this: &RubyColumn) {
    this.0.close();
    keep::give_back();
}

fn is_released(this: &RubyColumn) -> bool {
    this.0.is_closed()
}

/// A column of the objects in an Array, or of a `Crossdock::Array`.
fn of_object(ruby: &Ruby, object: Value) -> Result<RubyColumn> {
    if let Some(own) = Wrapped::of(object) {
        let column = Column::from_array(own.array()?)?;
        let of_array = column.column_type().clone();
        let column = new_column::with_days(ruby, column)?;
        if *column.column_type() != of_array {
            // Days of 64 bits were converted into new memory.
            return RubyColumn::of(column);
        }
        let field = Field::new("", of_array)?;
        return Ok(RubyColumn::sharing(field, vec![column], own.kept()));
    }
    RubyColumn::of(new_column::of_values(ruby, RArray::try_convert(object)?)?)
}

pub(super) fn init(ruby: &Ruby, module: RModule) -> std::result::Result<(), magnus::Error> {
    let class = module.define_class("Column", ruby.class_object())?;
    class.undef_default_alloc_func();
    // Looked up once, here: later, several Ractors may need it at the same time.
    let _class = RubyColumn::class(ruby);
    class.define_method("name", method!(name, 0))?;
    class.define_method("type", method!(ty, 0))?;
    class.define_method("nullable?", method!(is_nullable, 0))?;
    class.define_method("null_count", method!(null_count, 0))?;
    class.define_method("array", method!(array, 0))?;
    class.define_method("mask", method!(mask, 0))?;
    class.define_method("fill_nulls", method!(fill_nulls, 1))?;
    class.define_method("compact", method!(compact, 0))?;
    class.define_method("chunks", method!(chunks, 0))?;
    class.define_method("size", method!(size, 0))?;
    class.define_method("to_a", method!(to_a, 0))?;
    class.define_method("release", method!(release, 0))?;
    class.define_method("released?", method!(is_released, 0))?;
    class.define_private_method("at", method!(at, 1))?;
    class.define_private_method("part", method!(part, 2))?;
    class.define_private_method("values", method!(values_of, 2))?;
    class.define_private_method("text", method!(text, 0))?;
    class.define_private_method("named", method!(named, 1))?;
    class.define_singleton_method("of_object", function!(of_object, 1))?;
    lent_column::init(class)
}
