//! Signatures of functions, as `inspect` reads them, and the errors of calls that do not match.

use pyo3::PyErr;
use pyo3::exceptions::PyTypeError;

/// A function's parameters, parsed from its text signature: `(x, /, dtype=None, *, copy=True)`.
pub(crate) struct Signature<'a> {
    function: &'a str,
    parameters: Vec<Parameter<'a>>,
    /// Whether any further names are accepted (`**kwargs`).
    has_other_names: bool,
}

struct Parameter<'a> {
    name: &'a str,
    kind: Kind,
    is_optional: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    PositionalOnly,
    Either,
    KeywordOnly,
}

/// For those who know NumPy's `asarray`, which converts.
const CONVERTED: &str =
    "it gives elements as they are: crossdock.array(x, dtype) converts, and so does asarray(x).astype(dtype)";

impl<'a> Signature<'a> {
    /// `text` is the list of parameters, with or without parentheses. `self` is left out.
    pub(crate) fn parse(function: &'a str, text: &'a str) -> Self {
        let text = text.trim().trim_start_matches('(').trim_end_matches(')');
        let mut signature = Self { function, parameters: Vec::new(), has_other_names: false };
        let mut kind = Kind::Either;
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if part == "/" {
                signature.parameters.iter_mut().for_each(|parameter| parameter.kind = Kind::PositionalOnly);
            } else if part.starts_with("**") {
                signature.has_other_names = true;
            } else if part.starts_with('*') {
                kind = Kind::KeywordOnly;
            } else if !part.starts_with('$') {
                let (name, default) = part.split_once('=').unwrap_or((part, ""));
                signature.parameters.push(Parameter { name, kind, is_optional: !default.is_empty() });
            }
        }
        signature
    }

    /// Parses the first line of a docstring: `copy($self, /, order='C')`.
    pub(crate) fn of_docstring(docstring: &'a str) -> Self {
        let line = docstring.lines().next().unwrap_or_default();
        let (function, parameters) = line.split_once('(').unwrap_or((line, ""));
        Self::parse(function, parameters)
    }

    /// The names of the arguments that a call may name.
    fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        let named = self.parameters.iter().filter(|parameter| parameter.kind != Kind::PositionalOnly);
        named.map(|parameter| parameter.name)
    }

    /// Whether the function has a parameter of this name, or accepts any names.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.has_other_names || self.parameters.iter().any(|parameter| parameter.name == name)
    }

    /// The error for an argument that the function does not have, with the name that was probably
    /// meant.
    pub(crate) fn unexpected(&self, name: &str) -> PyErr {
        let function = self.function;
        let text = format!("{function}() got an unexpected keyword argument '{name}'");
        let names: Vec<&str> = self.names().collect();
        PyTypeError::new_err(match nearest(name, &names) {
            _ if name == "dtype" && function == "asarray" => format!("{text}; {CONVERTED}"),
            Some(nearest) => format!("{text}. Did you mean '{nearest}'?"),
            None if names.is_empty() => format!("{text}; it takes none"),
            None => format!("{text}; it takes {}", listed(&names)),
        })
    }

    /// The error for an argument that is given by position and by name.
    pub(crate) fn twice(&self, name: &str) -> PyErr {
        PyTypeError::new_err(format!("{}() got multiple values for argument '{name}'", self.function))
    }

    /// The error for a call without an argument that has no default.
    pub(crate) fn missing(&self, name: &str) -> PyErr {
        PyTypeError::new_err(format!("{}() missing 1 required positional argument: '{name}'", self.function))
    }

    /// The error for a call with `given` positional arguments, which are more than the function
    /// has.
    pub(crate) fn too_many(&self, given: usize) -> PyErr {
        let positional = || self.parameters.iter().filter(|parameter| parameter.kind != Kind::KeywordOnly);
        let most = positional().count();
        let least = positional().filter(|parameter| !parameter.is_optional).count();
        let range = if least == most { most.to_string() } else { format!("from {least} to {most}") };
        let plural = if most == 1 { "" } else { "s" };
        let verb = if given == 1 { "was" } else { "were" };
        let mut text =
            format!("{}() takes {range} positional argument{plural} but {given} {verb} given", self.function);
        let named: Vec<&str> =
            self.names().skip_while(|name| positional().any(|one| one.name == *name)).collect();
        if !named.is_empty() {
            text += &format!("; {} by name only", listed(&named));
        }
        PyTypeError::new_err(text)
    }
}

/// `'a', 'b' and 'c'`.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    match quoted.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        one => one.concat(),
    }
}

/// The name that differs from `name` by the fewest letters, if these are at most a third.
fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let (name, most) = (name.to_lowercase(), (name.chars().count() / 3).clamp(1, 4));
    // Abbreviations are near as well.
    let begins = |known: &str| name.len() >= 3 && known.starts_with(&name);
    let near = names.iter().map(|&known| (if begins(known) { 1 } else { distance(&name, known) }, known));
    near.filter(|&(distance, _)| distance <= most).min().map(|(_, known)| known)
}

/// The number of letters to insert, remove or replace, or of neighbours to exchange.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for row in 1..=a.len() {
        let mut line = vec![row];
        for column in 1..=b.len() {
            let is_other = usize::from(a[row - 1] != b[column - 1]);
            let mut least = (above[column - 1] + is_other).min(above[column] + 1).min(line[column - 1] + 1);
            let is_swapped =
                row > 1 && column > 1 && a[row - 1] == b[column - 2] && a[row - 2] == b[column - 1];
            if is_swapped {
                least = least.min(before[column - 2] + 1);
            }
            line.push(least);
        }
        before = std::mem::replace(&mut above, line);
    }
    above[b.len()]
}
