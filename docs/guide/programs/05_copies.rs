// A request permits a copy or forbids it. The refusal and the grant say what a copy costs, and why.

use crossdock::layout::Order;
use crossdock::memory::copied_bytes;
use crossdock::view::{CopyPolicy, Request};
use crossdock::{Result, s};

fn main() -> Result<()> {
    let red = crossdock::open("data/rocket.npy")?.slice(s![.., .., 0])?;
    let packed = Request::pin().order(Order::RowMajor); // what the consumer needs

    if let Err(refusal) = crossdock::view(&red, packed.clone()) {
        println!("refused: {refusal}");
    }
    let view = crossdock::view(&red, packed.copy(CopyPolicy::IfNeeded))?;
    if let Some(refusal) = view.grant().copied_because() {
        println!("copied {} bytes: {}", view.grant().copied_nbytes(), refusal.reason());
    }
    println!("in all: {} bytes", copied_bytes());
    Ok(())
}
