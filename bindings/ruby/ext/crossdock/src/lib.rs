//! Crossdock for Ruby: `Crossdock::Array`, which exports its memory as a MemoryView and imports the
//! memory of other objects.
//!
//! ```text
//!   lib/crossdock.rb ── what costs nothing in Ruby        handle ── the object around an array
//!                                                          keep ── what of Ruby's the memory keeps alive
//!                                                          pressure ── memory reported to the collector
//!   export ── lent to Ruby's MemoryView                   import ── borrowed from it
//!   dlpack, arrow ── lent to, and borrowed from, others   adapters, numo ── what adapters in Ruby cannot do there
//!   tables ── columns of any type, and tables of them
//!   nested, lists, lengths, stack, ranges, string, value, dtype, moment, exact ── elements in
//!                                                          index, select, convert, query ── elements out
//! ```
//!
//! Every function that Ruby calls catches panics, and raises only after everything was dropped.
//!
//! `producers` finds the producer of an object, `files` writes pipes and devices by Ruby's own IO,
//! so that a signal ends the wait. The adapters by class are in `lib/crossdock/adapters.rb`.

mod adapters;
mod api;
mod arrow;
mod blocking;
mod channels;
mod class;
mod convert;
mod dlpack;
mod dtype;
mod entry;
mod error;
mod exact;
mod explain;
mod export;
mod files;
mod handle;
mod import;
mod index;
mod keep;
mod leased;
mod ledger;
mod lengths;
mod lists;
mod make;
mod moment;
mod nested;
mod numo;
mod policy;
mod pressure;
mod producers;
mod query;
mod ranges;
mod select;
mod sets;
mod shm;
mod stack;
mod string;
mod tables;
mod typed;
mod value;
mod views;
mod words;

use magnus::value::Lazy;
use magnus::{Error, Ruby, prelude::*};

/// Called by `require`.
#[magnus::init(name = "crossdock")]
fn init(ruby: &Ruby) -> Result<(), Error> {
    // SAFETY: all state of the extension is atomic or behind locks, and it shares no unfrozen Ruby
    // object between Ractors.
    unsafe { rb_sys::rb_ext_ractor_safe(true) };
    let module = ruby.define_module("Crossdock")?;
    let standard = ruby.exception_standard_error();
    let error = module.define_error("Error", standard)?;
    module.define_error("Refusal", error)?;
    let class = module.define_class("Array", ruby.class_object())?;
    // Looked up once, here: later, several Ractors may need it at the same time.
    Lazy::force(&class::ARRAY, ruby);
    error::init(ruby);
    handle::init(class)?;
    keep::init()?;
    query::init(ruby, class)?;
    index::init(ruby, class)?;
    dtype::init(module)?;
    make::init(ruby, class)?;
    ranges::init(class)?;
    convert::init(class)?;
    views::init(class)?;
    string::init(class)?;
    files::init(module, class)?;
    leased::init(class)?;
    sets::init(ruby, module)?;
    channels::init(ruby, module)?;
    shm::init(ruby, module, class)?;
    explain::init(module)?;
    ledger::init(module)?;
    api::init(module)?;
    dlpack::init(ruby, module, class)?;
    arrow::init(ruby, module, class)?;
    tables::init(ruby, module)?;
    adapters::init(ruby, module)?;
    numo::init(module)?;
    import::init(ruby, module)?;
    export::init(ruby, class)
}
