//! Pools and their surroundings: the environment, the system's pages, the log.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::process::Output;
use std::time::Duration;

use crossdock::buffer::Buffer;
use crossdock::pool::{AllocOptions, Hints, Pool, take_damage};

// ===== the environment =====

/// The tasks of child processes: see [`run_child`].
#[test]
fn child() {
    match std::env::var("CROSSDOCK_TEST_CHILD").as_deref() {
        Ok("pool") => tell_of_the_default_pool(),
        Ok("limit") => use_little_address_space(),
        Ok("exit") => exit_with_everything_alive(),
        _ => {}
    }
}

fn tell_of_the_default_pool() {
    let pool = Pool::default();
    drop(Buffer::zeroed(1 << 20).unwrap());
    let cached = pool.statistics().cached_nbytes >= 1 << 20;
    let buffer = Buffer::zeroed(100).unwrap();
    let padding = buffer.as_ptr().cast_mut().wrapping_add(100);
    // SAFETY: the pool rounds the block of 100 bytes up to 128, so the byte belongs to it.
    unsafe { padding.write(1) };
    drop(buffer);
    let mut large = pool.mutable(1 << 20).unwrap();
    large.extend_from_slice(&[1u8; 1000]).unwrap();
    large.reserve(4 << 20).unwrap();
    assert_eq!(large.freeze().read().unwrap()[..], [1; 1000]);
    println!("name={} cached={cached} damage={}", pool.name(), take_damage().len());
}

fn run_child(what: &str, pool: Option<&OsStr>, debug: Option<&str>) -> (String, String) {
    let mut command = crossdock_testkit::this_program();
    command.args(["--exact", "child", "--nocapture"]).env("CROSSDOCK_TEST_CHILD", what);
    for (name, value) in [("CROSSDOCK_POOL", pool), ("CROSSDOCK_POOL_DEBUG", debug.map(OsStr::new))] {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(status.success(), "{status}: {}", text(&stderr));
    (text(&stdout), text(&stderr))
}

#[test]
fn the_environment_chooses_the_default_pool() {
    for (word, cached) in [(None, true), (Some(""), true), (Some("caching"), true), (Some("system"), false)] {
        let (said, complaints) = run_child("pool", word.map(OsStr::new), None);
        assert!(said.contains(&format!("name=default cached={cached} damage=0")), "{word:?}: {said}");
        assert!(!complaints.contains("crossdock:"), "{complaints}");
    }
}

#[test]
fn a_word_that_is_not_known_is_told_and_has_no_effect() {
    for word in [OsString::from("mimalloc"), OsString::from("System"), OsString::from_vec(vec![b'x', 0xFF])] {
        let (said, complaints) = run_child("pool", Some(&word), None);
        assert!(said.contains("cached=true damage=0"), "{word:?}: {said}");
        let line = format!("crossdock: CROSSDOCK_POOL={} is neither `system` nor `caching`", word.display());
        assert_eq!(complaints.matches(&line).count(), 1, "{complaints}");
    }
}

#[test]
fn the_environment_puts_the_default_pool_into_debug_mode() {
    for pool in [None, Some("caching"), Some("system")] {
        let (said, complaints) = run_child("pool", pool.map(OsStr::new), Some("1"));
        let cached = pool != Some("system");
        assert!(said.contains(&format!("name=default cached={cached} damage=1")), "{pool:?}: {said}");
        assert!(complaints.contains("crossdock: byte 100 of the block of 100 bytes"), "{complaints}");
        for other in ["", "0", "true"] {
            let (said, complaints) = run_child("pool", pool.map(OsStr::new), Some(other));
            assert!(said.contains("damage=0") && complaints.is_empty(), "{other:?}: {said}{complaints}");
        }
    }
}

// ===== the end of memory, and of the process =====

/// Uses pools while the system maps no more memory, and afterwards.
fn use_little_address_space() {
    let pool = caching();
    let mut bytes = pool.mutable(1 << 20).unwrap();
    bytes.extend_from_slice(&[7u8; 1000]).unwrap();
    let before = (bytes.as_ptr(), bytes.capacity(), pool.statistics().live_nbytes);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a writable local variable, which outlives the call.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) }, 0);
    let tight = libc::rlimit { rlim_cur: 1 << 20, ..limit };
    // SAFETY: `tight` is an initialised local variable, which outlives the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const tight) }, 0);
    const MUCH: usize = 256 << 20;
    let mut refused = vec![
        pool.zeroed(MUCH).map(drop),
        pool.uninit(MUCH).map(drop),
        bytes.reserve(MUCH),
        bytes.reserve_exact(MUCH - 1000),
        bytes.resize(MUCH),
        bytes.reserve_discard(MUCH),
    ];
    assert_eq!((&bytes[..], (bytes.as_ptr(), bytes.capacity())), (&[7; 1000][..], (before.0, before.1)));
    let mut buffer = bytes.freeze();
    refused.push(buffer.resize(MUCH));
    refused.push(
        buffer.copy_slice(.., &pool.capped("no memory", MUCH).unwrap()).map(drop).and(buffer.resize(MUCH)),
    );
    // SAFETY: `limit` is an initialised local variable, which outlives the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    for (nth, refused) in refused.into_iter().enumerate() {
        let error = refused.unwrap_err();
        assert!(error.is_out_of_memory(), "{nth}: {error}");
        let text = error.to_string();
        assert!(
            text.contains(&MUCH.to_string()) || text.contains(&(MUCH + 1000).to_string()),
            "{nth}: {text}"
        );
    }
    assert_eq!((buffer.read().unwrap()[..].len(), pool.statistics().live_nbytes), (1000, before.2));
    buffer.resize(MUCH).unwrap();
    drop(buffer);
    assert_eq!(pool.statistics().live_nbytes, 0);
    println!("survived");
}

