//! Random schedules of opening, allocating, growing and dropping, against a model of every account.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crossdock::buffer::{Buffer, MutableBuffer};
use crossdock::pool::{AllocOptions, Pool};
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

use crate::{Root, cases, counting};

const UNIT: u64 = 64;

/// The expected state of an account.
#[derive(Default)]
struct Model {
    parent: Option<usize>,
    limit: Option<u64>,
    /// In units; an empty block counts one.
    charged: u64,
    live_nbytes: u64,
    live_count: u64,
    peak: u64,
    total: u64,
    allocations: u64,
    growths: u64,
}

/// A block and the account that is charged first.
struct Owned {
    account: usize,
    capacity: u64,
    what: What,
}

enum What {
    Growing(MutableBuffer),
    /// With a second handle, or without.
    Frozen(Buffer, Option<Buffer>),
}

struct World {
    models: Vec<Model>,
    /// The handles of each account.
    pools: Vec<Vec<Pool>>,
    owned: Vec<Owned>,
    has_cache: bool,
}

fn units(capacity: u64) -> u64 {
    (capacity / UNIT).max(1)
}

impl World {
    fn chain(&self, account: usize) -> Vec<usize> {
        std::iter::successors(Some(account), |&at| self.models[at].parent).collect()
    }

    /// The account that refuses this many more units, if one does.
    fn refuses(&self, account: usize, more: u64) -> Option<usize> {
        let over =
            |&at: &usize| self.models[at].limit.is_some_and(|limit| self.models[at].charged + more > limit);
        self.chain(account).into_iter().find(over)
    }

    fn count_taken(&mut self, account: usize, capacity: u64) {
        for at in self.chain(account) {
            let model = &mut self.models[at];
            model.charged += units(capacity);
            model.live_nbytes += capacity;
            model.live_count += 1;
            model.total += capacity;
            model.allocations += 1;
            model.peak = model.peak.max(model.live_nbytes);
        }
    }

    fn count_resized(&mut self, account: usize, old: u64, new: u64) {
        for at in self.chain(account) {
            let model = &mut self.models[at];
            model.charged = model.charged + units(new) - units(old);
            model.live_nbytes = model.live_nbytes + new - old;
            model.total += new.saturating_sub(old);
            model.growths += u64::from(new > old);
            model.peak = model.peak.max(model.live_nbytes);
        }
    }

    fn count_gone(&mut self, account: usize, capacity: u64) {
        for at in self.chain(account) {
            let model = &mut self.models[at];
            model.charged -= units(capacity);
            model.live_nbytes -= capacity;
            model.live_count -= 1;
        }
    }

    /// Compares the statistics of every live account. The peak is compared only if one thread did
    /// all work.
    fn check(&self, is_peak_exact: bool) {
        for (model, handles) in self.models.iter().zip(&self.pools) {
            let Some(pool) = handles.first() else { continue };
            let now = pool.statistics();
            let found = (now.live_nbytes, now.live_count, now.total_nbytes, now.allocations, now.growths);
            let expected =
                (model.live_nbytes, model.live_count, model.total, model.allocations, model.growths);
            assert_eq!(found, expected, "{pool:?}");
            assert_eq!(now.limit_nbytes, model.limit.map(|limit| limit * UNIT));
            assert!(!is_peak_exact || now.peak_nbytes == model.peak, "{now:?}, {}", model.peak);
            assert!(now.peak_nbytes >= now.live_nbytes);
        }
    }

    fn some_pool(&self, random: &mut Rng) -> Option<(usize, Pool)> {
        let with_handle: Vec<usize> =
            (0..self.pools.len()).filter(|&at| !self.pools[at].is_empty()).collect();
        let &account = with_handle.get(random.usize(..with_handle.len().max(1)))?;
        Some((account, self.pools[account][0].clone()))
    }
}

fn some_size(random: &mut Rng) -> usize {
    match random.u32(..20) {
        0 => 0,
        1 => (256 << 10) + random.usize(..1000),
        2..6 => random.usize(..20_000),
        _ => random.usize(..500),
    }
}

/// Performs one step in the world and in its model.
fn step(world: &mut World, random: &mut Rng, elsewhere: &Elsewhere, coverage: &mut Notes) {
    match random.u32(..12) {
        0 | 1 => open(world, random, coverage),
        2 => {
            let Some((account, pool)) = world.some_pool(random) else { return };
            world.pools[account].push(pool);
        }
        3 => {
            let Some((account, _)) = world.some_pool(random) else { return };
            let handle = world.pools[account].pop().unwrap();
            coverage.note_if(
                world.pools[account].is_empty() && world.models[account].live_count > 0,
                "a pool goes before its buffers",
            );
            drop_somewhere(handle, random, elsewhere);
        }
        4..8 => take(world, random, coverage),
        8 | 9 => resize(world, random, coverage),
        _ => {
            if world.owned.is_empty() {
                return;
            }
            let Owned { account, capacity, what } =
                world.owned.swap_remove(random.usize(..world.owned.len()));
            world.count_gone(account, capacity);
            coverage.note_if(world.pools[account].is_empty(), "a buffer goes after its pool");
            coverage.note_if(drop_somewhere(what, random, elsewhere), "a buffer goes on another thread");
        }
    }
}

