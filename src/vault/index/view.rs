//! The part of the vault that a grant covers: the only way to entries. It has a table
//! of its own, so that no count, ranking or resolved link depends on the rest; the entries
//! are those of the [`Index`], which alone reads the disk.

use crate::lock::Unpoisoned;
use crate::vault::entry::{Entry, Stamp};
use crate::vault::error::Error;
use crate::vault::index::Index;
use crate::vault::index::table::{IndexedState, Table};
use crate::vault::path::VaultPath;
use crate::vault::scope::GrantedFolders;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Instant;

/// See above.
#[derive(Debug)]
pub(crate) struct View {
    index: Arc<Index>,
    /// The folders of the grant and the entries in them; `None` for the whole vault.
    part: Option<(Arc<GrantedFolders>, RwLock<Table>)>,
}

impl View {
    pub(crate) fn of_all(index: Arc<Index>) -> View {
        View { index, part: None }
    }

    /// A part of what this one covers.
    pub(crate) fn part(&self, folders: &Arc<GrantedFolders>) -> View {
        let part = Some((Arc::clone(folders), RwLock::default()));
        View { index: Arc::clone(&self.index), part }
    }

    /// Reads the table. Must be short: writers wait.
    pub(crate) fn with_table<T>(&self, look: impl FnOnce(&Table) -> T) -> T {
        match &self.part {
            Some((_, table)) => look(&table.read().unpoisoned()),
            None => self.index.with_table(look),
        }
    }

    /// Reads the entries. Must be short: writers wait.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&BTreeMap<Arc<str>, Arc<Entry>>) -> T) -> T {
        self.with_table(|table| look(&table.entries))
    }

    pub(crate) fn get(&self, path: &str) -> Option<Arc<Entry>> {
        self.read(|entries| entries.get(path).cloned())
    }

    /// The entries below a folder that are wanted, in order.
    pub(crate) fn below(
        &self,
        folder: &VaultPath,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Vec<Arc<Entry>> {
        self.with_table(|table| table.below(folder, wanted))
    }

    pub(crate) fn indexed_state(&self, path: &VaultPath) -> IndexedState {
        self.with_table(|table| table.indexed_state(path))
    }

    /// Takes over what the index has by now.
    fn follow(&self) {
        let Some((folders, table)) = &self.part else { return };
        // Mostly nothing has changed, and readers go on. The own table is locked first, as below.
        let is_current = {
            let own = table.read().unpoisoned();
            self.index.with_table(|whole| own.has_followed(whole))
        };
        if !is_current {
            let mut own = table.write().unpoisoned();
            self.index.with_table(|whole| own.follow(whole, &|path| folders.may_read(path)));
        }
    }

    /// See [`Index::refresh`].
    pub(crate) fn refresh(&self) -> Result<(), Error> {
        self.index.refresh().map(|()| self.follow())
    }

    /// See [`Index::refresh_with_timeout`].
    pub(crate) fn refresh_with_timeout(&self) -> Result<bool, Error> {
        self.index.refresh_with_timeout().inspect(|_| self.follow())
    }

    /// See [`Index::is_first_indexing`].
    pub(crate) fn is_first_indexing(&self) -> bool {
        self.index.is_first_indexing()
    }

    /// See [`Index::check_available`].
    pub(crate) fn check_available(&self) -> Result<(), Error> {
        self.index.check_available().map(|()| self.follow())
    }

    /// See [`Index::take_changes`].
    pub(crate) fn take_changes(&self, asked: Instant) -> Result<(), Error> {
        self.index.take_changes(asked).map(|()| self.follow())
    }

    /// See [`Index::wait_for_change`].
    pub(crate) fn wait_for_change(&self) -> Result<(), Error> {
        self.index.wait_for_change().map(|()| self.follow())
    }

    /// See [`Index::update`].
    pub(crate) fn update(&self, path: &VaultPath) {
        self.index.update(path.as_str(), true);
        self.follow();
    }

    /// See [`Index::record_write`].
    pub(crate) fn record_write(&self, path: &VaultPath, on_disk: &Path, bytes: &[u8]) {
        self.index.record_write(path, on_disk, bytes);
        self.follow();
    }

    /// See [`Index::record_move`].
    pub(crate) fn record_move(&self, from: &VaultPath, to: Option<&VaultPath>) {
        self.index.record_move(from, to);
        self.follow();
    }

    /// The entry of a file whose stamp is `stamp` now; the file is read again if the entry has
    /// another stamp, or an uncertain one.
    pub(crate) fn refreshed(&self, path: &VaultPath, stamp: Stamp) -> Option<Arc<Entry>> {
        let known =
            self.get(path.as_str()).filter(|entry| entry.stamp == stamp && !entry.uncertain);
        known.or_else(|| {
            self.update(path);
            self.get(path.as_str())
        })
    }
}