#[test]
fn where_the_system_maps_nothing_more_requests_fail_and_nothing_else_changes() {
    let (said, complaints) = run_child("limit", None, None);
    assert!(said.contains("survived") && complaints.is_empty(), "{said}{complaints}");
}

/// Ends the process while threads are busy with pools, and with blocks and pools that are never
/// dropped.
fn exit_with_everything_alive() {
    let pools = [Pool::default(), caching(), Pool::default().capped("capped", 1 << 26).unwrap()];
    let kept: Vec<Buffer> =
        pools.iter().flat_map(|pool| [pool.zeroed(100).unwrap(), pool.zeroed(1 << 20).unwrap()]).collect();
    let started = std::sync::Arc::new(std::sync::Barrier::new(5));
    for thread in 0..4 {
        let (pools, started) = (pools.clone(), std::sync::Arc::clone(&started));
        std::thread::spawn(move || {
            started.wait();
            for round in thread.. {
                let mut bytes = pools[round % 3].mutable(round % 1000).unwrap();
                bytes.reserve((round % 7) << 17).unwrap();
            }
        });
    }
    started.wait();
    std::mem::forget(kept);
    std::process::exit(0);
}

#[test]
fn a_process_ends_with_everything_alive_and_threads_at_work() {
    for debug in [None, Some("1")] {
        for _ in 0..15 {
            let (_, complaints) = run_child("exit", None, debug);
            assert!(complaints.is_empty(), "{complaints}");
        }
    }
}

// ===== the system's pages =====

const PAGE: usize = 4096;

fn caching() -> Pool {
    Pool::caching(1 << 26, Duration::from_secs(10)).unwrap()
}

/// The number of resident pages in a range, and the number of all its pages.
fn resident(start: *const u8, nbytes: usize) -> (usize, usize) {
    let first = start.addr() / PAGE * PAGE;
    let count = (start.addr() + nbytes - first).div_ceil(PAGE);
    let mut pages = vec![0u8; count];
    // SAFETY: the range belongs to a live block, so it is mapped, and `pages` has a byte for each
    // page.
    let failed =
        unsafe { libc::mincore(start.with_addr(first).cast_mut().cast(), count * PAGE, pages.as_mut_ptr()) };
    assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
    (pages.iter().filter(|&&page| page & 1 != 0).count(), count)
}

/// A field of `/proc/self/smaps` for the mapping with this address.
fn smaps(address: usize, field: &str) -> Option<String> {
    let text = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let mut within = false;
    for line in text.lines() {
        let range = line.split(' ').next()?.split_once('-');
        let range = range.and_then(|(start, end)| {
            Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
        });
        match range {
            Some(range) => within = range.contains(&address),
            None if within && line.starts_with(field) => return Some(line[field.len()..].trim().to_owned()),
            None => {}
        }
    }
    None
}

