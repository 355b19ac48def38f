//! Replaces `events.rs` on systems other than Linux: there, changes are found by walks.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

/// See `events.rs`.
pub(crate) struct Changed {
    pub(crate) paths: BTreeMap<String, bool>,
    pub(crate) incomplete: Option<&'static str>,
}

/// Never constructed.
#[derive(Debug)]
pub(crate) enum Events {}

impl Events {
    pub(crate) fn new() -> io::Result<Events> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system does not report changes"))
    }

    pub(crate) fn watch(&self, _: &str, _: &Path) -> Result<(), String> {
        match *self {}
    }

    pub(crate) fn forget(&self, _: &str) {
        match *self {}
    }

    pub(crate) fn take(&self) -> Changed {
        match *self {}
    }

    pub(crate) fn wake(&self) {
        match *self {}
    }

    pub(crate) fn wait(&self, _: Option<Duration>) {
        match *self {}
    }
}
