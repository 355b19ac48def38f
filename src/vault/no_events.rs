//! Instead of `events.rs` where the system is not Linux: changes are found by walks.

use crate::lock::Unpoisoned;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::{Condvar, Mutex};
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

/// What a thread that waits for changes is woken by.
#[derive(Debug)]
pub(super) struct Wake {
    is_woken: Mutex<bool>,
    changed: Condvar,
}

impl Wake {
    pub(super) fn new() -> io::Result<Wake> {
        Ok(Wake { is_woken: Mutex::default(), changed: Condvar::new() })
    }

    pub(super) fn wake(&self) {
        *self.is_woken.lock().unpoisoned() = true;
        self.changed.notify_all();
    }

    pub(super) fn wait(&self, _: Option<&Events>, time: Option<Duration>) {
        let is_woken = self.is_woken.lock().unpoisoned();
        drop(match time {
            Some(time) => self.changed.wait_timeout_while(is_woken, time, |is_woken| !*is_woken).unpoisoned().0,
            None => self.changed.wait_while(is_woken, |is_woken| !*is_woken).unpoisoned(),
        });
    }

    pub(super) fn reset(&self) {
        *self.is_woken.lock().unpoisoned() = false;
    }
}