fn open(world: &mut World, random: &mut Rng, coverage: &mut Notes) {
    let Some((parent, pool)) = world.some_pool(random) else { return };
    let limit = random.usize(..30_000);
    let (opened, limit) = match random.u32(..5) {
        0 => (pool.proxy("proxy"), None),
        1 => (pool.logging("logging"), None),
        2 => (pool.guarded("guarded"), None),
        _ => (pool.capped("capped", limit), Some(limit as u64 / UNIT)),
    };
    world.models.push(Model { parent: Some(parent), limit, ..Model::default() });
    world.pools.push(vec![opened.unwrap()]);
    coverage.note_if(world.chain(world.models.len() - 1).len() > 3, "a chain of four pools");
}

fn take(world: &mut World, random: &mut Rng, coverage: &mut Notes) {
    let Some((account, pool)) = world.some_pool(random) else { return };
    let nbytes = some_size(random);
    let capacity = (nbytes as u64).next_multiple_of(UNIT);
    let options = AllocOptions::new().align(1 << random.u32(..13));
    let result = match random.u32(..3) {
        0 => options.zeroed(&pool, nbytes).map(|buffer| What::Frozen(buffer, None)),
        1 => options.mutable(&pool, nbytes).map(What::Growing),
        _ => pool.copy_from_slice(&vec![7u8; nbytes]).map(|buffer| {
            let slice = buffer.slice(..nbytes / 2).unwrap();
            What::Frozen(buffer, Some(slice))
        }),
    };
    coverage.note_if(nbytes == 0 && result.is_ok(), "an empty block");
    coverage.note_if(nbytes >= 256 << 10 && result.is_ok() && world.has_cache, "a mapped block");
    match (result, world.refuses(account, units(capacity))) {
        (Ok(what), None) => {
            world.count_taken(account, capacity);
            world.owned.push(Owned { account, capacity, what });
        }
        (Err(error), Some(by)) => {
            let limit = world.models[by].limit.unwrap() * UNIT;
            let used = world.models[by].charged * UNIT;
            let text = error.to_string();
            assert!(error.is_out_of_memory() && text.contains(&limit.to_string()), "{text}");
            assert!(
                // An empty block is charged, too.
                text.contains(&used.to_string()) && text.contains(&capacity.max(UNIT).to_string()),
                "{text}: {used}"
            );
            coverage.note("a limit refuses");
        }
        (result, by) => panic!("{nbytes} bytes: {:?}, refused by account {by:?}", result.map(drop)),
    }
}

fn resize(world: &mut World, random: &mut Rng, coverage: &mut Notes) {
    if world.owned.is_empty() {
        return;
    }
    let at = random.usize(..world.owned.len());
    let Owned { account, capacity, what } = world.owned.swap_remove(at);
    let size = some_size(random);
    let (what, now, refused) = match what {
        What::Growing(mut bytes) => {
            let filled = bytes.nbytes();
            let (wanted, result) = match random.u32(..3) {
                0 => (bytes.nbytes(), bytes.shrink_to_fit()),
                1 => (bytes.nbytes() + size, bytes.reserve_exact(size)),
                _ => (size, bytes.resize(size)),
            };
            assert!(result.is_ok() || bytes.nbytes() == filled, "the buffer is as it was");
            let shrinks = wanted == filled && result.is_ok() && bytes.capacity() < capacity as usize;
            coverage.note_if(shrinks, "a block shrinks");
            let frozen = random.u32(..4) == 0;
            let now = bytes.capacity() as u64;
            let what = if frozen { What::Frozen(bytes.freeze(), None) } else { What::Growing(bytes) };
            (what, now, result.is_err().then(|| (wanted as u64).next_multiple_of(UNIT)))
        }
        What::Frozen(mut buffer, None) => {
            let result = buffer.resize(size);
            let now = buffer.capacity() as u64;
            let refused = result.is_err().then(|| (size as u64).next_multiple_of(UNIT));
            coverage.note_if(result.is_ok() && now > capacity, "a buffer grows");
            let thawed = random.bool();
            let what = if thawed {
                What::Growing(buffer.try_into_mut().unwrap())
            } else {
                What::Frozen(buffer, None)
            };
            (what, now, refused)
        }
        What::Frozen(mut buffer, Some(slice)) => {
            let error = buffer.resize(size).unwrap_err();
            assert!(error.is_conflict(), "{error}");
            let kept = buffer.try_into_mut().unwrap_err();
            coverage.note("a resize is refused while a slice lives");
            (What::Frozen(kept.value, random.bool().then_some(slice)), capacity, None)
        }
    };
    if let Some(wanted) = refused {
        let more = units(wanted) - units(capacity);
        assert!(world.refuses(account, more).is_some(), "{wanted} bytes were refused without a limit");
        assert_eq!(now, capacity, "the buffer is as it was");
        coverage.note("a limit refuses growth");
    }
    assert!(
        now <= capacity
            || refused.is_some()
            || world.refuses(account, units(now) - units(capacity)).is_none()
    );
    world.count_resized(account, capacity, now);
    world.owned.push(Owned { account, capacity: now, what });
}

