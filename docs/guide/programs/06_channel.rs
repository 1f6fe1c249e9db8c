// A camera streams frames to this program from a process of its own.

use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use crossdock::element::DType;
use crossdock::exchange::protocol::channel::{Channel, ChannelOptions, Receiver};
use crossdock::exchange::protocol::shm;
use crossdock::view::Request;
use crossdock::{Result, memory::copied_bytes};

/// Runs in the other process.
fn camera(channel: &Channel) -> Result<()> {
    let mut sender = channel.sender()?;
    for brightness in [10, 20, 30] {
        let frame = sender.loan(&DType::U8, &[1080, 1920, 3], None)?; // a slot, as a writable array
        frame.array().fill(&brightness.into())?;
        frame.send()?; // without a copy
    }
    channel.close();
    Ok(())
}

/// Prints the frames until the channel is closed.
fn show(mut receiver: Receiver) -> Result<()> {
    loop {
        match receiver.receive(None) {
            Ok(Some(frame)) => println!("{:?} {} {}", frame.shape(), frame.dtype(), frame.get(&[0, 0, 0])?),
            Ok(None) => {} // only after a timeout
            Err(error) if error.is_closed() => return Ok(()),
            Err(error) => return Err(error),
        } // the view ends, and its slot is free
    }
}

fn main() -> Result<()> {
    if let Ok(text) = std::env::var("CHANNEL") {
        let inherited = std::io::stdin().as_fd().try_clone_to_owned().expect("a descriptor");
        return camera(&Channel::open(&shm::import(inherited, &text.parse()?)?)?);
    }
    let channel = Channel::new(&ChannelOptions::new(4, 1080 * 1920 * 3))?; // four slots
    let receiver = channel.receiver()?;

    let shared = shm::export(&channel.to_array()?, &Request::share())?; // a channel travels as an array
    let mut other = Command::new(std::env::current_exe().expect("this program"))
        .args(std::env::args().skip(1))
        .env("CHANNEL", shared.description().to_text()?)
        .stdin(shared.fd().try_clone_to_owned().expect("a descriptor"))
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts again");

    let shown = show(receiver);
    println!("copied here: {} bytes", copied_bytes());
    other.wait().expect("it has ended");
    shown
}
