//! The programs in Rust of the guide's chapters: each chapter shows the file as it is, and what the
//! program prints.

mod channel {
    include!("../../../docs/guide/programs/06_channel.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

mod copies {
    include!("../../../docs/guide/programs/05_copies.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

mod costs {
    include!("../../../docs/guide/programs/12_costs.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

mod devices {
    include!("../../../docs/guide/programs/07_devices.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

mod leases {
    include!("../../../docs/guide/programs/04_leases.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

mod leases_picture {
    include!("../../../docs/guide/programs/04_picture.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

mod memory {
    include!("../../../docs/guide/programs/09_memory.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

mod open {
    include!("../../../docs/guide/programs/01_open.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

mod producer {
    include!("../../../docs/guide/programs/08_producer.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

mod shareable {
    include!("../../../docs/guide/programs/09_shareable.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

mod slices {
    include!("../../../docs/guide/programs/03_slices.rs");

    pub(crate) fn run() -> Result<()> {
        main()
    }
}

const PROGRAM: &str = "CROSSDOCK_TEST_PROGRAM";

/// One of the programs, if this process was started for it. The copied bytes, the pools and the
/// ledger are those of a whole process, so each program has its own.
#[test]
fn program() {
    let Ok(name) = std::env::var(PROGRAM) else { return };
    let outcome = match name.as_str() {
        "channel" => channel::run(),
        "copies" => copies::run(),
        "costs" => costs::run(),
        "devices" => devices::run(),
        "leases" => leases::run(),
        "leases_picture" => leases_picture::run(),
        "memory" => memory::run(),
        "open" => open::run(),
        "producer" => producer::run(),
        "shareable" => return end(shareable::run()),
        "slices" => slices::run(),
        _ => panic!("{name}"),
    };
    end(outcome)
}

fn end<E: std::fmt::Display>(outcome: Result<(), E>) {
    if let Err(error) = &outcome {
        eprintln!("{error}");
    }
    std::process::exit(i32::from(outcome.is_err()));
}

/// What a program prints, started in the checkout.
#[track_caller]
fn printed(name: &str) -> String {
    let output = crossdock_testkit::this_program()
        .args(["--exact", "program", "--nocapture", "--quiet", "--test-threads=1"])
        .env(PROGRAM, name)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.strip_prefix("\nrunning 1 test\n").unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[track_caller]
fn is_shown_with_its_output(chapter: &str, source: &str, name: &str) {
    let shown = format!("```rust\n{source}```\n\n```text\n{}```\n", printed(name));
    assert!(chapter.contains(&shown), "the chapter does not show\n{shown}");
}

#[test]
fn the_chapter_on_leases_shows_its_program_and_what_it_prints() {
    let chapter = include_str!("../../../docs/guide/04-leases.md");
    is_shown_with_its_output(chapter, include_str!("../../../docs/guide/programs/04_leases.rs"), "leases");
}

#[test]
fn the_picture_of_leases_is_what_its_program_draws() {
    assert_eq!(printed("leases_picture"), include_str!("../../../docs/guide/leases.svg"));
}

#[test]
fn the_chapter_on_copies_shows_its_program_and_what_it_prints() {
    let chapter = include_str!("../../../docs/guide/05-copies.md");
    is_shown_with_its_output(chapter, include_str!("../../../docs/guide/programs/05_copies.rs"), "copies");
}

#[test]
fn the_chapter_on_costs_shows_its_program_and_what_it_prints() {
    let chapter = include_str!("../../../docs/guide/12-costs.md");
    is_shown_with_its_output(chapter, include_str!("../../../docs/guide/programs/12_costs.rs"), "costs");
}

#[test]
fn the_chapter_on_processes_shows_its_channel_and_what_it_prints() {
    let chapter = include_str!("../../../docs/guide/06-processes.md");
    is_shown_with_its_output(chapter, include_str!("../../../docs/guide/programs/06_channel.rs"), "channel");
}

#[test]
fn the_chapter_on_devices_shows_its_program_and_what_it_prints() {
    let chapter = include_str!("../../../docs/guide/07-devices.md");
    is_shown_with_its_output(chapter, include_str!("../../../docs/guide/programs/07_devices.rs"), "devices");
}

#[test]
fn the_chapter_on_producers_shows_its_program_and_what_it_prints() {
    let chapter = include_str!("../../../docs/guide/08-producer.md");
    is_shown_with_its_output(
        chapter,
        include_str!("../../../docs/guide/programs/08_producer.rs"),
        "producer",
    );
}

#[test]
fn the_chapter_on_memory_shows_its_program_and_what_it_prints() {
    let chapter = include_str!("../../../docs/guide/09-memory.md");
    is_shown_with_its_output(chapter, include_str!("../../../docs/guide/programs/09_memory.rs"), "memory");
}

#[test]
fn the_chapter_on_memory_shows_the_program_of_arrays_that_are_shared_later() {
    let chapter = include_str!("../../../docs/guide/09-memory.md");
    is_shown_with_its_output(
        chapter,
        include_str!("../../../docs/guide/programs/09_shareable.rs"),
        "shareable",
    );
}

#[test]
fn the_chapter_on_opening_files_shows_its_program_and_what_it_prints() {
    let chapter = include_str!("../../../docs/guide/01-open.md");
    is_shown_with_its_output(chapter, include_str!("../../../docs/guide/programs/01_open.rs"), "open");
}

#[test]
fn the_chapter_on_slices_shows_its_program_and_what_it_prints() {
    let chapter = include_str!("../../../docs/guide/03-slices.md");
    is_shown_with_its_output(chapter, include_str!("../../../docs/guide/programs/03_slices.rs"), "slices");
}

#[path = "guide/from.rs"]
mod from;
