//! Changing the vault: every change of a file is made here, and recorded first if a tool call
//! makes it.
//!
//! 1. A change is whole, atomic and durable. A failure leaves the old bytes.
//! 2. Nothing else is changed: not a byte.
//! 3. Each gives an etag; one that names an older etag is refused.
//!
//! ```text
//! a tool -> write, edit, ...        one file: reads it, makes its new bytes, and one step of them
//!        -> Alone::change           several: a plan made its steps
//!           |  alone                one thread at a time; the log's lock for other processes
//!           |  log                  the old bytes are kept; a line for each step; flushed
//!           |  make_step            each file as the step expects it? Then its new bytes or name
//!           |                       a step fails: those before it are taken back, and `ended`
//!           v  log                  of more than new bytes: `done`
//! ```
//!
//! A crash between the first step and `done` leaves a call without an end, which the next change,
//! or the next start, takes back (`take_back`). The same code undoes what a login did. Without a
//! log (`STATE_DIR=none`, `VERSIONS=0`) a failing step takes back the others all the same.
//!
//! | file | holds |
//! |---|---|
//! | [`step`] | the steps of a change |
//! | [`apply`] | making steps, all or none |
//! | `seen` | a file as it was read for a change, and whether it still is |
//! | `valid` | that no valid frontmatter, canvas or base becomes invalid |
//! | `names` | steps that only change names: renaming, the trash |
//! | [`mod@write`], [`replace_text`] | whole files, and texts in them |
//! | [`log`], `clean` | what was done and what it replaced, in the state folder |
//! | `take_back`, [`undo`] | changes taken back after a crash or for the owner |
//! | [`calls`] | what was done lately, for the owner's page |
//! | `history` | kept versions: listed, read, restored |
//! | [`commits`] | who changes files, and how they are committed |

pub mod apply;
pub mod calls;
mod clean;
pub mod commits;
#[cfg(fuzzing)]
pub mod fuzz;
mod history;
pub mod log;
mod names;
pub mod replace_text;
mod seen;
pub mod step;
mod take_back;
pub mod undo;
pub(crate) mod valid;
pub mod write;

use crate::vault::Vault;
use commits::Author;
use log::Log;
pub use names::TRASH;
use std::sync::{Arc, Mutex};

/// The one way to change a vault, on behalf of one caller.
#[derive(Debug, Clone)]
pub struct Changes {
    /// As much of it as the caller's grant covers.
    pub(crate) vault: Vault,
    shared: Arc<Shared>,
    /// Where changes are recorded.
    log: Option<Arc<Log>>,
    /// On whose behalf files are changed. What `None` changes is not recorded.
    author: Option<Arc<Author>>,
}

/// What all callers share.
#[derive(Debug)]
struct Shared {
    /// Held while the vault is changed.
    alone: Mutex<()>,
    /// The whole vault, for what belongs to no caller.
    vault: Vault,
}

impl Changes {
    /// For a whole vault. What an author changes is recorded in `log`, and what it replaces is
    /// kept.
    pub fn new(vault: Vault, log: Option<Arc<Log>>) -> Changes {
        let shared = Shared { alone: Mutex::default(), vault: vault.clone() };
        Changes { vault, shared: Arc::new(shared), log, author: None }
    }

    /// For a part of the vault.
    pub fn within(&self, part: &Vault) -> Changes {
        Changes { vault: part.clone(), ..self.clone() }
    }

    /// For one tool call.
    pub fn on_behalf_of(&self, author: &Arc<Author>) -> Changes {
        Changes { author: Some(Arc::clone(author)), ..self.clone() }
    }

    /// For the whole vault and no caller: what a crash has left half done may be outside of the
    /// caller's folders.
    fn of_whole_vault(&self) -> Changes {
        Changes { vault: self.shared.vault.clone(), author: None, ..self.clone() }
    }
}
