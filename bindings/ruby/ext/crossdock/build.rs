//! Tells the sources which Ruby they are built for, as `cfg(ruby_gte_3_3)` and its like.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _ruby = rb_sys_env::activate()?;
    Ok(())
}
