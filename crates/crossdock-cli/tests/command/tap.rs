//! `tap`: what flows over a channel, seen from outside. This process has the channel.

use std::time::Duration;

use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Delivery, Receiver, Sender};
use crossdock::table::{Batches, Column, RecordBatch};
use crossdock::{Array, DArray};
use rustix::process::Signal;

use crate::common::{Folder, answer, refusal, run, stderr};
use crate::hold::Running;

const NOW: Option<Duration> = Some(Duration::ZERO);

/// A channel that no other test finds.
fn named(name: &str, options: &ChannelOptions) -> (String, Channel) {
    let name = format!("{name}-{}", std::process::id());
    let channel = Channel::new(&options.clone().named(&name)).unwrap();
    (name, channel)
}

fn ends(channel: &Channel) -> (Sender, Receiver) {
    (channel.sender().unwrap(), channel.receiver().unwrap())
}

fn numbers(values: &[i64]) -> DArray {
    Array::from_vec(values.to_vec(), [values.len()]).unwrap().into()
}

/// The tap, once it sees the channel, and its first line.
fn tap(folder: &Folder, name: &str, options: &[&str]) -> (Running, String) {
    let mut tap = Running::start(folder, &[&["tap", name], options].concat());
    let head = tap.line();
    (tap, head)
}

#[test]
fn messages_are_shown_with_their_sender_until_a_signal() {
    let folder = Folder::new("tap");
    let (name, channel) = named("shown", &ChannelOptions::new(3, 4096));
    let (mut sender, mut receiver) = ends(&channel);
    sender.send_copy(&numbers(&[1]), NOW).unwrap();
    let (mut tap, head) = tap(&folder, &name, &["--values"]);
    let pid = std::process::id();
    assert!(
        head.starts_with(&format!("channel {name}: 3 slots of 4.00 KiB, delivery each, 1 sent")),
        "{head}"
    );
    assert!(
        head.contains(&format!("sender {pid} (")) && head.contains(&format!("receiver {pid} (")),
        "{head}"
    );

    sender.send_copy(&numbers(&[5, 6]), NOW).unwrap();
    let line = tap.line();
    assert!(line.starts_with("1  ") && line.contains("int64 [2]  16 B"), "{line}");
    assert!(line.contains(&format!("from {pid} (")) && line.ends_with("waits for 1\n"), "{line}");
    assert_eq!(tap.line(), "    [5 6]\n");

    let price = Column::from_array(Array::from_vec(vec![1.5f64, 2.5], [2]).unwrap()).unwrap();
    let batch = RecordBatch::from_columns([("price", price)]).unwrap();
    drop(receiver.receive(NOW).unwrap());
    sender.send_table(&mut Batches::from_iter([batch]), NOW).unwrap();
    let line = tap.line();
    assert!(line.starts_with("2  ") && line.contains(" s  a table  "), "{line}");
    drop((receiver.receive(NOW).unwrap(), receiver.receive(NOW).unwrap()));
    sender.send_copy(&numbers(&[4]), NOW).unwrap();
    let shown: Vec<String> = std::iter::from_fn(|| Some(tap.line()))
        .take_while(|line| !line.is_empty() && !line.starts_with("3  "))
        .collect();
    assert!(shown[0].contains("price") && shown[2].trim_end().ends_with("2.5"), "{shown:?}");
    assert_eq!(tap.line(), "    [4]\n");
    sender.send_copy(&numbers(&[5, 6]), NOW).unwrap();
    assert!(tap.line().starts_with("4  ") && tap.line() == "    [5 6]\n");

    // One message is viewed, one waits, and one is received and gone.
    drop(receiver.receive(NOW).unwrap().unwrap());
    let view = receiver.receive(NOW).unwrap().unwrap();
    assert_eq!(view.get(&[1]).unwrap().as_i64(), Some(6));
    sender.send_copy(&numbers(&[7]), NOW).unwrap();
    assert!(tap.line().starts_with("5  ") && tap.line() == "    [7]\n");
    tap.signal(Signal::INT);
    let summary = tap.line();
    assert!(
        summary.starts_with("5 messages in ") && summary.contains("5 of them shown, 0 dropped"),
        "{summary}"
    );
    assert_eq!(tap.line(), "slots: 1 free, 0 on loan, 1 waiting, 1 viewed\n");
    let words = |line: String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(tap.line()), ["process", "program", "role", "waiting", "views"]);
    assert_eq!(words(tap.line())[2..], ["sender"]);
    assert_eq!(words(tap.line())[2..], ["receiver", "1", "1"]);
    assert_eq!(tap.end(), (Some(0), String::new()));
}

