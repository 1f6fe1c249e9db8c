//! Sets that another process holds: `Crossdock::HeldArrays`, and the publication of versions.

use crossdock::DArray;
use crossdock::array::Casting;
use crossdock::exchange::protocol::hold::{self, Label, Set, SetBuilder};
use magnus::{
    DataTypeFunctions, IntoValue, RArray, RClass, RHash, RModule, Ruby, TypedData, Value, function, method,
    prelude::*,
};

use crate::blocking::without_lock;
use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::pressure::{ReportedMemory, again};
use crate::tables::{self, OwnBatches};

/// `Crossdock::HeldArrays`: a set that this process has mapped.
///
/// Its memory belongs to the holder as well, so the collector is told of the parts that arrays use,
/// and not of the whole.
#[derive(TypedData)]
#[magnus(class = "Crossdock::HeldArrays", free_immediately)]
struct HeldArrays(Set);

impl DataTypeFunctions for HeldArrays {}

fn connect(_: &Ruby, name: String) -> Result<HeldArrays> {
    let label: Label = name.parse()?;
    // The holder may take its time.
    Ok(HeldArrays(without_lock(move || hold::connect(&label))??))
}

fn label(this: &HeldArrays) -> String {
    this.0.label().to_string()
}

fn nbytes(this: &HeldArrays) -> u64 {
    this.0.nbytes()
}

fn is_mapped(this: &HeldArrays) -> bool {
    this.0.is_mapped()
}

fn size(this: &HeldArrays) -> usize {
    this.0.len()
}

fn keys(ruby: &Ruby, this: &HeldArrays) -> Result<RArray> {
    let names = ruby.ary_new();
    for name in this.0.names() {
        names.push(name?)?;
    }
    Ok(names)
}

fn has_key(_: &Ruby, this: &HeldArrays, name: String) -> Result<bool> {
    Ok(this.0.contains(&name)?)
}

fn metadata(ruby: &Ruby, this: &HeldArrays) -> Result<RHash> {
    let texts = ruby.hash_new();
    for (key, text) in this.0.metadata()? {
        texts.aset(key, text)?;
    }
    Ok(texts)
}

/// How many of the names are tables.
fn tables(this: &HeldArrays) -> usize {
    this.0.tables()
}

/// The array or the table of a name.
fn part(ruby: &Ruby, this: &HeldArrays, name: String) -> Result<Value> {
    if this.0.table_shape(&name)?.is_some() {
        return tables::of_file(ruby, &this.0.table(&name)?);
    }
    let array = again(ruby, || Ok(this.0.get(&name)?))?;
    let kept = ReportedMemory::new(array.nbytes())?;
    Ok(Wrapped::sharing(ruby, array, kept)?.into_value_with(ruby))
}

/// What is published under a name.
enum PublishedPart {
    Array(DArray),
    Table(OwnBatches),
}

/// Copies the arrays and tables into a set, and publishes it.
fn publish(
    ruby: &Ruby,
    name: String,
    names: Vec<String>,
    arrays: RArray,
    metadata: Vec<(String, String)>,
) -> Result<String> {
    let label: Label = name.parse()?;
    let mut parts: Vec<(String, PublishedPart)> = Vec::with_capacity(names.len());
    for (index, name) in names.into_iter().enumerate() {
        let value: Value = arrays.entry(index as isize)?;
        if let Some(batches) = tables::batches_of(ruby, value)? {
            parts.push((name, PublishedPart::Table(batches)));
            continue;
        }
        let wrapped = Wrapped::of(value).ok_or_else(|| {
            Failure::of_type(ruby, format!("{name:?} is no Crossdock::Array and no Crossdock::Table"))
        })?;
        parts.push((name, PublishedPart::Array(wrapped.array()?)));
    }
    let published = without_lock(move || -> crossdock::Result<String> {
        let publisher = hold::publish(&label)?;
        let mut builder = SetBuilder::new();
        for (name, part) in &parts {
            if let PublishedPart::Array(array) = part {
                builder.array(name, array.dtype().clone(), array.shape())?;
            }
        }
        for (key, text) in &metadata {
            builder.metadata(key, text);
        }
        let mut draft = builder.allocate(publisher.label())?;
        for (name, part) in &mut parts {
            match part {
                PublishedPart::Array(array) => draft.get(name)?.assign(array, Casting::Checked)?,
                PublishedPart::Table(batches) => draft.write_table(name, batches)?,
            }
        }
        let set = draft.seal().map_err(|rejected| rejected.error)?;
        publisher.commit(&set)?;
        Ok(set.label().to_string())
    })?;
    Ok(published?)
}

pub(crate) fn init(ruby: &Ruby, module: RModule) -> std::result::Result<(), magnus::Error> {
    let class: RClass = module.define_class("HeldArrays", ruby.class_object())?;
    class.undef_default_alloc_func();
    // Looked up once, here: later, several Ractors may need it at the same time.
    let _class = HeldArrays::class(ruby);
    class.define_method("label", method!(label, 0))?;
    class.define_method("nbytes", method!(nbytes, 0))?;
    class.define_method("mapped?", method!(is_mapped, 0))?;
    class.define_method("size", method!(size, 0))?;
    class.define_method("keys", method!(keys, 0))?;
    class.define_method("metadata", method!(metadata, 0))?;
    class.define_method("key?", method!(has_key, 1))?;
    class.define_private_method("tables", method!(tables, 0))?;
    class.define_private_method("part", method!(part, 1))?;
    class.define_singleton_method("connect_to", function!(connect, 1))?;
    class.define_singleton_method("publish_as", function!(publish, 4))
}
