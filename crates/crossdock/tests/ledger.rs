//! The ledger lists all live memory and its holders at every moment, and nothing else.

use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossdock::buffer::{Buffer, PinGuard, ReadGuard, ShareGuard, UninitBuffer, WriteGuard};
use crossdock::device::{Effect, Signal};
use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
use crossdock::exchange::protocol::shm;
use crossdock::layout::Order;
use crossdock::ledger::{self, Entry, Holder};
use crossdock::memory::{Birth, Conflict, LeaseKind, MapOptions, Place, Protocols};
use crossdock::pool::Pool;
use crossdock::view::{MemoryView, Request};
use crossdock::{Array, DArray, Error};
use crossdock_testkit::Coverage;

/// The ledger belongs to the whole program, so one test runs at a time; each begins with an empty
/// ledger that is on.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    ledger::switch_on();
    let left: Vec<Entry> = ledger::live();
    assert!(left.iter().all(|entry| entry.nbytes == FORGOTTEN), "{left:?}");
    alone
}

/// The size of a deliberate leak.
const FORGOTTEN: usize = 71;

fn entry_at(address: *const u8) -> Option<Entry> {
    ledger::live().into_iter().find(|entry| entry.address == address.addr())
}

fn conflict(error: &Error) -> &Conflict {
    error.source().and_then(|source| source.downcast_ref()).expect("the source of a refusal is the conflict")
}

fn array() -> DArray {
    Array::from_vec(vec![7u8; 24], [2, 3, 4]).unwrap().into()
}

fn shared() -> DArray {
    array().to_shared(Order::RowMajor).unwrap()
}

/// The same text with every age replaced by `AGE`: a number and its unit in front of `old`.
fn masked(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut masked: Vec<&str> = Vec::new();
    for word in words {
        if word.starts_with("old") && masked.len() >= 2 {
            masked.pop();
            let number = masked.pop().unwrap();
            masked.push(if number.starts_with('(') { "(AGE" } else { "AGE" });
        }
        masked.push(word);
    }
    masked.join(" ")
}

