//! How far the first look at the vault is, for calls that go on with what there is by then.

use crate::limits;
use crate::lock::Unpoisoned;
use std::sync::{Condvar, Mutex};

/// How far the first look at the vault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filling {
    /// Files that are indexed.
    pub indexed: usize,
    /// Files that there are.
    pub files: usize,
}

/// How far the first look is; `None` before and after it.
#[derive(Debug, Default)]
pub(super) struct FirstLook {
    filling: Mutex<Option<Filling>>,
    changed: Condvar,
}

impl FirstLook {
    fn set(&self, filling: Option<Filling>) {
        *self.filling.lock().unpoisoned() = filling;
        self.changed.notify_all();
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.filling.lock().unpoisoned().is_some()
    }

    /// Notes that a look begins, if this is the first.
    pub(super) fn begin(&self, first: bool) -> IndexProgress<'_> {
        let progress = IndexProgress(first.then_some(self));
        progress.is_at(Filling { indexed: 0, files: 0 });
        progress
    }

    /// Waits a while for its end, if it is under way; how far it is if that was not long enough.
    pub(super) fn wait(&self) -> Option<Filling> {
        let filling = self.filling.lock().unpoisoned();
        *self.changed.wait_timeout_while(filling, limits::FILL_PATIENCE, |filling| filling.is_some()).unpoisoned().0
    }
}

/// A look, the first perhaps; however it ends, no call waits for it afterwards.
pub(super) struct IndexProgress<'a>(Option<&'a FirstLook>);

impl IndexProgress<'_> {
    /// Notes how far it is.
    pub(super) fn is_at(&self, filling: Filling) {
        self.0.iter().for_each(|look| look.set(Some(filling)));
    }
}

impl Drop for IndexProgress<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|look| look.set(None));
    }
}
