//! Versions, readers and writers of a name.

use crossdock::exchange::protocol::hold::{self, Label, Limits, Role, SetHolder};

use crate::common::{Running, at, holders_of_memory, sample, socket, unique, until};

fn publish(name: &Label, len: usize) -> Label {
    let publisher = hold::publish(name).unwrap();
    let label = publisher.label().clone();
    publisher.commit(&sample(&label, len)).unwrap();
    label
}

fn versions(name: &Label) -> Vec<(u64, u64)> {
    let listed = hold::list().unwrap();
    let Some(listed) = listed.iter().find(|listed| listed.name == *name) else { return vec![] };
    let versions = listed.versions.as_ref().unwrap().iter();
    versions.map(|set| (set.label.version().unwrap(), set.readers)).collect()
}

#[test]
fn a_new_version_is_for_new_readers_and_an_old_one_goes_with_its_last_reader() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let first = hold::connect(&name).unwrap();
    assert_eq!(first.label(), &at(&name, 1));
    let array = first.get("w").unwrap();

    assert_eq!(publish(&name, 10), at(&name, 2));
    let second = hold::connect(&name).unwrap();
    assert_eq!((second.label().version(), second.get("tied").unwrap().len()), (Some(2), 10));
    let again = hold::connect(&at(&name, 1)).unwrap();
    assert_eq!(again.get("w").unwrap().as_ptr().addr() % 64, 0);
    assert_eq!(versions(&name), [(1, 2), (2, 1)]);

    // An array is a lease, too.
    drop((first, again));
    until("one reader of version 1 is left", || versions(&name) == [(1, 1), (2, 1)]);
    assert_eq!(array.get(&[999]).unwrap().as_i64(), Some(1));
    drop(array);
    until("version 1 is gone", || versions(&name) == [(2, 1)]);
    let gone = hold::connect(&at(&name, 1)).unwrap_err();
    assert!(gone.is_bounds() && gone.to_string().contains("@2"), "{gone}");

    // The newest stays without readers.
    drop(second);
    until("version 2 has no reader", || versions(&name) == [(2, 0)]);
    assert_eq!(hold::connect(&name).unwrap().get("w").unwrap().get(&[9]).unwrap().as_i64(), Some(2));
}

#[test]
fn one_process_at_a_time_is_the_writer() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let publisher = hold::publish(&name).unwrap();
    assert_eq!(publisher.label(), &at(&name, 2));
    let second = hold::publish(&name).unwrap_err();
    assert!(second.is_conflict() && second.to_string().contains(&std::process::id().to_string()), "{second}");
    // The place is given back without a version, whose number is not given again.
    drop(publisher);
    until("the place is free", || hold::publish(&name).is_ok());
    assert_eq!(versions(&name), [(1, 0)]);
    let publisher = loop {
        if let Ok(publisher) = hold::publish(&name) {
            break publisher;
        }
    };
    // A set with another label is none of this version.
    let refused = publisher.commit(&sample(&at(&name, 2), 1)).unwrap_err();
    assert!(refused.is_malformed(), "{refused}");
    assert_eq!(versions(&name), [(1, 0)]);
}

#[test]
fn who_lists_holder_readers_and_writer() {
    let name = unique();
    let _holder = Running::with_sample(&name, Limits::new());
    let set = hold::connect(&name).unwrap();
    let publisher = hold::publish(&name).unwrap();
    let users = hold::who(&name).unwrap();
    let found: Vec<_> = users.iter().map(|user| (user.role, user.label.version())).collect();
    assert_eq!(found, [(Role::Holder, Some(1)), (Role::Reader, Some(1)), (Role::Writer, Some(2))]);
    for user in users {
        assert_eq!(user.pid, u64::from(std::process::id()));
        assert!(!user.program.is_empty());
        assert_eq!(user.nbytes > 0, user.role != Role::Writer);
    }
    drop((set, publisher));
}

#[test]
fn a_dropped_version_stays_with_its_readers_and_a_dropped_name_ends_its_holder() {
    let name = unique();
    let holder = Running::with_sample(&name, Limits::new());
    let set = hold::connect(&name).unwrap();
    assert!(hold::drop_set(&at(&name, 7)).unwrap_err().is_bounds());
    hold::drop_set(&at(&name, 1)).unwrap();
    let none = hold::connect(&name).unwrap_err();
    assert!(none.is_bounds() && none.to_string().contains("publish"), "{none}");
    assert_eq!(versions(&name), []);
    assert!(hold::list().unwrap().iter().any(|listed| listed.name == name));
    assert_eq!(publish(&name, 3), at(&name, 2));

    hold::drop_set(&name).unwrap();
    until("the holder ends", || holder.has_ended());
    assert!(!socket(&name).exists());
    assert_eq!(set.get("w").unwrap().get(&[5]).unwrap().as_i64(), Some(1));
    let gone = hold::connect(&name).unwrap_err();
    assert!(gone.is_io() && gone.to_string().contains("crossdock hold FILE"), "{gone}");
}

#[test]
fn a_name_has_one_holder_and_a_dropped_holder_leaves_nothing() {
    let name = unique();
    let holder = Running::with_sample(&name, Limits::new());
    let taken = SetHolder::new(Limits::new()).unwrap().claim(&name).unwrap_err();
    assert!(taken.is_conflict(), "{taken}");
    drop(holder);
    assert!(!socket(&name).exists());
    assert_eq!(holders_of_memory(&name), [""; 0]);
    SetHolder::new(Limits::new()).unwrap().claim(&name).unwrap();
}

