//! Random formats, valid and damaged.

use crate::made::Maker;
use crossdock::bindings::dialect::pep3118;
use crossdock::element::DType;
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

#[test]
fn a_format_is_read_as_it_was_meant() {
    let mut coverage = Coverage::default();
    let mut rng = Rng::with_seed(seed());
    for _ in 0..crate::cases() {
        coverage.case();
        let (text, meant, sizes) = Maker::new(rng.fork(), &mut coverage, false).format();
        assert_eq!(pep3118::parse(text.as_bytes()).unwrap(), meant, "{text}");
        for &size in &sizes {
            let sized = pep3118::parse_sized(text.as_bytes(), size).unwrap();
            assert_eq!(sized.itemsize(), size, "{text}");
            assert!(size != meant.itemsize() || sized == meant, "{text}");
        }
        let wrong = sizes.iter().max().unwrap() + 1;
        let error = pep3118::parse_sized(text.as_bytes(), wrong).unwrap_err();
        assert!(error.is_malformed() && error.to_string().contains(&wrong.to_string()), "{error}");
    }
    println!("{coverage}");
    let classes = [
        "a shape",
        "a name",
        "several items outside of a record",
        "padding between items",
        "items with padding behind them",
        "white space",
    ];
    coverage.assert_at_least(0.03, classes);
    coverage.assert_at_least(0.005, ["a record in a record", "a record with padding behind its items"]);
    coverage.assert_at_least(0.03, ["behind @", "behind ^", "behind =", "behind <", "behind >", "behind !"]);
}

/// A printed format is read as the same dtype.
fn check_spellings(dtype: &DType, coverage: &mut Coverage) {
    match pep3118::print(dtype) {
        Ok(text) => {
            assert_eq!(pep3118::parse(text.as_bytes()).unwrap(), *dtype, "{text}");
            let unaligned = pep3118::print_unaligned(dtype).unwrap();
            assert_eq!(pep3118::parse(unaligned.as_bytes()).unwrap(), *dtype, "{unaligned}");
            if let Some(letters) = pep3118::print_static(dtype) {
                assert_eq!(letters.to_str().unwrap(), text);
                coverage.note("letters alone");
            }
            coverage.note_if(text.contains("T{") && text == unaligned, "records that are marked anyway");
            coverage.note_if(text.contains("T{") && text != unaligned, "records that lie as in C");
        }
        Err(error) => {
            assert!(error.is_unsupported(), "{error}");
            assert!(pep3118::print_unaligned(dtype).is_err() && pep3118::print_static(dtype).is_none());
            coverage.note("not to be said");
        }
    }
}

#[test]
fn a_dtype_comes_back_from_its_format() {
    let (mut coverage, mut making) = (Coverage::default(), Coverage::default());
    let mut rng = Rng::with_seed(seed());
    for _ in 0..crate::cases() {
        coverage.case();
        let (_, dtype, _) = Maker::new(rng.fork(), &mut making, false).format();
        check_spellings(&dtype, &mut coverage);
    }
    println!("{coverage}");
    coverage.assert_at_least(0.02, ["letters alone", "records that are marked anyway", "not to be said"]);
    coverage.assert_at_least(0.02, ["records that lie as in C"]);
}

#[test]
fn a_damaged_format_is_an_error_or_a_dtype() {
    let (mut coverage, mut making) = (Coverage::default(), Coverage::default());
    let mut rng = Rng::with_seed(seed());
    for _ in 0..crate::cases() {
        coverage.case();
        let mut text = Maker::new(rng.fork(), &mut making, false).format().0.into_bytes();
        for _ in 0..rng.usize(1..3) {
            let byte =
                if rng.bool() { rng.u8(..) } else { *rng.choice(b"@^=<>!(){}:,0123456789xTZdO").unwrap() };
            let at = rng.usize(0..=text.len());
            match rng.u8(0..3) {
                0 => text.insert(at, byte),
                1 if at < text.len() => text[at] = byte,
                2 if at < text.len() => drop(text.remove(at)),
                _ => text.push(byte),
            }
        }
        match pep3118::parse(&text) {
            Ok(dtype) => {
                coverage.note("a dtype all the same");
                check_spellings(&dtype, &mut Coverage::default());
            }
            Err(error) => {
                coverage.note("an error");
                let kinds =
                    [error.is_malformed(), error.is_unsupported(), error.is_overflow(), error.is_dtype()];
                assert!(kinds.contains(&true), "{error}");
            }
        }
    }
    println!("{coverage}");
    coverage.assert_at_least(0.2, ["a dtype all the same", "an error"]);
}
