//! Columns of text: checked, and read one element after the other.

use std::hint::black_box;

use arrow_array::{Array as _, StringArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use crossdock::exchange::protocol::arrow::{export_column, import_column};
use crossdock::table::{Checks, Column, Field};

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::tables::{ARROW, columns};
use crate::{Measure, Result};

const LIMIT: &str = "simdutf8 of all bytes (the limit)";

fn offsets(words: &[String]) -> Vec<i32> {
    let mut offsets = vec![0];
    let mut end = 0;
    for word in words {
        end += word.len() as i32;
        offsets.push(end);
    }
    offsets
}

/// Offsets and text are checked, which arrow-rs does when it makes an array.
fn check(title: &'static str, words: &[String]) -> Result<Table> {
    let column = columns::text(words, false)?; // not constant, so that the result is not kept
    let bytes = words.concat().into_bytes();
    let offsets = ScalarBuffer::from(offsets(words));
    let values = arrow_buffer::Buffer::from_vec(bytes.clone());
    let answer = words.len();
    let cases = vec![
        Case::new(LIMIT, bytes.len(), || {
            simdutf8::basic::from_utf8(black_box(&bytes)).map_or(0, |text| black_box(text).len())
        }),
        // The same task by the same crate, without blocks of elements.
        Case::new("simdutf8 of each element", answer, || {
            let ranges = black_box(&offsets).windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
            ranges.filter(|range| simdutf8::basic::from_utf8(&bytes[range.clone()]).is_ok()).count()
        }),
        Case::new("std of all bytes", bytes.len(), || {
            std::str::from_utf8(black_box(&bytes)).map_or(0, |text| black_box(text).len())
        }),
        Case::new(ARROW, answer, || {
            let offsets = OffsetBuffer::new(black_box(&offsets).clone());
            let array = StringArray::try_new(offsets, black_box(&values).clone(), None);
            black_box(&array).as_ref().map_or(0, |array| array.len())
        }),
        Case::new("crossdock", answer, || match black_box(&column).check(Checks::Full) {
            Ok(()) => column.len(),
            Err(_) => 0,
        })
        .reaching(Reach::ratio(1.0, LIMIT)),
    ];
    harness::measure(title, Scale::gigabytes(bytes.len()), &[LIMIT, ARROW], cases)
}

pub(super) fn check_ascii(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let words: Vec<String> = (0..1 << 20).map(|k| format!("element {}", k % 1000)).collect();
    check("check of 1 Mi ASCII words", &words)
}

pub(super) fn check_words(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    check("check of 1 Mi words beyond ASCII", &columns::words(1 << 20))
}

pub(super) fn check_paragraphs(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let paragraphs: Vec<String> = columns::words(1 << 20).chunks(64).map(|words| words.join(" ")).collect();
    check("check of 16 Ki paragraphs beyond ASCII", &paragraphs)
}

/// The lengths and the first bytes of ten million elements, added up. `values` gives elements that
/// were checked, as arrow-rs does; `iter` checks as it goes, and gives a result for each.
pub(super) fn iterate(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    const COUNT: usize = 10_000_000;
    let words = columns::words(COUNT);
    let number = |word: &str| word.len() + usize::from(word.as_bytes().first().copied().unwrap_or_default());
    let answer: usize = words.iter().map(|word| number(word)).sum();
    let nbytes = words.iter().map(String::len).sum::<usize>() + 4 * (COUNT + 1);
    let theirs = StringArray::from_iter_values(words.iter());
    let own = columns::text(&words, false)?;
    let field = Field::new("text", own.column_type().clone())?;
    let (mut schema, mut array) = export_column(&field, &own)?.into_raw();
    // SAFETY: just exported, and not consumed yet. Its memory is constant.
    let (_, checked) = unsafe { import_column(&mut schema, &mut array, Checks::Full) }?;
    let own = columns::text(&words, false)?;
    let sum = |column: &Column| -> crossdock::Result<usize> {
        let text = column.text()?;
        let mut sum = 0;
        for element in text.iter() {
            sum += element?.map_or(0, number);
        }
        Ok(sum)
    };
    let values = |column: &Column| -> crossdock::Result<usize> {
        let text = column.text()?;
        Ok(text.values()?.map(|element| element.map_or(0, number)).sum())
    };
    let cases = vec![
        Case::new(ARROW, answer, || black_box(&theirs).iter().map(|element| element.map_or(0, number)).sum()),
        Case::new("crossdock: values", answer, || values(black_box(&checked)).unwrap_or(0))
            .reaching(Reach::ratio(1.0, ARROW)),
        Case::new("crossdock: values, and a check", answer, || values(black_box(&own)).unwrap_or(0)),
        Case::new("crossdock: iter", answer, || sum(black_box(&checked)).unwrap_or(0)),
        Case::new("crossdock: iter, and checks", answer, || sum(black_box(&own)).unwrap_or(0)),
    ];
    harness::measure("10 million elements of text", Scale::gigabytes(nbytes), &[ARROW], cases)
}
