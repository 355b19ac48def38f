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

#[derive(Debug, Clone, Copy, Default)]
enum State {
    #[default]
    NotBegun,
    UnderWay(Filling),
    Finished,
}

/// Where the first look stands.
#[derive(Debug, Default)]
pub(super) struct FirstLook {
    state: Mutex<State>,
    changed: Condvar,
}

impl FirstLook {
    fn set(&self, state: State) {
        *self.state.lock().unpoisoned() = state;
        self.changed.notify_all();
    }

    pub(super) fn is_under_way(&self) -> bool {
        matches!(*self.state.lock().unpoisoned(), State::UnderWay(_))
    }

    /// Notes that a look begins, if this is the first.
    pub(super) fn begin(&self, first: bool) -> IndexProgress<'_> {
        if first {
            self.set(State::UnderWay(Filling { indexed: 0, files: 0 }));
        }
        IndexProgress(first.then_some(self))
    }

    /// Waits a while for its end, if it is under way; how far it is if that was not long enough.
    pub(super) fn wait(&self) -> Option<Filling> {
        let state = self.state.lock().unpoisoned();
        let waited = self.changed.wait_timeout_while(state, limits::FILL_PATIENCE, |state| matches!(state, State::UnderWay(_)));
        match *waited.unpoisoned().0 {
            State::UnderWay(filling) => Some(filling),
            State::NotBegun | State::Finished => None,
        }
    }
}

/// A look, the first perhaps; however it ends, no call waits for it afterwards.
pub(super) struct IndexProgress<'a>(Option<&'a FirstLook>);

impl IndexProgress<'_> {
    /// Notes how far it is.
    pub(super) fn is_at(&self, filling: Filling) {
        if let Some(look) = self.0 {
            look.set(State::UnderWay(filling));
        }
    }

    /// Notes that it has come to its end.
    pub(super) fn finish(mut self) {
        if let Some(look) = self.0.take() {
            look.set(State::Finished);
        }
    }
}

impl Drop for IndexProgress<'_> {
    fn drop(&mut self) {
        if let Some(look) = self.0 {
            look.set(State::NotBegun);
        }
    }
}
