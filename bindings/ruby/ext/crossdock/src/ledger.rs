//! `Crossdock.ledger`: the live memory and its holders, as lists that `lib/crossdock/ledger.rb`
//! names.

use crossdock::ledger as book;
use crossdock::memory::{LeaseKind, Protocols};
use magnus::{RArray, RHash, RModule, Ruby, Value, function, prelude::*};

use crate::error::Result;

/// Turns the list on or off, unless `on` is nil. Returns whether it is on, the bytes, the text of
/// the table, and the entries.
fn ledger(ruby: &Ruby, on: Option<bool>) -> Result<RArray> {
    match on {
        Some(true) => book::switch_on(),
        Some(false) => book::switch_off(),
        None => {}
    }
    let report = book::report();
    let entries = ruby.ary_new();
    for entry in report.entries() {
        entries.push(row(ruby, entry)?)?;
    }
    let nbytes = report.nbytes();
    Ok(ruby.ary_new_from_values(&[
        ruby.into_value(book::is_on()),
        ruby.integer_from_u128(nbytes).as_value(),
        ruby.str_new(report.to_string().trim_end()).as_value(),
        entries.as_value(),
    ]))
}

fn row(ruby: &Ruby, entry: &book::Entry) -> Result<Value> {
    let holders = ruby.ary_new();
    for holder in &entry.holders {
        let row: &[Value] = &[
            symbol(ruby, holder.kind),
            names(ruby, holder.protocols)?,
            ruby.into_value(holder.age.as_secs_f64()),
            ruby.into_value(holder.to_string()),
        ];
        holders.push(ruby.ary_new_from_values(row))?;
    }
    let row: &[Value] = &[
        ruby.into_value(entry.address),
        ruby.into_value(entry.nbytes),
        ruby.into_value(entry.place.to_string()),
        ruby.into_value(entry.backing.to_string()),
        ruby.into_value(entry.pool),
        ruby.into_value(entry.age.map(|age| age.as_secs_f64())),
        ruby.into_value(entry.handles),
        leases(ruby, entry)?.as_value(),
        names(ruby, entry.exported)?,
        holders.as_value(),
    ];
    Ok(ruby.ary_new_from_values(row).as_value())
}

/// The number of active leases of each kind.
fn leases(ruby: &Ruby, entry: &book::Entry) -> Result<RHash> {
    let hash = ruby.hash_new();
    let pins = (entry.pins > 0).then_some((LeaseKind::Pin, entry.pins));
    for (kind, count) in entry.leases.into_iter().chain(pins) {
        hash.aset(symbol(ruby, kind), count)?;
    }
    Ok(hash)
}

fn symbol(ruby: &Ruby, kind: LeaseKind) -> Value {
    ruby.to_symbol(kind.to_string().to_lowercase()).as_value()
}

fn names(ruby: &Ruby, protocols: Protocols) -> Result<Value> {
    let list = ruby.ary_new();
    for label in protocols.each() {
        list.push(label.to_string())?;
    }
    Ok(list.as_value())
}

pub(crate) fn init(module: RModule) -> std::result::Result<(), magnus::Error> {
    module.define_singleton_method("ledger_report", function!(ledger, 1))
}
