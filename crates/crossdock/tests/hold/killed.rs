//! SetHolder, readers and writer are killed at random moments: no reader sees a torn set, the sets
//! of a killed holder are found again, and nothing is left behind. A reader's write faults.
//!
//! The programs are this test program, started again in a role. `CROSSDOCK_SEED` chooses the
//! moments.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use crossdock::bindings::hold::set_patience;
use crossdock::exchange::protocol::hold::{self, Label, Limits, SealedSet, Set, SetHolder};
use crossdock_testkit::{Coverage, rounds, seed};
use fastrand::Rng;

use crate::common::{
    HANGS, Program, ROLE, Running, holders_of_memory, in_own_folder, sample, socket, unique, until,
};
use crate::hostile::{CONNECT, message, raw, try_raw};

const LEN: usize = 1000;

/// The role of this program when it is started again; nothing otherwise.
#[test]
fn role() {
    let Ok(text) = std::env::var(ROLE) else { return };
    let (role, name) = text.split_once(' ').unwrap();
    let name: Label = name.parse().unwrap();
    match role {
        "hold" => hold_on(&name),
        "read" => read_on(&name),
        "take" => take_over(&name),
        "write" => write_on(&name),
        "fault" => fault(&name),
        "touch" => touch(&name),
        "ask" => ask(&name),
        _ => panic!("{role}"),
    }
}

fn hold_on(name: &Label) {
    let mut holder = SetHolder::new(Limits::new()).unwrap();
    holder.claim(name).unwrap();
    if holder.labels().is_empty() {
        let label = holder.next(name).unwrap();
        holder.commit(with_table(&label)).unwrap();
    }
    println!("holds");
    holder.run(None).unwrap();
}

fn take_over(name: &Label) {
    let mut holder = SetHolder::new(Limits::new()).unwrap();
    println!("takes over");
    holder.take_over(name).unwrap();
    holder.run(None).unwrap();
}

/// Checks that all elements are the version.
fn check(set: &Set) {
    let array = set.get("w").unwrap();
    let array = crossdock::Array::<i64, 1>::try_from(array).unwrap();
    let version = set.label().version().unwrap() as i64;
    let bytes = array.read().unwrap();
    assert!(bytes.iter().all(|&element| element == version), "{:?} is torn", set);
    assert_eq!(bytes.len(), LEN);
    #[cfg(feature = "arrow-ipc")]
    if set.contains("t").unwrap() {
        let batch = set.table("t").unwrap().batch(0).unwrap();
        let column = batch.column(0).unwrap().array().unwrap();
        let bytes = crossdock::Array::<i64, 1>::try_from(column).unwrap();
        let bytes = bytes.read().unwrap();
        assert!(bytes.len() == LEN && bytes.iter().all(|&element| element == version), "{set:?} is torn");
    }
}

/// The sample, and a table of one column like its array.
fn with_table(label: &Label) -> SealedSet {
    #[cfg(not(feature = "arrow-ipc"))]
    return sample(label, LEN);
    #[cfg(feature = "arrow-ipc")]
    {
        use crossdock::table::{Batches, RecordBatch};
        let mut draft = crate::common::sample_draft(label, LEN);
        let version = label.version().unwrap() as i64;
        let column = crate::tables::integers((0..LEN).map(|_| version));
        let batch = RecordBatch::from_columns([("v", column)]).unwrap();
        draft.write_table("t", &mut Batches::from_iter([batch])).unwrap();
        draft.seal().unwrap()
    }
}

