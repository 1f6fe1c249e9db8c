//! The design: the form of its entries, its table of contents, and the comments that name entries.

use std::collections::HashSet;
use std::fs;

use crate::{anchor, comments, read, root};

const MOST_WORDS: usize = 120;

struct Entry {
    chapter: String,
    heading: String,
    body: String,
}

/// The pages of chapters, in the order of the table of contents.
fn chapters() -> Vec<String> {
    let text = read("DESIGN.md");
    let lines = text.lines().filter(|line| line.starts_with("## "));
    lines.map(|line| line.split(['(', ')']).nth(1).expect("a chapter is a link").to_owned()).collect()
}

fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for chapter in chapters() {
        for entry in read(&chapter).split("\n## ").skip(1) {
            let (heading, body) = entry.split_once('\n').unwrap();
            entries.push(Entry {
                chapter: chapter.clone(),
                heading: heading.to_owned(),
                body: body.to_owned(),
            });
        }
    }
    assert!(entries.len() > 100, "{} entries were seen", entries.len());
    entries
}

#[test]
fn an_entry_of_the_design_is_a_decision_a_reason_and_what_was_rejected_in_120_words() {
    let mut wrong = Vec::new();
    for Entry { chapter, heading, body } in entries() {
        let words = body.split_whitespace().count();
        if words > MOST_WORDS {
            wrong.push(format!("{chapter}, \"{heading}\" has {words} words"));
        }
        let (decision, rest) = body.split_once("\n\n*Reason:* ").unwrap_or_default();
        let (reason, rejected) = rest.split_once("\n\n*Rejected:* ").unwrap_or_default();
        if [decision, reason, rejected].iter().any(|part| part.trim().is_empty()) {
            wrong.push(format!("{chapter}, \"{heading}\" lacks a part, or has them in another order"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_contents_of_the_design_list_every_chapter_and_every_entry_in_order() {
    let text = read("DESIGN.md");
    let listed: Vec<&str> = text.lines().filter(|line| line.starts_with(['#', '-'])).skip(1).collect();
    let entries = entries();
    let mut expected = Vec::new();
    for chapter in chapters() {
        let title = read(&chapter).lines().next().unwrap().trim_start_matches("# ").to_owned();
        expected.push(format!("## [{title}]({chapter})"));
        for Entry { heading, .. } in entries.iter().filter(|entry| entry.chapter == chapter) {
            expected.push(format!("- [{heading}]({chapter}#{})", anchor(heading)));
        }
    }
    assert_eq!(listed, expected);

    let listed: HashSet<String> = chapters().into_iter().collect();
    let pages = fs::read_dir(root().join("docs/design")).unwrap();
    let pages: HashSet<String> =
        pages.map(|entry| format!("docs/design/{}", entry.unwrap().file_name().to_str().unwrap())).collect();
    assert_eq!(listed, pages);
}

#[test]
fn headings_of_the_design_are_distinct() {
    let entries = entries();
    let headings: HashSet<&str> = entries.iter().map(|entry| entry.heading.as_str()).collect();
    assert_eq!(headings.len(), entries.len());
}

/// The page and the heading stand in one line of the comment.
#[test]
fn comments_name_entries_of_the_design_that_exist_and_every_chapter_is_named() {
    let entries = entries();
    let mut named = HashSet::new();
    for (place, line, _) in comments() {
        let Some((_, rest)) = line.split_once("DESIGN.md") else { continue };
        let heading = rest.strip_prefix("`, \"").and_then(|rest| rest.split('"').next());
        let entry = entries.iter().find(|entry| Some(entry.heading.as_str()) == heading);
        let entry = entry.unwrap_or_else(|| panic!("{place} names no entry: {line}"));
        named.insert(entry.chapter.clone());
    }
    let unnamed: Vec<String> = chapters().into_iter().filter(|chapter| !named.contains(chapter)).collect();
    assert!(unnamed.is_empty(), "no comment names an entry of {}", unnamed.join(", "));
}
