//! What a cache of mapped blocks promises.
