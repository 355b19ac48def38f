//! Instead of `events.rs` where the system is not Linux: changes are found by walks.

use crate::limits;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::time::Duration;

/// See `events.rs`.
#[derive(Debug, Default)]
pub(super) struct Changed {
    pub(super) paths: BTreeMap<String, bool>,
    pub(super) incomplete: Option<&'static str>,
}

/// There is none.
#[derive(Debug)]
pub(super) struct Events(Infallible);

impl Events {
    pub(super) fn new() -> io::Result<Events> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system does not report changes"))
    }

    pub(super) fn watch(&self, _: &str, _: &Path) -> Result<(), String> {
        match self.0 {}
    }

    pub(super) fn forget(&self, _: &str) {
        match self.0 {}
    }

    pub(super) fn take(&self) -> Changed {
        match self.0 {}
    }

    pub(super) fn is_being_written(&self, _: &str) -> bool {
        match self.0 {}
    }
}

/// What a thread that waits for changes is woken by: here the time alone.
#[derive(Debug)]
pub(super) struct Wake;

impl Wake {
    pub(super) fn new() -> io::Result<Wake> {
        Ok(Wake)
    }

    pub(super) fn wake(&self) {}

    pub(super) fn wait(&self, _: Option<&Events>, time: Option<Duration>) {
        std::thread::sleep(time.unwrap_or(limits::WATCH_EVERY));
    }

    pub(super) fn reset(&self) {}
}
