//! The drawing of the layers that `ARCHITECTURE.md` shows.

use std::collections::BTreeMap;

use crate::rules::Layer;

/// A user of the library: a name, and the beginning of its documentation.
pub(crate) type Artefact = (&'static str, String);

/// One line for each layer, from the lowest on: its name, the layers that it uses, and its
/// `summary`. Layers on one line do not use each other.
pub(crate) fn drawing(layers: &[Layer], artefacts: &[Artefact], summary: impl Fn(&str) -> String) -> String {
    let mut rows: BTreeMap<usize, Vec<[String; 3]>> = BTreeMap::new();
    for (name, _) in layers {
        let uses = nearest(layers, name);
        let uses = if uses.is_empty() { String::new() } else { format!("uses {}", uses.join(", ")) };
        rows.entry(level(layers, name)).or_default().push([(*name).to_owned(), uses, summary(name)]);
    }
    for (name, summary) in artefacts {
        let row = [(*name).to_owned(), "uses the library".to_owned(), summary.clone()];
        rows.entry(usize::MAX).or_default().push(row);
    }
    let width = |column: usize| rows.values().flatten().map(|row| row[column].chars().count()).max();
    let widths = [0, 1].map(|column| width(column).unwrap_or(0) + 2);
    let groups = rows.values().map(|group| {
        let line = |[name, uses, summary]: &[String; 3]| {
            let [first, second] = widths;
            format!("{name:first$}{uses:second$}{summary}\n")
        };
        group.iter().map(line).collect::<String>()
    });
    groups.collect::<Vec<_>>().join("   │\n")
}

/// The number of layers below one, along the longest path.
fn level(layers: &[Layer], name: &str) -> usize {
    let below = uses(layers, name).iter().map(|used| level(layers, used) + 1);
    below.max().unwrap_or(0)
}

fn uses(layers: &[Layer], name: &str) -> &'static [&'static str] {
    layers.iter().find(|(layer, _)| *layer == name).map_or(&[], |(_, uses)| uses)
}

/// The layers that one uses, without those that these use themselves.
fn nearest(layers: &[Layer], name: &str) -> Vec<&'static str> {
    let all = uses(layers, name);
    let is_far = |used: &str| all.iter().any(|other| uses(layers, other).contains(&used));
    all.iter().copied().filter(|used| !is_far(used)).collect()
}

/// The first clause of the documentation that a source begins with, of three words at least.
pub(crate) fn first_clause(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let text: Vec<&str> = lines.map(str::trim).take_while(|line| !line.is_empty()).collect();
    let text = text.join(" ") + " ";
    let stops = [". ", ": ", "; "].iter().flat_map(|stop| text.match_indices(stop));
    let ends = stops.map(|(end, _)| end).filter(|&end| text[..end].split_whitespace().count() >= 3);
    let end = ends.min().unwrap_or(text.len());
    text[..end].trim().to_owned()
}

/// The text of the first drawing in a document.
pub(crate) fn drawing_in(document: &str) -> &str {
    let behind = document.split("```text\n").nth(1);
    behind.and_then(|text| text.split("```").next()).expect("a drawing")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: &[Layer] =
        &[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["a", "b", "c"]), ("long", &["a", "b"])];

    #[test]
    fn layers_stand_above_those_that_use_them() {
        let drawn = drawing(LAYERS, &[("tool", "tells".to_owned())], |layer| format!("is {layer}"));
        let expected = "\
a                       is a
   │
b     uses a            is b
c     uses a            is c
   │
d     uses b, c         is d
long  uses b            is long
   │
tool  uses the library  tells
";
        assert_eq!(drawn, expected);
        assert_eq!(drawing_in(&format!("Text.\n\n```text\n{drawn}```\n")), drawn);
    }

    #[test]
    fn the_first_clause_ends_with_a_stop() {
        assert_eq!(first_clause("//! How it\n//! is: so.\n//!\n//! More.\nuse a;"), "How it is");
        assert_eq!(first_clause("//! Arrays: bytes with a dtype. And more.\n"), "Arrays: bytes with a dtype");
        assert_eq!(first_clause("//! `.npy` files\n"), "`.npy` files");
    }
}
