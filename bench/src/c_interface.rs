//! MemoryView through the C interface, beside Ruby's own in a Ruby process: the same C loops,
//! compiled with either header (`bench/peers/views.c`), in turns on one machine. What the calls,
//! the atomics and the stores cost by themselves, the cases "by hand" say (`bench/peers/floors.h`).

use std::cell::RefCell;
use std::ffi::{CStr, OsString, c_char};
use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;

use libloading::Library;

use crate::arrow::Arrow;
use crate::companion::Companion;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::phase::phase;
use crate::{Measure, Result, threads};

pub(crate) const MEASURES: &[Measure] = &[
    Measure { group: "c", name: "c-views", run: views },
    Measure { group: "c", name: "c-items", run: items },
    Measure { group: "c", name: "c-formats", run: formats },
];

/// The environment variables with the paths of the loops: compiled with Crossdock's header, and as
/// a Ruby extension.
const OURS: &str = "CROSSDOCK_BENCH_VIEWS";
const RUBYS: &str = "CROSSDOCK_BENCH_RUBY_VIEWS";

/// Serves the loops in Ruby.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/views.rb");

const PEER: &str = "Arc::clone + drop";

/// The available peers.
pub(crate) fn peer() -> String {
    match (std::env::var_os(OURS), std::env::var_os(RUBYS)) {
        (None, _) => format!("no C loops ({OURS} is not set: type `cargo xtask bench`)"),
        (_, None) => format!("no Ruby ({RUBYS} is not set: type `cargo xtask bench`)"),
        _ => "Ruby's MemoryView".to_owned(),
    }
}

/// The table at the end of `peers/views.c`, field by field.
#[derive(Clone, Copy)]
#[repr(C)]
struct Functions {
    begin: extern "C" fn(),
    run: unsafe extern "C" fn(*const c_char, u64) -> u64,
}

/// The loops, compiled with Crossdock's header.
struct Loops {
    run: unsafe extern "C" fn(*const c_char, u64) -> u64,
    /// Their address.
    _library: Library,
}

impl Loops {
    fn load() -> Result<Self> {
        let path: OsString = std::env::var_os(OURS).ok_or_else(peer)?;
        let failed = |error: libloading::Error| format!("{}: {error}", path.display());
        // SAFETY: the initialisers of Crossdock's library have no preconditions.
        let library = unsafe { Library::new(&path) }.map_err(failed)?;
        // SAFETY: the symbol in `peers/views.c` is a constant `Functions`.
        let table = unsafe { library.get::<*const Functions>(b"crossdock_bench_views\0") }.map_err(failed)?;
        // SAFETY: `peers/views.c` defines that symbol as a constant of this type, and the library
        // stays loaded in `_library`.
        let Functions { begin, run } = unsafe { table.read() };
        begin();
        Ok(Self { run, _library: library })
    }

    /// Runs a loop `count` times, and returns the sum of the results.
    fn run(&self, name: &CStr, count: usize) -> usize {
        // SAFETY: a C string.
        unsafe { (self.run)(name.as_ptr(), count as u64) as usize }
    }
}

/// The loops in a Ruby process, if there is one.
fn ruby() -> Result<Option<RefCell<Companion>>> {
    let Some(extension) = std::env::var_os(RUBYS) else { return Ok(None) };
    let companion = Companion::start(Command::new("ruby").arg(SERVER).arg(extension))?;
    Ok(Some(RefCell::new(companion)))
}

/// Ruby's loop of a name.
fn original<'a>(case: &'static str, ruby: &'a RefCell<Companion>, name: &'a str, answer: usize) -> Case<'a> {
    Case::timed(case, answer, move |count| {
        ruby.borrow_mut().ask(&format!("{name} {count}")).expect("Ruby answers")
    })
}

fn arc() -> Case<'static> {
    let arc = Arc::new(41usize);
    Case::new(PEER, 41, move || {
        let clone = black_box(Arc::clone(black_box(&arc)));
        *clone
    })
}

