//! The public names of a library, from rustdoc's JSON.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Display};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rustdoc_types::{Crate, Id, Item, ItemEnum, Module, StructKind, Visibility};

use super::signature::{after_name, without_modules};

/// Modules, and the names that a program can use from each.
#[derive(Default)]
pub(super) struct Listing(BTreeMap<String, Names>);

/// The names of one module.
#[derive(Default)]
struct Names {
    /// Each with its rows: one for the item of the name, and one for each type with such a method,
    /// constant or associated type.
    counted: BTreeMap<String, Vec<Row>>,
    /// Items of another module that can be named here, too.
    also: BTreeMap<String, String>,
    /// The traits of other crates that each type implements explicitly.
    traits: BTreeMap<String, BTreeSet<String>>,
}

struct Row {
    /// The type or trait with the name; empty for the module's own items.
    of: String,
    what: String,
}

impl Listing {
    /// Reads the JSON of rustdoc at `path`.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let json: Crate = serde_json::from_str(&text).context("rustdoc's JSON is of another format")?;
        let api = public_api::Builder::from_rustdoc_json(path)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()
            .context("rustdoc's JSON is of another format")?;
        let spelled = api.items().map(|item| (item.id(), without_modules(&item.to_string()))).collect();
        let mut walk = Walk { json: &json, spelled, places: BTreeMap::new(), listing: Self::default() };
        let root = json.root;
        walk.find_places(root, "crossdock");
        walk.list_all();
        Ok(walk.listing)
    }

    /// The number of names in modules; types of a module share a name.
    pub(super) fn names(&self) -> usize {
        self.0.values().map(|module| module.counted.len()).sum()
    }

    /// The same, with each type's methods counted separately.
    fn rows(&self) -> usize {
        self.0.values().flat_map(|module| module.counted.values()).map(Vec::len).sum()
    }

    /// Both counts, as text.
    pub(super) fn head(&self) -> String {
        format!("{} public names ({} with each type's methods counted apart)", self.names(), self.rows())
    }
}

struct Walk<'a> {
    json: &'a Crate,
    /// Items in the usual spelling.
    spelled: HashMap<Id, String>,
    /// The modules in which each item can be named, and its name there.
    places: BTreeMap<u32, Vec<(String, String)>>,
    listing: Listing,
}

