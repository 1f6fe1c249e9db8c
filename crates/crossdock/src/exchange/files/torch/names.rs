//! The names of the values of a pickle: their paths through its dictionaries and lists.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::rc::Rc;

use crate::element::{ScalarKind, Value, digits};
use crate::error::{Advice, Error, Kind, Result, short};
use crate::exchange::files::torch::pickle::{Pickle, Pickled, PickledTensor};

/// Deeper paths are refused, and so are more values: shared lists can have very many paths.
const DEEPEST: usize = 64;
const MOST_VALUES: usize = 1 << 20;

/// The longest name, and the most bytes of all names and texts: a key that is in the file once can
/// be in many names.
const MOST_NAMED: usize = 1 << 12;
const MOST_LISTED: usize = 64 << 20;

/// Longer texts beside the tensors are left out.
const MOST_TEXT: usize = 1 << 10;

/// The values of a pickle, under names that differ.
pub(super) struct ListedValues {
    pub(super) tensors: Vec<(String, Rc<PickledTensor>)>,
    pub(super) refused: Vec<(String, Error)>,
    pub(super) texts: Vec<(String, String)>,
}

/// Lists the values. The outermost one has the name `alone`.
pub(super) fn list(pickle: &Pickle, alone: &str) -> Result<ListedValues> {
    let listed = ListedValues { tensors: Vec::new(), refused: Vec::new(), texts: Vec::new() };
    let mut walk = Walk { pickle, listed, left: MOST_VALUES, nbytes: 0 };
    walk.descend(&pickle.root, alone.to_owned(), 0)?;
    let mut listed = walk.listed;
    listed.refuse_same_names();
    Ok(listed)
}

impl ListedValues {
    /// Refuses values that have the same name: which of them it means would be a guess.
    fn refuse_same_names(&mut self) {
        let Self { tensors, refused, texts } = self;
        let mut counts = HashMap::new();
        let names = tensors.iter().map(|(name, _)| name).chain(refused.iter().map(|(name, _)| name));
        for name in names.chain(texts.iter().map(|(name, _)| name)) {
            *counts.entry(name.as_str()).or_insert(0_usize) += 1;
        }
        let mut same: Vec<(String, usize)> = counts
            .into_iter()
            .filter(|&(_, count)| count > 1)
            .map(|(name, n)| (name.to_owned(), n))
            .collect();
        if same.is_empty() {
            return;
        }
        same.sort();
        let differs = |name: &str| same.binary_search_by(|one| one.0.as_str().cmp(name)).is_err();
        tensors.retain(|one| differs(&one.0));
        refused.retain(|one| differs(&one.0));
        texts.retain(|one| differs(&one.0));
        refused.extend(same.into_iter().map(|(name, count)| {
            let text = format!(
                "{count} values have this name, which joins their keys with dots; rename a key and save them \
                again"
            );
            (name, Error::new(Kind::Unsupported, text))
        }));
    }
}

/// Collects the values of a pickle.
struct Walk<'a> {
    pickle: &'a Pickle,
    listed: ListedValues,
    /// How many more values may be visited.
    left: usize,
    /// The bytes of names and texts so far.
    nbytes: usize,
}