#[test]
fn a_tap_takes_no_slot_and_is_no_member() {
    let folder = Folder::new("tap-apart");
    let (name, channel) = named("apart", &ChannelOptions::new(1, 64));
    let (mut sender, mut receiver) = ends(&channel);
    let (mut tap, _) = tap(&folder, &name, &[]);
    for index in 0..3 {
        sender.send_copy(&numbers(&[index]), NOW).unwrap();
        assert!(sender.send_copy(&numbers(&[index]), NOW).unwrap_err().is_exhausted());
        drop(receiver.receive(NOW).unwrap().unwrap());
        // The tap sees it after the receiver has released it.
        assert!(tap.line().starts_with(&format!("{index}  ")));
        assert_eq!((channel.senders(), channel.receivers(), channel.usage()), (1, 1, [1, 0, 0, 0]));
    }
    drop(receiver);
    sender.send_copy(&numbers(&[9]), NOW).unwrap();
    assert!(tap.line().starts_with("3  "));
    // A slot that was given back has the elements of no message.
    drop(sender.loan(&crossdock::element::DType::I64, &[1], NOW).unwrap());
    channel.close();
    let summary = tap.line();
    assert!(summary.contains("4 of them shown, 1 dropped, closed"), "{summary}");
    assert_eq!(tap.line(), "slots: 1 free, 0 on loan, 0 waiting, 0 viewed\n");
    drop((sender, channel));
}

#[test]
fn json_is_one_object_a_line_and_counts_what_was_missed() {
    let folder = Folder::new("tap-json");
    let options = ChannelOptions::new(2, 64).delivery(Delivery::Latest);
    let (name, channel) = named("json", &options);
    let mut sender = channel.sender().unwrap();
    sender.send_copy(&numbers(&[3, 4]), NOW).unwrap();
    // The newest value is there for a tap that comes later.
    let mut tap = Running::start(&folder, &["tap", &name, "--json", "--values", "--count", "2"]);
    let line = tap.line();
    for part in
        ["\"message\":0", "\"dtype\":\"int64\"", "\"shape\":[2]", "\"nbytes\":16", "\"values\":\"[3 4]\""]
    {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(line.contains(&format!("\"pid\":{}", std::process::id())), "{line}");
    for index in 0..1000 {
        sender.send_copy(&numbers(&[index]), NOW).unwrap();
    }
    assert!(tap.line().contains("\"dtype\":\"int64\""));
    let summary = tap.line();
    let number = |name: &str| -> u64 {
        let rest = summary.split(&format!("\"{name}\":")).nth(1).unwrap();
        rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    assert_eq!((number("seen"), number("dropped")), (2, 0), "{summary}");
    assert!((2..=1001).contains(&number("sent")), "{summary}");
    assert_eq!(tap.end(), (Some(0), String::new()));
}

#[test]
fn a_tap_ends_when_no_process_has_the_channel() {
    let folder = Folder::new("tap-gone");
    let (name, channel) = named("gone", &ChannelOptions::new(2, 64));
    let (mut tap, _) = tap(&folder, &name, &[]);
    drop(channel);
    assert!(tap.line().starts_with("0 messages in "));
    assert_eq!(tap.end(), (Some(0), String::new()));
}

#[test]
fn channels_are_listed_and_found_by_name_or_id() {
    let (name, channel) = named("twice", &ChannelOptions::new(2, 64));
    let (_, other) = named("twice", &ChannelOptions::new(5, 64).delivery(Delivery::One));
    let mut sender = other.sender().unwrap();
    sender.send_copy(&numbers(&[1]), NOW).unwrap();
    let listed = answer(&run(["tap"]));
    let rows: Vec<Vec<&str>> = listed
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|row: &Vec<&str>| row[0] == name)
        .collect();
    assert_eq!(rows.len(), 2, "{listed}");
    let row = rows.iter().find(|row| row[2] == "5").unwrap();
    let pid = std::process::id().to_string();
    assert_eq!(row[5..], ["one", "1", "1", "0", &pid], "{listed}");
    let listed = answer(&run(["tap", "--json"]));
    assert!(listed.contains(&format!("\"id\": {}", row[1])), "{listed}");

    let said = refusal(&run(["tap", &name]), 1);
    assert!(said.contains("2 channels have the name") && said.contains(row[1]), "{said}");
    let said = refusal(&run(["tap", "no-such-channel"]), 1);
    assert!(said.contains("no process of this user has a channel no-such-channel"), "{said}");
    other.close();
    let closed = run(["tap", row[1]]);
    assert!(closed.status.success() && stderr(&closed).is_empty());
    assert!(run(["tap", "--count", "1"]).status.code() == Some(2));
    drop(channel);
}