/// A thread that drops what it receives, and confirms it.
struct Elsewhere {
    send: mpsc::Sender<Box<dyn Send>>,
    done: mpsc::Receiver<()>,
    used: AtomicBool,
}

impl Elsewhere {
    fn start() -> Self {
        let (send, received) = mpsc::channel::<Box<dyn Send>>();
        let (say, done) = mpsc::channel();
        std::thread::spawn(move || {
            for thing in received {
                drop(thing);
                say.send(()).unwrap();
            }
        });
        Self { send, done, used: AtomicBool::new(false) }
    }
}

/// Returns whether it was dropped on another thread.
fn drop_somewhere(thing: impl Send + 'static, random: &mut Rng, elsewhere: &Elsewhere) -> bool {
    if random.u32(..4) != 0 {
        drop(thing);
        return false;
    }
    elsewhere.used.store(true, Ordering::Relaxed);
    elsewhere.send.send(Box::new(thing)).unwrap();
    elsewhere.done.recv().unwrap();
    true
}

/// The classes that a case has covered, each once.
#[derive(Default)]
struct Notes(BTreeSet<&'static str>);

impl Notes {
    fn note(&mut self, class: &'static str) {
        self.0.insert(class);
    }

    fn note_if(&mut self, condition: bool, class: &'static str) {
        if condition {
            self.note(class);
        }
    }
}

const CLASSES: [&str; 13] = [
    "a pool goes before its buffers",
    "a buffer goes after its pool",
    "a buffer goes on another thread",
    "a chain of four pools",
    "an empty block",
    "a mapped block",
    "a limit refuses",
    "a limit refuses growth",
    "a block shrinks",
    "a buffer grows",
    "a resize is refused while a slice lives",
    "the root goes first",
    "one thread did it all",
];

fn some_root(random: &mut Rng) -> Root {
    let plain =
        |pool: crossdock::Result<Pool>| Root { pool: pool.unwrap(), outstanding: None, has_cache: false };
    match random.u32(..5) {
        0 => plain(Pool::system()),
        4 if cfg!(not(miri)) => {
            Root { has_cache: true, ..plain(Pool::shareable(1 << 20, Duration::from_millis(1))) }
        }
        1 => Root { has_cache: true, ..plain(Pool::caching(1 << 20, Duration::from_millis(1))) },
        2 => plain(Pool::system().and_then(|pool| pool.guarded("guarded root"))),
        _ => counting::root(),
    }
}

#[test]
fn statistics_limits_and_lifetimes_are_exact_after_every_step_of_any_schedule() {
    let mut random = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    while coverage.cases() < cases(5_000) {
        coverage.case();
        let mut notes = Notes::default();
        let elsewhere = Elsewhere::start();
        let Root { pool, outstanding, has_cache } = some_root(&mut random);
        let mut world =
            World { models: vec![Model::default()], pools: vec![vec![pool]], owned: Vec::new(), has_cache };
        for _ in 0..random.usize(5..40) {
            step(&mut world, &mut random, &elsewhere, &mut notes);
            world.check(!elsewhere.used.load(Ordering::Relaxed));
        }
        notes.note_if(world.pools[0].is_empty() && world.pools.len() > 1, "the root goes first");
        while !world.owned.is_empty() || world.pools.iter().any(|handles| !handles.is_empty()) {
            if random.bool() && !world.owned.is_empty() {
                let gone = world.owned.swap_remove(random.usize(..world.owned.len()));
                world.count_gone(gone.account, gone.capacity);
                drop_somewhere(gone.what, &mut random, &elsewhere);
            } else if let Some((account, pool)) = world.some_pool(&mut random) {
                drop((pool, world.pools[account].pop()));
            }
            world.check(!elsewhere.used.load(Ordering::Relaxed));
        }
        assert!(world.models.iter().all(|model| (model.charged, model.live_count) == (0, 0)));
        notes.note_if(!elsewhere.used.load(Ordering::Relaxed), "one thread did it all");
        if let Some(outstanding) = outstanding {
            let allocator_is_gone = Arc::into_inner(outstanding);
            assert_eq!(allocator_is_gone.map(AtomicU64::into_inner), Some(0), "bytes, or the pool, leaked");
            notes.note("a test allocator");
        }
        notes.0.into_iter().for_each(|class| coverage.note(class));
    }
    println!("{coverage}");
    coverage.assert_at_least(0.01, CLASSES);
    #[cfg(feature = "allocator-api2-0_2")]
    coverage.assert_at_least(0.2, ["a test allocator"]);
}
