//! Locks that stay in use after a panic.

use std::sync::{LockResult, PoisonError};

/// A panic ends one request and not the server ([`crate::mcp::tools::call`]); what a lock guards
/// must stay usable.
pub trait Unpoisoned<T> {
    /// The guard, even if a thread panicked while holding it.
    fn unpoisoned(self) -> T;
}

impl<T> Unpoisoned<T> for LockResult<T> {
    fn unpoisoned(self) -> T {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}
