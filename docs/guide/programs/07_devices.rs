// Copies an array to a device, there in a stream, and back. The device exists on every machine: it
// is the one that tests use.

use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device};
use crossdock::memory::{Place, copied_bytes};
use crossdock::view::Request;
use crossdock::{Array, DArray, Error, Result};

fn main() -> Result<()> {
    // For a GPU: `crossdock_cuda::register()?` and `device::get("cuda:0".parse()?)?`.
    let device = FencedDevice::new(0);
    let (here, there) = (device::memory(Place::CPU)?, device.memory());

    let image = DArray::from(Array::from_vec(vec![1.5_f32, 2.5, 3.5, 4.5], [2, 2])?);
    let sent = image.copy_to(&there)?;
    println!("{} to {}: {} bytes copied", image.place(), sent.place(), copied_bytes());
    if let Err(refusal) = crossdock::view(&sent, Request::pin()) {
        println!("refused: {refusal}");
    }
    println!("one element: {}", sent.get(&[0, 1])?); // the device copies it
    println!("all of them: {}", sent.copy_to(&here)?);

    // The same in a stream: the call returns before the copy is done.
    let stream = device.stream()?.ok_or_else(|| Error::unsupported("no streams"))?;
    let paused = device.pause(); // only a device for tests can do that
    let queued = image.copy_to_in(&there, &*stream)?;
    let event = queued.event.ok_or_else(|| Error::device("the copy was not queued"))?;
    println!("queued: done {}", event.is_done());
    drop(paused);

    image.set(&[0, 0], &9.5_f32.into())?; // waits, since the copy reads the image
    println!("written: done {}", event.is_done());
    println!("the device has {}", queued.array.copy_to(&here)?.get(&[0, 0])?);
    Ok(())
}