#[test]
fn limits_refuse_with_their_numbers() {
    let name = unique();
    let limits = Limits::new().nbytes(100_000).versions(2).clients(5);
    let _holder = Running::with_sample(&name, limits);
    let first = hold::connect(&name).unwrap();
    let publisher = hold::publish(&name).unwrap();
    let large = publisher.commit(&sample(&at(&name, 2), 100_000)).unwrap_err();
    assert!(large.is_refused() && large.to_string().contains("limit is 100000"), "{large}");
    assert_eq!(publish(&name, 1), at(&name, 3));
    let second = hold::connect(&name).unwrap();
    let publisher = hold::publish(&name).unwrap();
    let many = publisher.commit(&sample(&at(&name, 4), 1)).unwrap_err();
    assert!(many.is_refused() && many.to_string().contains("2 versions"), "{many}");
    let mut others = Vec::new();
    let full = loop {
        match hold::connect(&name) {
            Ok(set) => others.push(set),
            Err(error) => break error,
        }
        assert!(others.len() < 5);
    };
    assert!(full.is_refused() && full.to_string().contains("5 clients"), "{full}");
    drop((first, second));
    until("there is room", || hold::connect(&name).is_ok());
}

#[test]
fn the_bytes_that_one_process_published_have_a_limit_which_a_successor_keeps() {
    let name = unique();
    let limits = Limits::new().nbytes_of_process(20_000);
    let former = Running::with_sample(&name, limits.clone());
    let refused = |len: usize| {
        let publisher = hold::publish(&name).unwrap();
        let set = sample(publisher.label(), len);
        publisher.commit(&set).unwrap_err()
    };
    let large = refused(2000);
    let text =
        format!("that process {} published, and the limit for one process is 20000", std::process::id());
    assert!(large.is_refused() && large.to_string().contains(&text), "{large}");
    assert!(large.to_string().contains("the holder keeps 8"), "{large}");
    publish(&name, 1000);
    let mut holder = SetHolder::new(limits).unwrap();
    holder.take_over(&name).unwrap();
    drop(former);
    let _holder = Running::start(holder);
    assert!(refused(2000).to_string().contains("the holder keeps 8"));
    publish(&name, 1);
}

#[test]
fn a_successor_takes_over_versions_readers_and_the_writer() {
    let name = unique();
    let former = Running::with_sample(&name, Limits::new());
    let first = hold::connect(&name).unwrap();
    publish(&name, 10);
    let second = hold::connect(&name).unwrap();
    let publisher = hold::publish(&name).unwrap();

    let mut holder = SetHolder::new(Limits::new()).unwrap();
    holder.take_over(&name).unwrap();
    until("the former holder ends", || former.has_ended());
    let next = Running::start(holder);
    drop(former);
    assert!(socket(&name).exists());
    assert_eq!(versions(&name), [(1, 1), (2, 1)]);

    // The writer's connection is the one that it had.
    assert!(hold::publish(&name).unwrap_err().is_conflict());
    let label = publisher.label().clone();
    publisher.commit(&sample(&label, 5)).unwrap();
    assert_eq!(hold::connect(&name).unwrap().get("w").unwrap().len(), 5);
    drop((first, second));
    until("the old versions are gone", || versions(&name) == [(3, 0)]);
    drop(next);
    assert!(!socket(&name).exists());
    let refused = SetHolder::new(Limits::new()).unwrap().take_over(&name).unwrap_err();
    assert!(refused.is_io(), "{refused}");
}

#[test]
fn a_name_is_claimed_taken_over_and_published_as_a_whole() {
    let (name, mut holder) = (unique(), SetHolder::new(Limits::new()).unwrap());
    let third = at(&name, 3);
    for refused in [
        holder.claim(&third).unwrap_err(),
        holder.take_over(&third).unwrap_err(),
        hold::publish(&third).unwrap_err(),
    ] {
        assert!(refused.is_malformed() && refused.to_string().contains("has a version"), "{refused}");
    }
    assert!(holder.is_empty() && !socket(&name).exists());
}

#[test]
fn a_claim_finds_a_committed_set_and_no_set_that_is_only_sealed() {
    let (name, mut holder) = (unique(), SetHolder::new(Limits::new()).unwrap());
    holder.claim(&name).unwrap();
    let labels = [(); 2].map(|()| holder.next(&name).unwrap());
    let [first, second] = [sample(&labels[0], 1000), sample(&labels[1], 10)];
    drop(holder);
    let mut holder = SetHolder::new(Limits::new()).unwrap();
    holder.claim(&name).unwrap();
    assert_eq!(holder.labels(), []);
    // Their numbers are not given again.
    assert!(holder.next(&name).unwrap() > labels[1]);
    let kept = first.open().unwrap();
    holder.commit(first).unwrap();
    drop(holder);
    // The writer of the second version is not done when the holder goes.
    let mut next = SetHolder::new(Limits::new()).unwrap();
    next.claim(&name).unwrap();
    assert_eq!(next.labels(), labels[..1]);
    next.commit(second).unwrap();
    assert_eq!(next.labels(), labels[1..]);
    drop(kept);
}

#[test]
fn what_lies_at_the_path_of_a_socket_is_named() {
    let (name, mut holder) = (unique(), SetHolder::new(Limits::new()).unwrap());
    std::fs::write(socket(&name), "").unwrap();
    for error in [holder.claim(&name).unwrap_err(), hold::connect(&name).unwrap_err()] {
        assert!(error.is_io() && error.to_string().contains("is a regular file"), "{error}");
    }
    std::fs::remove_file(socket(&name)).unwrap();
    std::fs::create_dir(socket(&name)).unwrap();
    let error = holder.claim(&name).unwrap_err();
    assert!(error.to_string().contains("is a folder"), "{error}");
    std::fs::remove_dir(socket(&name)).unwrap();
    holder.claim(&name).unwrap();
}
