//! Suggests a name that exists for one that does not.

use crate::error::short;

/// The longest names that are compared, in characters, and the most names.
const LONGEST: usize = 200;
const MOST: usize = 10_000;

/// ` (did you mean "weights"?)`, or nothing if no name is near.
#[cold]
pub(crate) fn did_you_mean<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    match similar(name, names) {
        Some(similar) => format!(" (did you mean {}?)", short(similar)),
        None => String::new(),
    }
}

/// The nearest of the names: at most one letter in three differs, or else the shortest name that
/// contains the wanted one.
pub fn similar<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = |text: &str| text.to_lowercase().chars().take(LONGEST + 1).collect::<Vec<char>>();
    let wanted = folded(name);
    if wanted.is_empty() || wanted.len() > LONGEST {
        return None;
    }
    let wanted_text: String = wanted.iter().collect();
    let rank = |candidate: &'a str| {
        let letters = folded(candidate);
        if letters.len() > LONGEST {
            return None;
        }
        let most = (wanted.len().max(letters.len()) / 3).max(1);
        let differences = match wanted.len().abs_diff(letters.len()) <= most {
            true => distance(&wanted, &letters),
            false => usize::MAX,
        };
        let contains = wanted.len() > 2 && candidate.to_lowercase().contains(&wanted_text);
        match differences {
            _ if differences <= most && differences < wanted.len() => Some((differences, 0, candidate)),
            _ if contains => Some((LONGEST, letters.len(), candidate)),
            _ => None,
        }
    };
    let near = names.into_iter().take(MOST).filter_map(rank);
    near.min_by_key(|&(differences, len, _)| (differences, len)).map(|(_, _, candidate)| candidate)
}

/// How many letters must be inserted, deleted, replaced or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    // The rows for the letters of `a` up to the last but one, the last, and the current one.
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut row = vec![0; b.len() + 1];
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_suggested_and_others_are_not() {
        let names = ["weights", "bias", "model.layers.0.weight", "model.layers.10.weight", "x"];
        for (name, wanted) in [
            ("weigths", Some("weights")),
            ("Weights", Some("weights")),
            ("weight", Some("weights")),
            ("bais", Some("bias")),
            ("layers.0.weight", Some("model.layers.0.weight")),
            ("layers", Some("model.layers.0.weight")),
            ("y", None),
            ("", None),
            ("prices", None),
        ] {
            assert_eq!(similar(name, names), wanted, "{name:?}");
        }
        assert_eq!(did_you_mean("wieghts", names), " (did you mean \"weights\"?)");
        assert_eq!(did_you_mean(&"a".repeat(5000), ["a".repeat(5001).as_str()]), "");
    }
}