#[test]
fn owners_of_every_kind_are_listed_and_go() {
    let _alone = alone();
    let mut foreign = [0u8; 8];
    let (ptr, birth) = (foreign.as_mut_ptr(), Birth::Aliased);
    let file = || {
        let path = std::env::temp_dir().join(format!("crossdock-ledger-{}", std::process::id()));
        std::fs::write(&path, [0u8; 8]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    };
    let uninit = || {
        let mut fresh = UninitBuffer::new(8).unwrap();
        fresh.as_uninit_mut().iter_mut().for_each(|byte| {
            byte.write(0);
        });
        // SAFETY: the loop above wrote every byte of the block.
        unsafe { fresh.assume_init() }
    };
    let owners: Vec<(&str, &str, Buffer)> = vec![
        ("zeroed", "heap", Buffer::zeroed(8).unwrap()),
        ("uninit", "heap", uninit()),
        ("vec", "heap", Buffer::from_vec(vec![0u8; 8]).unwrap()),
        ("owner", "heap", Buffer::from_owner(std::sync::Arc::new(vec![0u8; 8])).unwrap()),
        ("static", "static", Buffer::from_static(&[0u8; 8]).unwrap()),
        // SAFETY: the array has 8 bytes, outlives the buffer, and is not accessed by other code
        // meanwhile.
        ("foreign", "foreign", unsafe { Buffer::from_foreign(ptr, 8, Place::CPU, birth, || {}) }.unwrap()),
        ("file", "file map", Buffer::map(file(), MapOptions::new()).unwrap()),
        ("shared", "shared memory", Buffer::shared(8).unwrap()),
    ];
    assert_eq!(ledger::live().iter().filter(|entry| entry.nbytes == 8).count(), owners.len());
    for (owner, backing, buffer) in owners {
        let entry = entry_at(buffer.as_ptr()).unwrap_or_else(|| panic!("{owner} is not listed"));
        assert_eq!((entry.nbytes, entry.handles, entry.place), (8, 1, Place::CPU), "{owner}");
        assert_eq!(entry.backing, buffer.backing(), "{owner}");
        assert_eq!((entry.backing.to_string().as_str(), entry.birth), (backing, buffer.birth()), "{owner}");
        let pooled = matches!(owner, "zeroed" | "uninit");
        assert_eq!(entry.pool, pooled.then_some("default"), "{owner}");
        assert!(entry.age.is_some() && entry.holders.is_empty() && entry.leases.is_none(), "{owner}");
        let address = buffer.as_ptr();
        let pin = buffer.pin().unwrap();
        drop(buffer);
        let entry = entry_at(address).unwrap_or_else(|| panic!("{owner} is gone under a lease"));
        assert_eq!((entry.handles, entry.pins, entry.holders.len()), (0, 1, 1), "{owner}");
        drop(pin);
        assert!(entry_at(address).is_none(), "{owner} stays listed");
    }
    let named = Pool::default().capped("thumbnails", 64).unwrap().zeroed(8).unwrap();
    assert_eq!(entry_at(named.as_ptr()).unwrap().pool, Some("thumbnails"));
    drop(named);
    let whole = Buffer::from_vec(vec![0u8; 8]).unwrap();
    let parts = whole.partition(&[0..3, 3..8]).unwrap();
    let mut sizes: Vec<usize> = ledger::live().iter().map(|entry| entry.nbytes).collect();
    sizes.retain(|&nbytes| nbytes != FORGOTTEN);
    sizes.sort_unstable();
    assert_eq!(sizes, [3, 5, 8], "a part, another, and the whole that they keep");
    drop(parts);
}

#[test]
fn each_protocol_is_named_in_the_list_the_text_and_the_refusal() {
    let _alone = alone();
    let array = shared();
    let (buffer, _) = array.buffer().unwrap();
    let cases: Vec<(&str, LeaseKind, Box<dyn std::any::Any>)> = vec![
        ("a guard", LeaseKind::Share, Box::new(buffer.share().unwrap())),
        ("MemoryView", LeaseKind::Pin, Box::new(array.export(&Request::pin()).unwrap())),
        (
            "DLPack",
            LeaseKind::Share,
            Box::new(dlpack::export_versioned(&array, &ExportOptions::new()).unwrap()),
        ),
        ("DLPack", LeaseKind::Share, Box::new(dlpack::export_legacy(&array, &ExportOptions::new()).unwrap())),
        ("shared memory", LeaseKind::Pin, Box::new(shm::export(&array, &Request::pin()).unwrap())),
    ];
    let entry = entry_at(array.as_ptr()).unwrap();
    let listed: Vec<String> = entry.holders.iter().map(|holder| masked(&holder.to_string())).collect();
    let expected: Vec<String> =
        cases.iter().map(|(name, kind, _)| format!("{kind} lease, {name}, AGE old")).collect();
    assert_eq!(listed, expected, "the oldest first");

    let text = masked(&ledger::report().to_string());
    for line in &expected {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    // SAFETY: the memory belongs to this test, and no other code accesses it.
    let error = unsafe { buffer.assume_sole() }.write().unwrap_err();
    assert_eq!(
        masked(&error.to_string()),
        "a write lease was refused: 3 share leases (a guard, AGE old; DLPack, AGE old; DLPack, AGE old), \
         2 pin leases (MemoryView, AGE old; shared memory, AGE old) held; \
         it was exported by MemoryView, DLPack, shared memory"
    );
    assert_eq!(conflict(&error).holders().len(), 5);
    drop(cases);
    assert!(entry_at(array.as_ptr()).unwrap().holders.is_empty());
}

#[test]
fn a_refusal_names_four_and_counts_the_others() {
    let _alone = alone();
    let buffer = Buffer::from_vec(vec![0u8; 8]).unwrap();
    ledger::switch_off();
    let unknown = buffer.read().unwrap();
    let error = buffer.write().unwrap_err();
    assert_eq!(error.to_string(), "a write lease was refused: 1 read lease held");
    ledger::switch_on();
    let error = buffer.write().unwrap_err();
    assert_eq!(error.to_string(), "a write lease was refused: 1 read lease held");
    let known: Vec<ReadGuard> = (0..2).map(|_| buffer.read().unwrap()).collect();
    let text = masked(&buffer.write().unwrap_err().to_string());
    assert_eq!(
        text,
        "a write lease was refused: 3 read leases (a guard, AGE old; a guard, AGE old; 1 more) held"
    );
    let more: Vec<ReadGuard> = (0..7).map(|_| buffer.read().unwrap()).collect();
    let text = masked(&buffer.write().unwrap_err().to_string());
    assert!(text.ends_with("10 read leases (a guard, AGE old; a guard, AGE old; a guard, AGE old; a guard, AGE old; 6 more) held"), "{text}");
    assert!(ledger::report().to_string().contains("1 lease that is not listed\n"));
    drop((unknown, known, more));
    drop(buffer.write().unwrap());
}

#[test]
fn leases_of_allocations_from_before_are_listed_while_they_are_held() {
    let _alone = alone();
    ledger::switch_off();
    assert!(!ledger::is_on());
    let older = Buffer::from_vec(vec![0u8; 16]).unwrap();
    let unlisted = older.pin().unwrap();
    assert!(entry_at(older.as_ptr()).is_none());
    ledger::switch_on();
    let listed = (older.pin().unwrap(), older.pin().unwrap());
    let entry = entry_at(older.as_ptr()).unwrap();
    assert_eq!((entry.age, entry.pins, entry.holders.len()), (None, 3, 2));
    let text = ledger::report().to_string();
    assert!(text.contains(" older "), "{text}");
    ledger::switch_off();
    assert_eq!(entry_at(older.as_ptr()).unwrap().holders.len(), 2, "what is listed stays listed");
    assert!(ledger::report().to_string().ends_with("; the ledger is off\n"));
    drop(listed.0);
    assert_eq!(entry_at(older.as_ptr()).unwrap().holders.len(), 1);
    drop(listed.1);
    assert!(entry_at(older.as_ptr()).is_none(), "nothing is known of it any more");
    ledger::switch_on();
    drop((older, unlisted));
}

#[test]
fn a_forgotten_lease_stays_listed() {
    let _alone = alone();
    let buffer = Buffer::from_vec(vec![0u8; FORGOTTEN]).unwrap();
    let address = buffer.as_ptr();
    std::mem::forget(buffer.pin().unwrap());
    ledger::switch_off();
    drop(buffer);
    let entry = entry_at(address).unwrap();
    assert_eq!((entry.handles, entry.pins), (0, 1));
    assert_eq!((entry.holders[0].kind, entry.holders[0].protocols), (LeaseKind::Pin, Protocols::NONE));
    ledger::switch_on();
}

#[test]
fn a_view_that_becomes_an_array_is_a_handle_and_no_holder() {
    let _alone = alone();
    let array = array();
    let view = array.export(&Request::pin()).unwrap();
    assert_eq!(entry_at(array.as_ptr()).unwrap().holders.len(), 1);
    let other = view.into_array().unwrap();
    let entry = entry_at(array.as_ptr()).unwrap();
    assert_eq!((entry.handles, entry.pins, entry.holders.len()), (2, 0, 0));
    assert!(entry.exported != Protocols::NONE);
    drop(other);
}

#[test]
fn the_report_has_the_largest_first_and_a_sum() {
    let _alone = alone();
    let buffers = [100, 3000, 5].map(|nbytes| Buffer::zeroed(nbytes).unwrap());
    let report = ledger::report();
    let mut sizes: Vec<usize> = report.entries().iter().map(|entry| entry.nbytes).collect();
    sizes.retain(|&nbytes| nbytes != FORGOTTEN);
    assert_eq!(sizes, [3000, 100, 5]);
    let sum: usize = report.entries().iter().map(|entry| entry.nbytes).sum();
    assert_eq!(report.nbytes(), sum as u128);
    let text = report.to_string();
    let expected = format!("{} allocations, {sum} bytes (3.", report.entries().len());
    assert!(text.lines().last().unwrap().starts_with(&expected), "{text}");
    drop(buffers);
}

#[test]
fn a_hundred_thousand_rows_are_listed() {
    let _alone = alone();
    let buffers: Vec<Buffer> = (0..100_000).map(|_| Buffer::from_static(&[0u8; 4]).unwrap()).collect();
    let pins: Vec<PinGuard> = (0..100_000).map(|_| buffers[0].pin().unwrap()).collect();
    let entries = ledger::live();
    assert!(entries.len() >= 100_000);
    assert_eq!(entries.iter().map(|entry| entry.holders.len()).max(), Some(100_000));
    let text = ledger::report().to_string();
    assert!(text.lines().count() >= 200_000);
    drop(pins);
    assert!(ledger::live().iter().all(|entry| entry.nbytes == FORGOTTEN || entry.holders.is_empty()));
    drop(buffers);
    assert_eq!(ledger::missed(), 0);
}

#[test]
fn threads_make_and_drop_while_another_lists() {
    let _alone = alone();
    let common = array();
    let common_pin = common.export(&Request::pin()).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    for round in 0..800 {
                        let own = Buffer::zeroed(64).unwrap();
                        let view = common.export(&Request::pin()).unwrap();
                        let pin = own.pin().unwrap();
                        assert!(entry_at(own.as_ptr()).is_some_and(|entry| entry.holders.len() == 1));
                        if round % 2 == 0 {
                            drop((view, pin))
                        } else {
                            drop((pin, own, view))
                        }
                        if round % 5 == 0 {
                            // Another thread's switching is harmless.
                            ledger::switch_on();
                        }
                    }
                })
            })
            .collect();
        let lister = scope.spawn(|| {
            let mut most = 0;
            while !over.load(Ordering::Relaxed) {
                let entry = entry_at(common.as_ptr()).unwrap();
                assert!((1..=4).contains(&entry.holders.len()));
                assert!(entry.holders.iter().all(|holder| holder.kind == LeaseKind::Pin));
                most = most.max(entry.holders.len());
                let refused = common.buffer().unwrap().0.write().unwrap_err();
                assert!((1..=4).contains(&conflict(&refused).holders().len()), "{refused}");
            }
            most
        });
        let outcomes: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        over.store(true, Ordering::Relaxed);
        let most = lister.join();
        assert!(outcomes.into_iter().all(|outcome| outcome.is_ok()));
        println!("at most {} holders were seen at once", most.unwrap());
    });
    drop(common_pin);
    let entry = entry_at(common.as_ptr()).unwrap();
    assert_eq!((entry.handles, entry.holders.len()), (1, 0));
}