impl Walk<'_> {
    fn item(&self, id: Id) -> Option<&Item> {
        self.json.index.get(&id)
    }

    /// Records where each item of `module` and of the modules below it can be named.
    fn find_places(&mut self, module: Id, path: &str) {
        let Some(Item { inner: ItemEnum::Module(Module { items, .. }), .. }) = self.item(module) else {
            return;
        };
        for &id in &items.clone() {
            let Some(item) = self.item(id) else { continue };
            match &item.inner {
                ItemEnum::Module(_) if item.visibility == Visibility::Public => {
                    let path = format!("{path}::{}", item.name.as_deref().unwrap_or_default());
                    self.find_places(id, &path);
                }
                ItemEnum::Use(used) => {
                    let (target, name) = (used.id, used.name.clone());
                    if let Some(target) = target {
                        self.places.entry(target.0).or_default().push((path.to_owned(), name));
                    }
                }
                _ if item.visibility == Visibility::Public => {
                    let name = item.name.clone().unwrap_or_default();
                    self.places.entry(id.0).or_default().push((path.to_owned(), name));
                }
                _ => {}
            }
        }
    }

    /// Lists each item in its innermost module, and where else it can be named.
    fn list_all(&mut self) {
        for (id, mut places) in std::mem::take(&mut self.places) {
            places.sort_by_key(|(path, _)| std::cmp::Reverse(path.matches("::").count()));
            let (home, name) = &places[0];
            self.list(Id(id), home, name);
            for (path, also) in &places[1..] {
                let here = self.listing.0.entry(path.clone()).or_default();
                here.also.insert(also.clone(), format!("{home}::{name}"));
            }
        }
    }

    fn row(&mut self, module: &str, name: &str, of: &str, what: String) {
        let rows =
            self.listing.0.entry(module.to_owned()).or_default().counted.entry(name.to_owned()).or_default();
        let is_there = rows.iter().any(|row| row.of == of && !of.is_empty());
        if !is_there {
            rows.push(Row { of: of.to_owned(), what });
        }
    }

    fn list(&mut self, id: Id, module: &str, name: &str) {
        let Some(item) = self.item(id).cloned() else {
            // An item of another crate: the derive macro.
            return self.row(module, name, "", "re-exported".into());
        };
        let spelled = self.spelled.get(&id).cloned().unwrap_or_default();
        let after = after_name(spelled.trim_end_matches("(_)"), name);
        let what = match &item.inner {
            ItemEnum::Function(_) => format!("fn {after}"),
            ItemEnum::Constant { .. } => format!("const {after}"),
            ItemEnum::Static(_) => format!("static {after}"),
            ItemEnum::Macro(_) | ItemEnum::ProcMacro(_) => "macro".into(),
            ItemEnum::TypeAlias(_) => format!("type {after}"),
            ItemEnum::Struct(inner) => match &inner.kind {
                StructKind::Plain { fields, .. } => format!("struct {after}{}", self.parts(fields)),
                _ => format!("struct {after}"),
            },
            ItemEnum::Union(inner) => format!("union {after}{}", self.parts(&inner.fields)),
            ItemEnum::Enum(inner) => format!("enum {after}{}", self.parts(&inner.variants)),
            ItemEnum::Trait(_) => format!("trait {after}"),
            _ => return,
        };
        self.row(module, name, "", what);
        let (impls, own) = match &item.inner {
            ItemEnum::Struct(inner) => (&inner.impls[..], &[][..]),
            ItemEnum::Union(inner) => (&inner.impls[..], &[][..]),
            ItemEnum::Enum(inner) => (&inner.impls[..], &[][..]),
            ItemEnum::Trait(inner) => (&[][..], &inner.items[..]),
            _ => (&[][..], &[][..]),
        };
        self.list_items(own, module, name, |_| true);
        for &id in impls {
            let Some(Item { inner: ItemEnum::Impl(block), attrs, .. }) = self.item(id).cloned() else {
                continue;
            };
            match &block.trait_ {
                None => {
                    self.list_items(&block.items, module, name, |item| item.visibility == Visibility::Public)
                }
                Some(path) => {
                    let derived = attrs
                        .iter()
                        .any(|attribute| format!("{attribute:?}").contains("AutomaticallyDerived"));
                    let is_local = self.json.index.contains_key(&path.id);
                    if !derived && !is_local && !block.is_synthetic && block.blanket_impl.is_none() {
                        let name_of_trait = path.path.rsplit("::").next().unwrap_or_default().to_owned();
                        let here = self.listing.0.entry(module.to_owned()).or_default();
                        here.traits.entry(name.to_owned()).or_default().insert(name_of_trait);
                    }
                }
            }
        }
    }

    /// Lists the methods, constants and associated types in an implementation or a trait.
    fn list_items(&mut self, items: &[Id], module: &str, of: &str, is_public: impl Fn(&Item) -> bool) {
        for &id in items {
            let Some(item) = self.item(id).filter(|item| is_public(item)).cloned() else { continue };
            let name = item.name.unwrap_or_default();
            let after = after_name(self.spelled.get(&id).map_or("", |text| text), &name);
            let what = match item.inner {
                ItemEnum::AssocConst { .. } => format!("const {after}"),
                ItemEnum::AssocType { .. } => format!("type {after}"),
                _ => format!("fn {after}"),
            };
            self.row(module, &name, of, what);
        }
    }

    /// The public fields, or the variants, of a type: they are parts of it, and not counted.
    fn parts(&self, ids: &[Id]) -> String {
        let parts = ids.iter().filter_map(|&id| self.item(id));
        let seen = parts.filter(|part| part.visibility != Visibility::Crate && part.name.is_some());
        let names: Vec<_> = seen.filter_map(|part| part.name.as_deref()).collect();
        if names.is_empty() { String::new() } else { format!(" {{ {} }}", names.join(", ")) }
    }
}

impl Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.head())?;
        writeln!(
            f,
            "Written by `cargo xtask surface --bless`. A name counts once in its module, whatever number of"
        )?;
        writeln!(
            f,
            "the module's types have it. Fields, variants, hidden items and implementations of traits do not"
        )?;
        writeln!(f, "count.")?;
        for (path, module) in &self.0 {
            writeln!(f, "\n{path}: {} names", module.counted.len())?;
            for (name, rows) in &module.counted {
                write_name(f, name, rows)?;
            }
            for (name, place) in &module.also {
                writeln!(f, "  {name} = {place}")?;
            }
            for (name, traits) in &module.traits {
                let traits: Vec<_> = traits.iter().map(String::as_str).collect();
                writeln!(f, "  impl for {name}: {}", traits.join(", "))?;
            }
        }
        Ok(())
    }
}

/// One line if all types with the name have it in the same form, otherwise one line below it for
/// each form.
fn write_name(f: &mut fmt::Formatter<'_>, name: &str, rows: &[Row]) -> fmt::Result {
    let mut alike: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        alike.entry(&row.what).or_default().insert(&row.of);
    }
    let types = |of: &BTreeSet<&str>| {
        let of: Vec<_> = of.iter().copied().filter(|of| !of.is_empty()).collect();
        if of.is_empty() { String::new() } else { format!(" [{}]", of.join(" ")) }
    };
    let line = |what: &str, of| format!("{what}{}", types(of));
    let lines: Vec<_> = alike.iter().map(|(what, of)| line(what, of)).collect();
    if let [line] = &lines[..] {
        return writeln!(f, "  {name}: {line}");
    }
    writeln!(f, "  {name}")?;
    lines.iter().try_for_each(|line| writeln!(f, "      {line}"))
}