impl Walk<'_> {
    fn descend(&mut self, value: &Pickled, path: String, depth: usize) -> Result<()> {
        if depth > DEEPEST {
            let text = format!("its values are nested more than {DEEPEST} levels deep");
            return Err(Error::new(Kind::Unsupported, text));
        }
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| Error::new(Kind::Unsupported, format!("it has more than {MOST_VALUES} values")))?;
        match value {
            Pickled::Dict(dict) => {
                for (key, value) in &self.pickle.dicts[*dict] {
                    let path = self.inner(&path, key)?;
                    self.descend(value, path, depth + 1)?;
                }
            }
            Pickled::List(list) | Pickled::Tuple(list) => {
                for (index, value) in (0..).zip(&self.pickle.lists[*list]) {
                    let path = self.inner(&path, &Pickled::Int(index))?;
                    self.descend(value, path, depth + 1)?;
                }
            }
            Pickled::Tensor(tensor) => {
                self.count(path.len())?;
                self.listed.tensors.push((path, tensor.clone()));
            }
            Pickled::Object(class) | Pickled::Global(class) => {
                let text = format!("it is what Python makes of {}, which is never called", short(class));
                self.refuse(path, Error::new(Kind::Unsupported, text).advising(Advice::OpenPickle))?;
            }
            Pickled::NoTensor(why) => self.refuse(path, Error::new(Kind::Unsupported, why.to_string()))?,
            Pickled::Storage(_) => {
                let error = Error::new(Kind::Unsupported, "it is a storage without a tensor");
                self.refuse(path, error.advising(Advice::OpenPickle))?;
            }
            Pickled::Bool(value) => self.text(path, value.to_string())?,
            Pickled::Int(value) => self.text(path, value.to_string())?,
            Pickled::Float(value) => self.text(path, digits::float(*value, ScalarKind::Float64))?,
            Pickled::Text(value) if value.len() <= MOST_TEXT => self.text(path, value.to_string())?,
            Pickled::Text(_) | Pickled::Nothing => {}
        }
        Ok(())
    }

    fn refuse(&mut self, path: String, error: Error) -> Result<()> {
        self.count(path.len())?;
        self.listed.refused.push((path, error));
        Ok(())
    }

    fn text(&mut self, path: String, text: String) -> Result<()> {
        self.count(path.len() + text.len())?;
        self.listed.texts.push((path, text));
        Ok(())
    }

    /// Counts the bytes of a name and its text.
    fn count(&mut self, nbytes: usize) -> Result<()> {
        self.nbytes += nbytes;
        if self.nbytes > MOST_LISTED {
            let text = format!("its names and texts have more than {MOST_LISTED} bytes");
            return Err(Error::new(Kind::Unsupported, text));
        }
        Ok(())
    }

    /// The path of the value with a key in the container with a path.
    fn inner(&self, path: &str, key: &Pickled) -> Result<String> {
        let mut inner = LimitedName(path.to_owned());
        let mut written = if path.is_empty() { Ok(()) } else { inner.write_str(".") };
        if written.is_ok() {
            written = match key {
                Pickled::Text(text) => inner.write_str(text),
                key => self.write_key(key, &mut inner, 0),
            };
        }
        written.map(|()| inner.0).map_err(|_| {
            let text = match key {
                Pickled::Text(key) => format!("the key {} in {}", short(key), short(path)),
                _ => format!("a key in {}", short(path)),
            };
            let text = format!("{text} makes a name of more than {MOST_NAMED} bytes; at most that are read");
            Error::new(Kind::Unsupported, text)
        })
    }

    /// Writes a key as Python does.
    fn write_key(&self, key: &Pickled, name: &mut LimitedName, depth: usize) -> fmt::Result {
        match key {
            Pickled::Nothing => name.write_str("None"),
            Pickled::Bool(value) => name.write_str(if *value { "True" } else { "False" }),
            Pickled::Int(value) => write!(name, "{value}"),
            Pickled::Float(value) => name.write_str(&digits::float(*value, ScalarKind::Float64)),
            Pickled::Text(text) if text.len() > MOST_NAMED => Err(fmt::Error),
            Pickled::Text(text) => write!(name, "{}", Value::Text(text.to_string())),
            Pickled::Tuple(list) if depth < DEEPEST => {
                let items = &self.pickle.lists[*list];
                for (index, item) in items.iter().enumerate() {
                    name.write_str(if index == 0 { "(" } else { ", " })?;
                    self.write_key(item, name, depth + 1)?;
                }
                name.write_str(match items.len() {
                    0 => "()",
                    1 => ",)",
                    _ => ")",
                })
            }
            Pickled::Global(class) => name.write_str(class),
            Pickled::Object(class) => write!(name, "<{class}>"),
            Pickled::Tensor(_) | Pickled::NoTensor(_) => name.write_str("<tensor>"),
            Pickled::Storage(_) => name.write_str("<storage>"),
            // Python has no such keys.
            Pickled::Tuple(_) | Pickled::List(_) | Pickled::Dict(_) => Err(fmt::Error),
        }
    }
}

/// A name that does not become too long.
struct LimitedName(String);

impl Write for LimitedName {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MOST_NAMED {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