const RUBY_GET: &str = "Ruby: get + release";

fn views(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let (loops, ruby) = (Loops::load()?, ruby()?);
    let loops = &loops;
    let mut cases = vec![
        arc(),
        phase(),
        Case::looped("get + release of an array, through C", 800, |count| loops.run(c"get-array", count))
            .reaching(Reach::ratio(2.4, PEER)),
        Case::timed("the same on two threads, an array each", 800, |count| {
            threads::on_two(count, |count| loops.run(c"get-array", count))
        })
        .threaded()
        .reaching(Reach::ratio(2.4, PEER)),
        Case::looped("get + release of an array, by hand", 800, |count| loops.run(c"hand-get-array", count)),
        Case::looped("get + release of a C producer", 800, |count| loops.run(c"get", count)),
        Case::looped("get + release of a C producer, by hand", 800, |count| loops.run(c"hand-get", count)),
    ];
    cases.extend(ruby.as_ref().map(|ruby| original(RUBY_GET, ruby, "get", 800)));
    harness::measure("views through C", Scale::NANOSECONDS, &[PEER, RUBY_GET], cases)
}

fn items(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let (loops, ruby) = (Loops::load()?, ruby()?);
    let loops = &loops;
    let mut cases = vec![
        arc(),
        phase(),
        Case::looped("item 'd' as a value", 7, |count| loops.run(c"item-d", count))
            .reaching(Reach::value(3.0)),
        Case::looped("item 'd' into a place", 7, |count| loops.run(c"read-d", count))
            .reaching(Reach::value(3.0)),
        Case::looped("item 'iqc' as a value", 6, |count| loops.run(c"item-iqc", count)),
        Case::looped("item 'iqc' into a place", 6, |count| loops.run(c"read-iqc", count))
            .reaching(Reach::value(10.0)),
        Case::looped("item 'd' into a place, by hand", 7, |count| loops.run(c"hand-read-d", count)),
        Case::looped("item 'iqc' into a place, by hand", 6, |count| loops.run(c"hand-read-iqc", count)),
    ];
    if let Some(ruby) = &ruby {
        cases.push(original("Ruby: item 'd'", ruby, "item-d", 7));
        cases.push(original("Ruby: item 'iqc'", ruby, "item-iqc", 6));
    }
    harness::measure(
        "items through C",
        Scale::NANOSECONDS,
        &[PEER, "Ruby: item 'd'", "Ruby: item 'iqc'"],
        cases,
    )
}

fn formats(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let (loops, ruby) = (Loops::load()?, ruby()?);
    let loops = &loops;
    let mut cases = vec![
        arc(),
        phase(),
        Case::looped("parse 'd'", 9, |count| loops.run(c"parse-d", count)).reaching(Reach::value(10.0)),
        Case::looped("parse 'iqc'", 16, |count| loops.run(c"parse-iqc", count)).reaching(Reach::value(25.0)),
        Case::looped("parse 'iqc' by hand", 16, |count| loops.run(c"hand-parse-iqc", count)),
        Case::looped("parse 'ccc2f3x2d4q!<'", 64, |count| loops.run(c"parse-long", count))
            .reaching(Reach::value(60.0)),
    ];
    let originals = ["Ruby: parse 'd'", "Ruby: parse 'iqc'", "Ruby: parse 'ccc2f3x2d4q!<'"];
    if let Some(ruby) = &ruby {
        let loops = [("parse-d", 9), ("parse-iqc", 16), ("parse-long", 64)];
        cases.extend(
            originals.iter().zip(loops).map(|(case, (name, answer))| original(case, ruby, name, answer)),
        );
    }
    harness::measure(
        "formats through C",
        Scale::NANOSECONDS,
        &[PEER, originals[0], originals[1], originals[2]],
        cases,
    )
}
