//! The vault with all that is made of it: its search, its links, and the way to change it. What
//! tools get.

use crate::change::Changes;
use crate::change::commits::Author;
use crate::change::log::Log;
#[cfg(feature = "notes")]
use crate::links::Links;
use crate::lock::Unpoisoned;
#[cfg(feature = "notes")]
use crate::notes::tasks::{TaskQuery, tasks};
use crate::search::Search;
use crate::vault::{GrantedFolders, Vault};
use std::sync::{Arc, Mutex};

/// Parts of the vault, for grants limited to folders, each with its own tables.
const VAULT_PARTS: usize = 8;

/// A vault, or the part of it that a grant covers, for one caller.
#[derive(Debug, Clone)]
pub struct Store {
    part: Arc<Part>,
    changes: Changes,
    parts: Arc<Parts>,
}

/// The vault, or a part of it, with its tables; shared by its callers.
#[derive(Debug)]
struct Part {
    folders: Option<Arc<GrantedFolders>>,
    search: Search,
    #[cfg(feature = "notes")]
    links: Links,
}

/// The parts for callers whose grant is limited to folders, the last used at the end.
type Parts = Mutex<Vec<Arc<Part>>>;

impl Store {
    /// What a call changes is recorded in `log`, and what it replaces is kept.
    pub fn new(vault: Vault, log: Option<Arc<Log>>) -> Store {
        let search = Search::new(vault.clone());
        let part = Part {
            folders: None,
            #[cfg(feature = "notes")]
            links: Links::new(search.clone()),
            search,
        };
        Store { part: Arc::new(part), changes: Changes::new(vault, log), parts: Arc::default() }
    }

    /// The part that a grant covers; `None` for all of it.
    pub fn within(&self, folders: Option<&Arc<GrantedFolders>>) -> Store {
        let Some(folders) = folders else { return self.clone() };
        let mut parts = self.parts.lock().unpoisoned();
        let known = parts.iter().position(|part| part.folders.as_ref() == Some(folders));
        let part = match known {
            Some(at) => parts.remove(at),
            None => {
                let search = Search::new(self.vault().within(folders));
                Arc::new(Part {
                    folders: Some(Arc::clone(folders)),
                    #[cfg(feature = "notes")]
                    links: self.links().within(search.clone()),
                    search,
                })
            }
        };
        // A part in use, by a call or by a client that listens, stays.
        if parts.len() >= VAULT_PARTS
            && let Some(idle) = parts.iter().position(|part| Arc::strong_count(part) == 1)
        {
            parts.remove(idle);
        }
        parts.push(Arc::clone(&part));
        let changes = self.changes.within(&part.search.vault);
        Store { part, changes, parts: Arc::clone(&self.parts) }
    }

    /// The store for one tool call: its changes are recorded in the author.
    pub fn on_behalf_of(&self, author: &Arc<Author>) -> Store {
        Store { changes: self.changes.on_behalf_of(author), ..self.clone() }
    }

    /// Reads the links, properties and tasks of all notes, so that the first call need not.
    #[cfg(feature = "notes")]
    pub fn prepare_notes(&self) {
        let proceed = |_, _| true;
        // Which reads the properties, too.
        drop(self.links().index(&proceed));
        drop(tasks(self.vault(), &TaskQuery::default(), &proceed));
    }

    /// The files, and what is known of them.
    pub fn vault(&self) -> &Vault {
        &self.part.search.vault
    }

    /// Searching them.
    pub fn search(&self) -> &Search {
        &self.part.search
    }

    /// The links between them.
    #[cfg(feature = "notes")]
    pub fn links(&self) -> &Links {
        &self.part.links
    }

    /// Changing them.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }
}
