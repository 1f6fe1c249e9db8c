//! Checks test filters: a filter that matches nothing runs nothing, and one that matches too much
//! skips too much.

use anyhow::{Result, bail};

/// The names that a test program lists with `--list`.
pub(crate) fn listed(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// The names of the tests that ran, from the output of a test program.
pub(crate) fn ran(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// An error unless each filter matches a test.
pub(crate) fn each_finds_some(parts: &[&str], names: &[String]) -> Result<()> {
    match parts.iter().find(|part| !names.iter().any(|name| name.contains(**part))) {
        Some(part) => bail!("no test has `{part}` in its name"),
        None if names.is_empty() => bail!("there are no tests"),
        None => Ok(()),
    }
}

/// An error unless each filter matches exactly one test.
pub(crate) fn each_finds_one<'a>(parts: impl Iterator<Item = &'a str>, names: &[String]) -> Result<()> {
    for part in parts {
        let found: Vec<_> = names.iter().filter(|name| name.contains(part)).map(String::as_str).collect();
        if found.len() != 1 {
            bail!(
                "`{part}` should stand in the name of one test, and does in {}: {}",
                found.len(),
                found.join(", ")
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_lists_and_from_runs() {
        assert_eq!(listed("a::b: test\nc: benchmark\n\n1 test, 1 benchmark\n"), ["a::b"]);
        assert_eq!(ran("running 2 tests\ntest a::b ... ok\ntest c ... said something\nok\n"), ["a::b", "c"]);
        assert_eq!(ran("test src/lib.rs - a (line 3) ... ok\n"), ["src/lib.rs - a (line 3)"]);
    }

    #[test]
    fn a_filter_that_finds_nothing_is_an_error() {
        let names = ["a::one", "b::two"].map(str::to_owned);
        assert!(each_finds_some(&["a::", "two"], &names).is_ok());
        let error = each_finds_some(&["a::", "c::"], &names).unwrap_err().to_string();
        assert!(error.contains("`c::`"), "{error}");
        assert!(each_finds_some(&[], &[]).is_err());
    }

    #[test]
    fn a_part_of_a_name_that_leaves_out_several_is_an_error() {
        let names = ["surprises::a_slice", "surprises::a_limit"].map(str::to_owned);
        assert!(each_finds_one(["a_limit"].into_iter(), &names).is_ok());
        let error = each_finds_one(["surprises::a_"].into_iter(), &names).unwrap_err().to_string();
        assert!(error.contains("in 2") && error.contains("surprises::a_slice"), "{error}");
        assert!(each_finds_one(["gone"].into_iter(), &names).is_err());
    }
}