/// A child of this program: see `the_environment_switches_it_on_and_the_program_has_its_way`.
#[test]
fn child() {
    let Ok(expected) = std::env::var("CROSSDOCK_TEST_LEDGER") else { return };
    if expected == "overruled" {
        ledger::switch_off();
    }
    let buffer = Buffer::zeroed(8).unwrap();
    let pin = buffer.pin().unwrap();
    let listed = entry_at(buffer.as_ptr()).is_some_and(|entry| entry.holders.len() == 1);
    assert_eq!(listed, expected == "on");
    assert_eq!(ledger::is_on(), expected == "on");
    drop((buffer, pin));
    assert!(ledger::live().is_empty());
}

#[test]
fn the_environment_switches_it_on_and_the_program_has_its_way() {
    let cases =
        [(None, "off"), (Some(""), "off"), (Some("0"), "off"), (Some("1"), "on"), (Some("yes"), "on")];
    for (value, expected) in cases.into_iter().chain([(Some("1"), "overruled")]) {
        let mut command = crossdock_testkit::this_program();
        command.args(["--exact", "child", "--quiet", "--nocapture"]).env_remove("CROSSDOCK_LEDGER");
        command.env("CROSSDOCK_TEST_LEDGER", expected);
        if let Some(value) = value {
            command.env("CROSSDOCK_LEDGER", value);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{value:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

// ===== any schedule, against a model

#[expect(dead_code, reason = "a lease does its work by being there")]
enum Held {
    Read(ReadGuard),
    Write(WriteGuard),
    Share(ShareGuard),
    Pin(PinGuard),
    View(MemoryView),
    DLPack(dlpack::Exported<dlpack::abi::DLManagedTensorVersioned>),
    Shm(shm::Exported),
}

struct Lease {
    held: Held,
    kind: LeaseKind,
    protocols: Protocols,
    is_listed: bool,
}

/// The expected state of one allocation.
struct Model {
    address: usize,
    is_listed: bool,
    handles: Vec<DArray>,
    leases: Vec<Lease>,
    exported: Vec<Protocols>,
}

/// Kinds and protocols, in a fixed order.
fn sorted(holders: impl Iterator<Item = (LeaseKind, Protocols)>) -> Vec<String> {
    let mut names: Vec<String> = holders.map(|(kind, protocols)| format!("{kind:?} {protocols}")).collect();
    names.sort();
    names
}

impl Model {
    fn listed_holders(&self) -> Vec<String> {
        let listed = self.leases.iter().filter(|lease| lease.is_listed);
        sorted(listed.map(|lease| (lease.kind, lease.protocols)))
    }

    fn check(&self, entry: Option<&Entry>) {
        let is_listed = self.is_listed || self.leases.iter().any(|lease| lease.is_listed);
        let Some(entry) = entry else { return assert!(!is_listed, "an allocation is missing") };
        assert!(is_listed, "an allocation that should not be listed");
        let count = |kind| self.leases.iter().filter(|lease| lease.kind == kind).count() as u64;
        let mut exclusive = [LeaseKind::Read, LeaseKind::Write, LeaseKind::Share].into_iter();
        let expected = exclusive.find(|&kind| count(kind) > 0).map(|kind| (kind, count(kind)));
        assert_eq!((entry.leases, entry.pins), (expected, count(LeaseKind::Pin)));
        assert_eq!(entry.handles, self.handles.len() as u64);
        assert_eq!(entry.age.is_some(), self.is_listed);
        let protocols = [Protocols::MEMORY_VIEW, Protocols::DLPACK, Protocols::SHARED_MEMORY];
        for protocol in protocols {
            assert_eq!(entry.exported.contains(protocol), self.exported.contains(&protocol));
        }
        assert_eq!(holders_of(&entry.holders), self.listed_holders());
        assert!(entry.holders.is_sorted_by(|one, next| one.age >= next.age), "the oldest first");
    }

    /// Takes a lease in one of the possible ways.
    fn lease(&mut self, rng: &mut fastrand::Rng, coverage: &mut Coverage) {
        let Some(array) = self.handles.first() else { return };
        let buffer = array.buffer().unwrap().0;
        let request = if rng.bool() { Request::pin() } else { Request::share() };
        let guard = |result: Result<Held, Error>| result.map_err(Some);
        let (kind, protocols, outcome) = match rng.u8(..8) {
            0 => (LeaseKind::Read, Protocols::NONE, guard(buffer.read().map(Held::Read))),
            1 => (LeaseKind::Write, Protocols::NONE, guard(buffer.write().map(Held::Write))),
            2 => (LeaseKind::Share, Protocols::NONE, guard(buffer.share().map(Held::Share))),
            3 => (LeaseKind::Pin, Protocols::NONE, guard(buffer.pin().map(Held::Pin))),
            4 | 5 => {
                let view = array.export(&request).map(Held::View);
                (request.lease(), Protocols::MEMORY_VIEW, view.map_err(|_| None))
            }
            6 => {
                let exported = dlpack::export_versioned(array, &ExportOptions::new()).map(Held::DLPack);
                (LeaseKind::Share, Protocols::DLPACK, exported.map_err(|_| None))
            }
            _ => {
                let exported = shm::export(array, &request).map(Held::Shm);
                (request.lease(), Protocols::SHARED_MEMORY, exported.map_err(|_| None))
            }
        };
        match outcome {
            Ok(held) => {
                coverage.note(format!("{kind:?} by {protocols}"));
                self.leases.push(Lease { held, kind, protocols, is_listed: ledger::is_on() });
                if protocols != Protocols::NONE {
                    self.exported.push(protocols);
                }
            }
            Err(Some(error)) if error.is_read_only() => coverage.note("a handle that only reads"),
            Err(Some(error)) => {
                let found = conflict(&error).holders();
                coverage.note_if(!found.is_empty(), "a refusal that names");
                let expected = if ledger::is_on() { self.listed_holders() } else { Vec::new() };
                assert_eq!(holders_of(found), expected, "{error}");
            }
            Err(None) => coverage.note("an export refused"),
        }
    }
}

fn holders_of(holders: &[Holder]) -> Vec<String> {
    sorted(holders.iter().map(|holder| (holder.kind, holder.protocols)))
}

fn run_schedule(rng: &mut fastrand::Rng, coverage: &mut Coverage) {
    let mut models: Vec<Model> = Vec::new();
    for _ in 0..30 {
        coverage.case();
        if models.is_empty() || rng.u8(..6) == 0 {
            let array = if rng.bool() { array() } else { shared() };
            let address = array.as_ptr().addr();
            let (handles, leases, exported) = (vec![array], Vec::new(), Vec::new());
            models.push(Model { address, is_listed: ledger::is_on(), handles, leases, exported });
        }
        let chosen = rng.usize(..models.len());
        let model = &mut models[chosen];
        match rng.u8(..10) {
            0 => model.handles.extend(model.handles.first().cloned()),
            1 if !model.handles.is_empty() => {
                drop(model.handles.swap_remove(rng.usize(..model.handles.len())));
            }
            2 | 3 if !model.leases.is_empty() => {
                let lease = model.leases.swap_remove(rng.usize(..model.leases.len()));
                coverage.note_if(lease.is_listed && !ledger::is_on(), "given back after it was off");
                match lease.held {
                    Held::View(view) if rng.bool() => {
                        coverage.note("a view that becomes an array");
                        model.handles.push(view.into_array().unwrap());
                    }
                    held => drop(held),
                }
            }
            4 => {
                // A short lease.
                let _value = model.handles.first().map(|array| array.get(&[0, 0, 0]));
            }
            5 if rng.bool() => {
                if ledger::is_on() {
                    ledger::switch_off()
                } else {
                    ledger::switch_on()
                }
            }
            _ => model.lease(rng, coverage),
        }
        models.retain(|model| !(model.handles.is_empty() && model.leases.is_empty()));
        let entries = ledger::live();
        for model in &models {
            let entry = entries.iter().find(|entry| entry.address == model.address);
            coverage.note_if(entry.is_some_and(|entry| entry.age.is_none()), "older than the ledger");
            model.check(entry);
        }
        let known = |entry: &Entry| models.iter().any(|model| model.address == entry.address);
        assert!(entries.iter().all(|entry| entry.nbytes == FORGOTTEN || known(entry)), "{entries:?}");
    }
    drop(models);
    assert!(ledger::live().iter().all(|entry| entry.nbytes == FORGOTTEN));
}

#[test]
fn the_ledger_is_what_a_model_says_after_every_step_of_any_schedule() {
    let _alone = alone();
    let seed =
        std::env::var("CROSSDOCK_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    let cases = crossdock_testkit::cases(300);
    println!("seed {seed}, {cases} schedules");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut coverage = Coverage::default();
    for _ in 0..cases {
        run_schedule(&mut rng, &mut coverage);
    }
    ledger::switch_on();
    println!("{coverage}");
    let ways = [
        "Read by none",
        "Write by none",
        "Share by none",
        "Pin by none",
        "Pin by MemoryView",
        "Share by MemoryView",
        "Share by DLPack",
        "Pin by shared memory",
        "Share by shared memory",
        "a refusal that names",
        "an export refused",
        "given back after it was off",
        "a view that becomes an array",
        "older than the ledger",
    ];
    // Of all steps.
    coverage.assert_at_least(0.002, ways);
}

#[test]
fn forgotten_work_is_listed_and_can_be_ended_by_hand() {
    let _alone = alone();
    let buffer = Buffer::zeroed(16).unwrap();
    let (signal, completion) = Signal::new();
    buffer.note_event(signal, Effect::Writes).unwrap();
    std::mem::forget(completion);

    let entry = entry_at(buffer.as_ptr()).unwrap();
    let [work] = &entry.work[..] else { panic!("{entry:?}") };
    assert_eq!((work.effect, format!("{:?}", work.event)), (Effect::Writes, "Signal(not yet)".to_owned()));
    let text = ledger::report().to_string();
    assert!(text.contains("waits for work that writes: Signal(not yet), "), "{text}");

    let event: &dyn std::any::Any = &*work.event;
    assert!(event.downcast_ref::<Signal>().unwrap().give_up());
    assert!(buffer.read().unwrap_err().is_device());
    let text = ledger::report().to_string();
    assert!(text.contains("Signal(failed: the work was dropped before it was done)"), "{text}");
    buffer.settle().unwrap_err();
    assert!(entry_at(buffer.as_ptr()).unwrap().work.is_empty());
    assert_eq!(buffer.read().unwrap()[0], 0);
}
