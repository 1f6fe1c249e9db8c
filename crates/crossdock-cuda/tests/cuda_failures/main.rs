//! Whatever goes wrong with CUDA is an error that says what: there is no driver, or not this one, or no device; and each function of the
//! driver that the library uses fails, at each place where it is called.

mod calls;
mod ends;
mod loading;
mod process;
mod scenario;
mod table;
mod work;