#[test]
fn populated_blocks_have_all_their_pages_and_others_those_that_were_touched() {
    let pool = caching();
    let nbytes = (1 << 20) + 5000;
    let populated = AllocOptions::new().hints(Hints::new().populate(true));
    // Small pages, so that accessing a page maps no others.
    let small = Hints::new().huge(false);
    for hints in [Hints::new().populate(true), small.populate(true)] {
        let mut fresh = AllocOptions::new().hints(hints).uninit(&pool, nbytes).unwrap();
        let (found, all) = resident(fresh.as_uninit_mut().as_ptr().cast(), nbytes);
        assert_eq!(found, all);
    }
    let mut untouched = AllocOptions::new().hints(small).uninit(&pool, nbytes).unwrap();
    let (found, all) = resident(untouched.as_uninit_mut().as_ptr().cast(), nbytes);
    assert!(found <= 1, "{found} of {all} pages are there before they are touched");
    // A cached block, too.
    drop(populated.uninit(&pool, nbytes).unwrap());
    pool.trim();
    drop(pool.uninit(nbytes).unwrap());
    let mut again = populated.uninit(&pool, nbytes).unwrap();
    let (found, all) = resident(again.as_uninit_mut().as_ptr().cast(), nbytes);
    assert_eq!(found, all);
}

#[test]
fn huge_pages_are_asked_for_unless_refused() {
    if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
        return crossdock_testkit::not_run("huge pages: this system has none");
    }
    let pool = caching();
    for (hints, flag, other) in [
        (Hints::new(), "hg", "nh"),
        (Hints::new().huge(true), "hg", "nh"),
        (Hints::new().huge(false), "nh", "hg"),
    ] {
        let mut bytes = AllocOptions::new().hints(hints).mutable(&pool, 8 << 20).unwrap();
        for _ in 0..2 {
            let Some(flags) = smaps(bytes.as_ptr().addr(), "VmFlags:") else {
                return crossdock_testkit::not_run(
                    "huge pages: this system does not tell how memory is mapped",
                );
            };
            assert!(flags.split(' ').any(|word| word == flag), "{hints:?}: {flags}");
            assert!(!flags.split(' ').any(|word| word == other), "{hints:?}: {flags}");
            // The hints of a mapping stay when it grows.
            bytes.reserve_exact(16 << 20).unwrap();
        }
        assert!(bytes.as_ptr().addr().is_multiple_of(2 << 20));
    }
}

#[test]
fn a_node_is_preferred_where_there_are_nodes_and_one_that_is_not_there_does_no_harm() {
    const MPOL_F_ADDR: libc::c_ulong = 2;
    let pool = caching();
    let bytes = AllocOptions::new().hints(Hints::new().node(0)).zeroed(&pool, 1 << 20).unwrap();
    let mut mode = -1i32;
    let (mode_at, nowhere) = (&raw mut mode, std::ptr::null_mut::<u64>());
    // SAFETY: `mode_at` is writable, a null node mask is valid for zero nodes, and the address is
    // that of a live block.
    let failed =
        unsafe { libc::syscall(libc::SYS_get_mempolicy, mode_at, nowhere, 0, bytes.as_ptr(), MPOL_F_ADDR) };
    if failed == 0 {
        assert_eq!(mode, libc::MPOL_PREFERRED);
    } else {
        println!("this system does not tell: {}", std::io::Error::last_os_error());
    }
    for node in [63, 64, 1023, 1024, u32::MAX] {
        let bytes = AllocOptions::new().hints(Hints::new().node(node)).zeroed(&pool, 1 << 20).unwrap();
        assert!(bytes.read().unwrap().iter().all(|&byte| byte == 0));
    }
    drop(bytes);
    assert_eq!(pool.statistics().cached_nbytes, 0, "memory of a node is not for everybody");
}