/// Connects again and again, and always has a set.
fn read_on(name: &Label) -> ! {
    let mut kept = None;
    loop {
        if let Ok(set) = hold::connect(name) {
            check(&set);
            if kept.replace(set).is_none() {
                println!("reads");
            }
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Publishes again and again.
fn write_on(name: &Label) -> ! {
    loop {
        if let Ok(publisher) = hold::publish(name) {
            let label = publisher.label().clone();
            // The holder may be gone meanwhile.
            let _ = publisher.commit(&with_table(&label));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Reads every element, and keeps the set.
fn touch(name: &Label) -> ! {
    let set = hold::connect(name).unwrap();
    let array = crossdock::Array::<i64, 1>::try_from(set.get("w").unwrap()).unwrap();
    assert!(array.read().unwrap().iter().all(|&element| element == 1));
    println!("has read");
    loop {
        std::thread::sleep(HANGS);
    }
}

/// Asks a holder that is stopped for everything, with little patience.
fn ask(name: &Label) {
    set_patience(Duration::from_millis(100));
    type Request = fn(&Label) -> crossdock::Result<()>;
    let requests: [(&str, Request); 5] = [
        ("connect", |name| hold::connect(name).map(drop)),
        ("publish", |name| hold::publish(name).map(drop)),
        ("who", |name| hold::who(name).map(drop)),
        ("take over", |name| SetHolder::new(Limits::new())?.take_over(name)),
        ("list", |name| {
            let listed = hold::list()?.into_iter().find(|listed| listed.name == *name);
            listed.expect("the socket is there").versions.map(drop)
        }),
    ];
    for (what, request) in requests {
        let error = request(name).expect_err(what);
        assert!(
            error.is_io() && error.to_string().contains("did not answer within 100ms"),
            "{what}: {error}"
        );
        assert!(error.to_string().contains("kill -CONT"), "{what}: {error}");
    }
    assert!(SetHolder::new(Limits::new()).unwrap().claim(name).unwrap_err().is_conflict());
    // So many connections wait that the system takes no more.
    let waiting: Vec<_> = std::iter::from_fn(|| try_raw(name)).take(1000).collect();
    assert!(waiting.len() < 1000);
    let error = hold::connect(name).unwrap_err();
    assert!(error.is_io() && error.to_string().contains("did not accept a connection"), "{error}");
    println!("asked for all");
}

#[test]
fn one_array_of_a_set_is_enough_to_find_all_of_it_after_a_kill() {
    let name = unique();
    let mut holder = Program::start("hold", &name);
    assert!(holder.says("holds"));
    // The set itself, and with it the maps of its manifest and of its tables, are gone.
    let array = hold::connect(&name).unwrap().get("w").unwrap();
    holder.kill();
    let mut next = SetHolder::new(Limits::new()).unwrap();
    next.claim(&name).unwrap();
    assert_eq!(next.labels().len(), 1);
    let _next = Running::start(next);
    check(&hold::connect(&name).unwrap());
    drop(array);
}

#[test]
fn a_stopped_holder_keeps_no_client_waiting_and_serves_on_when_it_is_continued() {
    let name = unique();
    let mut holder = Program::start("hold", &name);
    assert!(holder.says("holds"));
    let set = hold::connect(&name).unwrap();
    let signal = |signal| {
        // SAFETY: `kill` takes integers; the process is a child that was not waited for.
        assert_eq!(unsafe { libc::kill(holder.child.id() as i32, signal) }, 0);
    };
    signal(libc::SIGSTOP);
    check(&set);
    let mut client = Program::start("ask", &name);
    let has_asked = client.says("asked for all");
    signal(libc::SIGCONT);
    assert!(has_asked, "a request was not refused");
    client.kill();
    until("the holder serves again", || hold::connect(&name).is_ok());
    assert_eq!(hold::connect(&name).unwrap().label(), set.label());
}

/// Tries every way to write a set that it reads.
fn fault(name: &Label) {
    let set = hold::connect(name).unwrap();
    let array = set.get("w").unwrap();
    let (buffer, _) = array.buffer().unwrap();
    let (fd, _) = buffer.descriptor().unwrap();
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    if let Ok(file) = std::fs::File::options().write(true).open(path) {
        use std::os::unix::fs::FileExt;
        assert!(file.write_at(b"x", 0).is_err() && file.set_len(0).is_err());
    }
    let page = array.as_ptr().addr() & !4095;
    // SAFETY: the call changes the access to a page of this process, if the system permits it, and
    // no bytes.
    let changed =
        unsafe { libc::mprotect(page as *mut libc::c_void, 4096, libc::PROT_READ | libc::PROT_WRITE) };
    assert_eq!(changed, -1);
    // SAFETY: the action is the default one, also where a sanitizer has its own, which exits.
    unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
    println!("tries");
    // SAFETY: not sound if it succeeded, which is what this program, of which nothing is left
    // after that, shall show.
    unsafe { array.as_ptr().cast_mut().write_volatile(99) };
    println!("wrote");
}

#[test]
fn a_readers_write_faults_and_never_lands() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let mut reader = Program::start("fault", &name);
    assert!(reader.says("tries"));
    assert!(!reader.says("wrote"));
    assert_eq!(reader.child.wait().unwrap().signal(), Some(libc::SIGSEGV));
    check(&hold::connect(&name).unwrap());
}

/// The bytes of the set's memory in a process, a page that n processes map counting 1/n there.
fn proportional_nbytes(process: u32, name: &Label) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{process}/smaps")).unwrap();
    let wanted = format!("/memfd:crossdock hold {}@", name.name());
    let mut is_of_set = false;
    let mut kib = 0;
    for line in maps.lines() {
        match line.strip_prefix("Pss:") {
            Some(size) if is_of_set => {
                kib += size.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
            }
            Some(_) => {}
            // The line of a map begins with its addresses.
            None if line.split(' ').next().is_some_and(|word| word.contains('-')) => {
                is_of_set = line.contains(&wanted);
            }
            None => {}
        }
    }
    kib << 10
}

#[test]
fn four_readers_have_one_copy_in_memory() {
    const MANY: usize = 4 << 20;
    let name = unique();
    let mut holder = SetHolder::new(Limits::new()).unwrap();
    holder.claim(&name).unwrap();
    let label = holder.next(&name).unwrap();
    holder.commit(sample(&label, MANY)).unwrap();
    let _holder = Running::start(holder);
    let mut readers: Vec<Program> = (0..4).map(|_| Program::start("touch", &name)).collect();
    assert!(readers.iter_mut().all(|reader| reader.says("has read")));
    let of_readers = readers.iter().map(|reader| proportional_nbytes(reader.child.id(), &name));
    let (all, one) = (of_readers.sum::<u64>(), 8 * MANY as u64);
    assert!(all >= one && all <= one + one / 50, "{all} bytes for {one}");
    // The holder maps nothing.
    assert_eq!(proportional_nbytes(std::process::id(), &name), 0);
}

/// Publishes, and requests the version without taking the reply: its memory is nowhere but in the
/// connection.
fn publish_in_flight(name: &Label) -> (Label, UnixStream) {
    let publisher = hold::publish(name).unwrap();
    let label = publisher.label().clone();
    publisher.commit(&with_table(&label)).unwrap();
    let client = raw(name);
    (&client).write_all(&message(CONNECT, &[0])).unwrap();
    let is_reader = |user: &hold::User| user.role == hold::Role::Reader && user.label == label;
    until("the version is sent", || hold::who(name).unwrap().iter().any(is_reader));
    (label, client)
}

#[test]
fn a_version_in_flight_keeps_its_number_when_the_holder_is_killed() {
    in_own_folder("killed::a_version_in_flight_keeps_its_number_when_the_holder_is_killed", || {
        let name = unique();
        let mut given = Vec::new();
        let mut in_flight = Vec::new();
        let mut first = None;
        // Killed again and again: each successor finds nothing but the first version.
        for _ in 0..3 {
            let mut holder = Program::start("hold", &name);
            assert!(holder.says("holds"));
            let set = hold::connect(&name).unwrap();
            assert_eq!(set.label().version(), Some(1));
            first = Some(set);
            let (label, client) = publish_in_flight(&name);
            assert!(given.last() < Some(&label), "{given:?} {label}");
            given.push(label);
            in_flight.push(client);
            holder.kill();
        }
        // Not even the first version is found.
        drop(first);
        let mut holder = SetHolder::new(Limits::new()).unwrap();
        holder.claim(&name).unwrap();
        assert_eq!(holder.labels(), []);
        let next = holder.next(&name).unwrap();
        assert!(given.last() < Some(&next), "{given:?} {next}");
        drop(in_flight);
    });
}

#[test]
fn any_process_may_be_killed_at_any_moment() {
    const USUAL: usize = 200;
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    let (start, times) = (Instant::now(), rounds(USUAL));
    for round in 0..times {
        coverage.case();
        let name = unique();
        let mut holder = Program::start("hold", &name);
        assert!(holder.says("holds"));
        let mut reader = Program::start("read", &name);
        let mut writer = Program::start("write", &name);
        let reads = rng.usize(0..8) > 0;
        assert!(!reads || reader.says("reads"));
        std::thread::sleep(Duration::from_micros(rng.u64(0..4_000)));

        // At least one of the three is killed.
        let victims = 1 + rng.u8(0..7);
        let mut order = [0u8, 1, 2];
        rng.shuffle(&mut order);
        let is_killed = |who: u8| victims & (1 << who) != 0;
        for who in order.into_iter().filter(|&who| is_killed(who)) {
            std::thread::sleep(Duration::from_micros(rng.u64(0..1_000)));
            [&mut holder, &mut reader, &mut writer][usize::from(who)].kill();
        }
        for (who, program) in [&mut holder, &mut reader, &mut writer].into_iter().enumerate() {
            let ended = program.child.try_wait().unwrap();
            assert_eq!(ended.is_some(), is_killed(who as u8), "round {round}: {who} ended with {ended:?}");
        }
        coverage.note_if(is_killed(0), "the holder was killed");
        coverage.note_if(is_killed(1), "the reader was killed");
        coverage.note_if(is_killed(2), "the writer was killed");

        // The processes that are left serve and are served.
        let mut next = None;
        if is_killed(0) {
            let mut holder = SetHolder::new(Limits::new()).unwrap();
            holder.claim(&name).unwrap();
            let found = holder.labels();
            if !is_killed(1) && reads {
                coverage.note("a set was found in a reader");
                assert_eq!(found.len(), 1, "round {round}: {found:?}");
            }
            next = Some((Running::start(holder), !found.is_empty()));
        }
        if next.as_ref().is_none_or(|(_, has_set)| *has_set) {
            check(&hold::connect(&name).unwrap());
        }
        if is_killed(2) {
            until("the writer's place is free", || hold::publish(&name).is_ok());
        }
        if is_killed(1) {
            let pid = u64::from(reader.child.id());
            until("the reader's lease is given back", || {
                hold::who(&name).unwrap().iter().all(|user| user.pid != pid)
            });
        }

        // Nothing is left.
        drop((next, reader, writer));
        holder.kill();
        until("no process has the memory", || holders_of_memory(&name).is_empty());
        hold::list().unwrap();
        assert!(!socket(&name).exists());
        assert!(start.elapsed() < HANGS * times.max(10) as u32);
    }
    println!("{coverage}");
    println!("{times} rounds in {:?}", start.elapsed());
    if times == USUAL {
        let all = ["the holder was killed", "the reader was killed", "the writer was killed"];
        coverage.assert_at_least(0.3, all);
        coverage.assert_at_least(0.1, ["a set was found in a reader"]);
    }
}

#[test]
fn a_takeover_in_which_one_is_killed_leaves_one_holder_or_none() {
    const USUAL: usize = 60;
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    let times = rounds(USUAL);
    for round in 0..times {
        coverage.case();
        let name = unique();
        let mut former = Program::start("hold", &name);
        assert!(former.says("holds"));
        let mut reader = Program::start("read", &name);
        assert!(reader.says("reads"));
        let mut successor = Program::start("take", &name);
        assert!(successor.says("takes over"));
        // Some ten system calls.
        std::thread::sleep(Duration::from_micros(rng.u64(0..600)));
        let killed = if rng.bool() { &mut former } else { &mut successor };
        killed.kill();

        let mut next = None;
        until("the name is held, or can be claimed", || {
            if hold::connect(&name).is_ok() {
                return true;
            }
            let mut holder = SetHolder::new(Limits::new()).unwrap();
            if holder.claim(&name).is_err() {
                return false;
            }
            assert_eq!(holder.labels().len(), 1, "round {round}: the reader has it");
            next = Some(Running::start(holder));
            true
        });
        coverage.note(if next.is_some() { "no one held it" } else { "one still held it" });
        check(&hold::connect(&name).unwrap());
        assert!(reader.child.try_wait().unwrap().is_none());
        // A second holder would listen at the same socket.
        let holders = hold::who(&name).unwrap().into_iter().filter(|user| user.role == hold::Role::Holder);
        assert_eq!(holders.count(), 1);
        drop((next, reader, former, successor));
        until("no process has the memory", || holders_of_memory(&name).is_empty());
        hold::list().unwrap();
        assert!(!socket(&name).exists());
    }
    println!("{coverage}");
    if times == USUAL {
        coverage.assert_at_least(0.05, ["no one held it", "one still held it"]);
    }
}

#[test]
fn of_many_processes_that_claim_a_name_at_once_one_gets_it() {
    let name = unique();
    let mut killed = Program::start("hold", &name);
    assert!(killed.says("holds"));
    // Its socket is still there, and dead.
    killed.kill();
    let mut programs: Vec<Program> = (0..6).map(|_| Program::start("hold", &name)).collect();
    until("each holds the name, or has given up", || {
        programs.retain_mut(|program| program.child.try_wait().unwrap().is_none());
        programs.len() == 1
    });
    assert!(programs[0].says("holds"));
    check(&hold::connect(&name).unwrap());
}
