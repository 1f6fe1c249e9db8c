//! Signatures in a readable form: without the paths of types.

/// An item's text without the modules in its paths: `fn crossdock::Array<T>::len(&self)` becomes
/// `fn Array<T>::len(&self)`.
pub(super) fn without_modules(text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut short, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_module = first.is_lowercase() && after.starts_with("::") && !after.starts_with("::<");
        if end == 0 {
            short.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            short.push_str(if is_module { "" } else { word });
            rest = if is_module { &after[2..] } else { after };
        }
    }
    short
}

/// The rest of a function's text after its name: generics, parameters, result and bounds, after
/// `unsafe` or `const` if present. For a constant and a type, the text after the name.
pub(super) fn after_name(text: &str, name: &str) -> String {
    let text = text.strip_prefix("pub ").unwrap_or(text);
    let qualifiers: Vec<_> = text
        .split(' ')
        .take_while(|word| !["fn", "type"].contains(word))
        .filter(|word| QUALIFIERS.contains(word))
        .collect();
    let is_end = |rest: &str| rest.starts_with(['(', '<', ':', ' ']) || rest.is_empty();
    let ends = text.match_indices(name).map(|(at, name)| at + name.len());
    let preceded = |end: usize| text[..end - name.len()].ends_with([' ', ':']);
    let end = ends.filter(|&end| preceded(end)).find(|&end| is_end(&text[end..])).unwrap_or(text.len());
    let is_fn = text.contains("fn ");
    let before = if is_fn { qualifiers.join(" ") } else { String::new() };
    format!("{before} {}", &text[end..]).trim().to_owned()
}

const QUALIFIERS: &[&str] = &["unsafe", "const", "extern", "\"C\""];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_go_and_types_stay() {
        let text = "pub fn crossdock::Array<T, D>::get(&self, core::option::Option<[usize; D]>) -> T::Error";
        assert_eq!(without_modules(text), "pub fn Array<T, D>::get(&self, Option<[usize; D]>) -> T::Error");
    }

    #[test]
    fn what_follows_the_name_is_the_signature() {
        assert_eq!(after_name("pub unsafe fn Array<T>::get(&self) -> T", "get"), "unsafe (&self) -> T");
        assert_eq!(after_name("pub const fn Type::new<T>(T) -> Self", "new"), "const <T>(T) -> Self");
        assert_eq!(after_name("pub const LIMIT: usize", "LIMIT"), ": usize");
        assert_eq!(after_name("pub fn open(impl AsRef<Path>)", "open"), "(impl AsRef<Path>)");
    }
}