#[test]
fn alignments_up_to_a_page_are_kept_over_growth_in_every_kind_of_pool() {
    let system = Pool::system().unwrap();
    let pools = [
        Pool::default(),
        system.clone(),
        caching(),
        system.guarded("guarded").unwrap(),
        caching().guarded("guarded").unwrap().proxy("proxy").unwrap(),
        system.capped("capped", 1 << 24).unwrap(),
        system.logging("logging").unwrap(),
    ];
    for pool in pools {
        for align in (0..13).map(|log2| 1usize << log2) {
            for nbytes in [0, 1, 64, 5000, 300 << 10, 2 << 20] {
                let options = AllocOptions::new().align(align).hints(Hints::new().populate(align == 64));
                let aligned = |start: *const u8| start.addr().is_multiple_of(align.max(64));
                assert!(aligned(options.zeroed(&pool, nbytes).unwrap().as_ptr()));
                let mut bytes = options.mutable(&pool, nbytes).unwrap();
                assert!(aligned(bytes.as_ptr()) && bytes.alignment() >= align);
                for round in 0..5u8 {
                    bytes.extend_from_slice(&[round; 40]).unwrap();
                    bytes.reserve(nbytes + 1).unwrap();
                    assert!(aligned(bytes.as_ptr()), "{pool:?}, {align}, {nbytes}");
                }
                bytes.shrink_to_fit().unwrap();
                assert!(aligned(bytes.as_ptr()));
                assert!(bytes.chunks(40).enumerate().all(|(round, chunk)| chunk == [round as u8; 40]));
                let mut buffer = bytes.freeze();
                buffer.resize(nbytes + 400).unwrap();
                assert!(aligned(buffer.as_ptr()));
                assert!(crossdock_testkit::are_zero(&buffer.read().unwrap()[200..]));
            }
        }
    }
    assert_eq!(take_damage(), []);
}

// ===== the log =====

mod log {
    use std::fmt::Debug;
    use std::sync::{Arc, Mutex};

    use crossdock::pool::Pool;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Level, Metadata, Subscriber};

    /// Records the log of pools.
    #[derive(Clone, Default)]
    struct Listener(Arc<Mutex<Vec<String>>>);

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0 += &format!(" {}={value:?}", field.name());
        }
    }

    impl Subscriber for Listener {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "crossdock::pool" && *metadata.level() == Level::TRACE
        }

        fn event(&self, event: &Event<'_>) {
            let mut line = Line(String::new());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn a_logging_pool_tells_of_every_block_with_its_name_and_sizes() {
        let listener = Listener::default();
        let heard = Arc::clone(&listener.0);
        tracing::subscriber::with_default(listener, || {
            let pool = Pool::system().unwrap();
            let logging = pool.logging("decoder").unwrap();
            let below = logging.proxy("below").unwrap();
            let mut bytes = below.mutable(100).unwrap();
            bytes.reserve_exact(1000).unwrap();
            let buffer = bytes.freeze();
            drop((logging, below, pool.zeroed(5)));
            drop(buffer);
        });
        let heard = heard.lock().unwrap();
        if cfg!(feature = "tracing") {
            let expected = [
                r#" message=allocated pool="decoder" nbytes=128"#,
                r#" message=resized pool="decoder" old_nbytes=128 new_nbytes=1024"#,
                r#" message=freed pool="decoder" nbytes=1024"#,
            ];
            assert_eq!(heard[..], expected);
        } else {
            assert_eq!(heard[..], [""; 0]);
        }
    }

    /// A listener that panics on every message.
    struct Grumbler;

    impl Subscriber for Grumbler {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "crossdock::pool"
        }

        fn event(&self, _: &Event<'_>) {
            panic!("heard enough");
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn a_listener_that_panics_disturbs_neither_blocks_nor_accounts() {
        let pool = Pool::system().unwrap().capped("capped", 1 << 20).unwrap();
        let logging = pool.logging("noisy").unwrap();
        tracing::subscriber::with_default(Grumbler, || {
            let mut bytes = logging.mutable(100).unwrap();
            bytes.extend_from_slice(&[1u8; 100]).unwrap();
            bytes.reserve_exact(100_000).unwrap();
            assert_eq!((bytes.capacity(), &bytes[..]), (100_160, &[1; 100][..]));
            let mut buffer = bytes.freeze();
            buffer.resize(200_000).unwrap();
            assert_eq!(buffer.read().unwrap()[99..101], [1, 0]);
            drop(buffer);
            drop(logging.zeroed(1000));
        });
        for pool in [&pool, &logging] {
            let now = pool.statistics();
            assert_eq!((now.live_nbytes, now.live_count, now.allocations), (0, 0, 2));
        }
        assert!(pool.zeroed(1 << 20).is_ok(), "nothing is charged any more");
    }
}
