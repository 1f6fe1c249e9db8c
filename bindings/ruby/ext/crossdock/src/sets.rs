//! Sets that another process holds: `Crossdock::HeldArrays`, and the publication of versions.

use crossdock::DArray;
use crossdock::array::Casting;
use crossdock::exchange::protocol::hold::{self, Label, Set, SetBuilder};
use magnus::{
    DataTypeFunctions, RArray, RClass, RHash, RModule, Ruby, TypedData, function, method, prelude::*,
};

use crate::blocking::without_lock;
use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::pressure::{ReportedMemory, again};

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

fn array(ruby: &Ruby, this: &HeldArrays, name: String) -> Result<Wrapped> {
    let array = again(ruby, || Ok(this.0.get(&name)?))?;
    let kept = ReportedMemory::new(array.nbytes())?;
    Wrapped::sharing(ruby, array, kept)
}

/// Copies the arrays into a set, and publishes it.
fn publish(
    _: &Ruby,
    name: String,
    names: Vec<String>,
    arrays: RArray,
    metadata: Vec<(String, String)>,
) -> Result<String> {
    let label: Label = name.parse()?;
    let mut parts: Vec<(String, DArray)> = Vec::with_capacity(names.len());
    for (index, name) in names.into_iter().enumerate() {
        let value = arrays.entry(index as isize)?;
        let wrapped = Wrapped::of(value).ok_or_else(|| {
            Failure::of_type(&Ruby::get_with(value), format!("{name:?} is no Crossdock::Array"))
        })?;
        parts.push((name, wrapped.array()?));
    }
    let published = without_lock(move || -> crossdock::Result<String> {
        let publisher = hold::publish(&label)?;
        let mut builder = SetBuilder::new();
        for (name, array) in &parts {
            builder.array(name, array.dtype().clone(), array.shape())?;
        }
        for (key, text) in &metadata {
            builder.metadata(key, text);
        }
        let draft = builder.allocate(publisher.label())?;
        for (name, array) in &parts {
            draft.get(name)?.assign(array, Casting::Checked)?;
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
    class.define_private_method("array", method!(array, 1))?;
    class.define_singleton_method("connect_to", function!(connect, 1))?;
    class.define_singleton_method("publish_as", function!(publish, 4))
}
