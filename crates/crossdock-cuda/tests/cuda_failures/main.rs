//! Every failure of CUDA is an error that names the cause: a missing or unusable driver, a missing
//! device, and a failure of each driver function that the library uses, at each of its calls.

mod calls;
mod ends;
mod loading;
mod process;
mod scenario;
mod table;
mod work;
