//! One change: the notes and canvases it opens, what they are to become, and the steps in which
//! that happens.

use super::canvas::EditedCanvas;
use super::note::Note;
use super::snapshot::{Accomplishment, Snapshot};
use super::{Accomplishments, Error, malformed, text};
use crate::change::step::Step;
use crate::clock::Moment;
use crate::limits;
use crate::store::Store;
use crate::vault::{Error as VaultError, Vault, VaultPath, etag};
use std::collections::BTreeMap;

/// An open file, and its original bytes.
#[derive(Debug)]
struct Open<T> {
    before: Option<Vec<u8>>,
    now: T,
}

/// The files of one change.
#[derive(Debug)]
pub(super) struct Change<'a> {
    pub(super) projects: &'a Accomplishments,
    pub(super) store: &'a Store,
    pub(super) snapshot: &'a Snapshot,
    notes: BTreeMap<VaultPath, Open<Note>>,
    canvases: BTreeMap<VaultPath, Open<EditedCanvas>>,
    /// The steps that rename a note, with the links to it, or move it to the trash.
    pub(super) moved: Vec<Step>,
}

impl Accomplishments {
    /// Makes a change: `plan` opens files and edits them; then all of them are written, or none.
    /// When a person saves one of them in between, `plan` runs again on the new text.
    ///
    /// # Errors
    /// What `plan` said, or why the files could not be written.
    pub(super) fn change<T>(
        &self,
        store: &Store,
        plan: impl Fn(&mut Change<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let alone = store.changes().alone();
        for _ in 0..limits::EDIT_ATTEMPTS {
            store.vault().refresh_now()?;
            let snapshot = self.snapshot_of_index(store.vault())?;
            let mut change = Change {
                projects: self,
                store,
                snapshot: &snapshot,
                notes: BTreeMap::new(),
                canvases: BTreeMap::new(),
                moved: Vec::new(),
            };
            let planned = match plan(&mut change) {
                Err(Error::Vault(VaultError::Busy)) => continue,
                other => other?,
            };
            match alone.change(&change.steps()?) {
                Err(VaultError::Busy) => {}
                other => return other.map(|_| planned).map_err(Error::Vault),
            }
        }
        Err(VaultError::Busy.into())
    }
}

impl Change<'_> {
    /// Opens the note of an accomplishment.
    ///
    /// # Errors
    /// [`VaultError::Malformed`], or the vault's.
    pub(super) fn note(&mut self, path: &VaultPath) -> Result<&mut Note, Error> {
        let open = match self.notes.remove(path) {
            Some(open) => open,
            None => {
                let bytes = self.store.vault().bytes(path)?;
                Open {
                    now: Note::new(text(bytes.clone(), path)?, path.as_str())?,
                    before: Some(bytes),
                }
            }
        };
        Ok(&mut self.notes.entry(path.clone()).or_insert(open).now)
    }

    /// Refuses unless the note is what the caller has read.
    ///
    /// # Errors
    /// [`VaultError::Conflict`] with the etag it has now.
    pub(super) fn must_match(
        &mut self,
        path: &VaultPath,
        if_match: Option<&str>,
    ) -> Result<(), Error> {
        let Some(wanted) = if_match else { return Ok(()) };
        self.note(path)?;
        let found = self.notes.get(path).and_then(|open| open.before.as_deref()).map(etag);
        if found.as_deref() == Some(wanted) {
            Ok(())
        } else {
            Err(Error::Vault(VaultError::Conflict(found)))
        }
    }

    /// Sets the time of a note's last update.
    ///
    /// # Errors
    /// [`VaultError::Malformed`].
    pub(super) fn set_updated(&mut self, path: &VaultPath) -> Result<(), Error> {
        self.note(path)?.set("updated", Moment::read().rfc3339())
    }

    /// Opens a canvas. With `make`, the default one is created while no accomplishment exists.
    ///
    /// # Errors
    /// [`Error::CanvasNotFound`], [`VaultError::Malformed`], or the vault's.
    pub(super) fn canvas(
        &mut self,
        path: &VaultPath,
        make: bool,
    ) -> Result<&mut EditedCanvas, Error> {
        let open = match self.canvases.remove(path) {
            Some(open) => open,
            None => self.opened_canvas(path, make)?,
        };
        Ok(&mut self.canvases.entry(path.clone()).or_insert(open).now)
    }

    /// Where the card of an accomplishment is, or else is to be.
    ///
    /// # Errors
    /// As [`Accomplishments::canvas_of`].
    pub(super) fn canvas_of(&self, accomplishment: &Accomplishment) -> Result<VaultPath, Error> {
        let found = self.projects.canvas_of(self.store.vault(), accomplishment)?;
        Ok(found.unwrap_or_else(|| self.projects.canvas_named_by(accomplishment)))
    }

    fn opened_canvas(&mut self, path: &VaultPath, make: bool) -> Result<Open<EditedCanvas>, Error> {
        let edited = |bytes| EditedCanvas::new(text(bytes, path)?, path.as_str());
        let is_of_path = |step: &Step| matches!(step, Step::Write { path: of, after: Some(_), .. } if of == path);
        // A note that moves has its cards changed already. Until `steps`, they have its old path.
        if let Some(at) = self.moved.iter().position(is_of_path)
            && let Some(Step::Rename { from, to }) = self.moved.first().cloned()
            && let Step::Write { before, after: Some(after), .. } = self.moved.remove(at)
        {
            let mut now = edited(after)?;
            now.rename_file(&to, &from)?;
            return Ok(Open { before, now });
        }
        let is_first = self.snapshot.all.is_empty() && self.snapshot.problems.is_empty();
        match self.store.vault().bytes_if_any(path)? {
            Some(bytes) => Ok(Open { now: edited(bytes.clone())?, before: Some(bytes) }),
            None if make && is_first && *path == self.projects.options.canvas => {
                Ok(Open { now: edited(Vec::new())?, before: None })
            }
            None => Err(super::no_canvas(self.store.vault(), path)),
        }
    }

    /// A canvas, if it exists; as [`Change::canvas`].
    pub(super) fn canvas_if_any(
        &mut self,
        path: &VaultPath,
    ) -> Result<Option<&mut EditedCanvas>, Error> {
        match self.canvas(path, false) {
            Err(Error::CanvasNotFound(_)) => Ok(None),
            other => other.map(Some),
        }
    }

    /// A new note.
    pub(super) fn create(&mut self, path: &VaultPath, note: Note) {
        self.notes.insert(path.clone(), Open { before: None, now: note });
    }

    /// Moves a note, before anything in it is changed, and rewrites the links to it.
    ///
    /// # Errors
    /// As [`Links::move_files`](crate::links::Links::move_files).
    pub(super) fn move_note(&mut self, from: &VaultPath, to: &VaultPath) -> Result<(), Error> {
        for step in self.store.links().steps_of_move(self.store.changes(), from, to)? {
            match step {
                Step::Write { path, before: Some(before), after: Some(after) } if path == *to => {
                    let note = self.note(from)?;
                    if note.text.as_bytes() != before {
                        return Err(VaultError::Busy.into());
                    }
                    note.text = text(after, to)?;
                }
                step => self.moved.push(step),
            }
        }
        // Its cards move with it, or it stays: links are left alone where they cannot be changed.
        for canvas in self.projects.canvases_with(self.store.vault(), from)? {
            self.canvas(&canvas, false)?;
        }
        Ok(())
    }

    /// The path that a note is going to have.
    fn path_after(&self, path: &VaultPath) -> VaultPath {
        match self.moved.first() {
            Some(Step::Rename { from, to }) if from == path => to.clone(),
            _ => path.clone(),
        }
    }

    /// The accomplishment as it will be.
    ///
    /// # Errors
    /// [`VaultError::Malformed`] when the note does not say what an accomplishment has to.
    pub(super) fn after_change(&mut self, path: &VaultPath) -> Result<FullAccomplishment, Error> {
        let to = self.path_after(path);
        let snapshot = self.snapshot;
        FullAccomplishment::of(&to, &self.note(path)?.text, snapshot)
    }

    fn steps(mut self) -> Result<Vec<Step>, Error> {
        if let Some(Step::Rename { from, to }) = self.moved.first() {
            self.canvases.values_mut().try_for_each(|open| open.now.rename_file(from, to))?;
        }
        self.canvases.values().try_for_each(|open| open.now.check())?;
        let notes = self
            .notes
            .iter()
            .map(|(path, open)| (self.path_after(path), &open.before, open.now.text.clone()));
        let canvases =
            self.canvases.iter().map(|(path, open)| (path.clone(), &open.before, open.now.text()));
        let edited = notes
            .chain(canvases)
            .filter(|(_, before, now)| before.as_deref() != Some(now.as_bytes()));
        let edited =
            edited.map(|(path, before, now)| Step::write(path, before.clone(), now.into_bytes()));
        Ok(self.moved.iter().cloned().chain(edited).collect())
    }
}

/// An accomplishment with everything its note says.
#[derive(Debug)]
pub struct FullAccomplishment {
    /// What it is.
    pub accomplishment: Accomplishment,
    /// All its properties.
    pub properties: serde_yaml::Mapping,
    /// The etag of its note.
    pub etag: String,
}

impl FullAccomplishment {
    fn of(path: &VaultPath, text: &str, snapshot: &Snapshot) -> Result<FullAccomplishment, Error> {
        let properties =
            crate::markdown::properties::parse(text).map_err(malformed(path.as_str()))?;
        let mut accomplishment =
            Accomplishment::read(path, text, &properties).map_err(malformed(path.as_str()))?;
        snapshot.resolve_links(&mut accomplishment);
        Ok(FullAccomplishment { accomplishment, properties, etag: etag(text.as_bytes()) })
    }
}

impl Accomplishments {
    /// The canvases that show a file. One that cannot be read shows nothing, in Obsidian neither.
    ///
    /// # Errors
    /// [`VaultError::Malformed`] for the default one, if it cannot be read and names the file; the
    /// vault's.
    pub(super) fn canvases_with(
        &self,
        vault: &Vault,
        file: &VaultPath,
    ) -> Result<Vec<VaultPath>, Error> {
        let mut found = Vec::new();
        for entry in vault.files_below(&VaultPath::root(), ".canvas") {
            let text = match vault.text(&entry) {
                // A canvas of that size is not one that this program edits.
                Err(VaultError::TooLarge { .. }) => continue,
                other => other?,
            };
            let shows = match super::canvas::Canvas::parse(&text) {
                Ok(canvas) => canvas.node_of(file).is_some(),
                Err(why)
                    if *entry.path == *self.options.canvas.as_str()
                        && text.contains(file.name()) =>
                {
                    return Err(malformed(&entry.path)(why));
                }
                Err(_) => false,
            };
            if shows {
                found.push(VaultPath::file(&entry.path)?);
            }
        }
        Ok(found)
    }

    /// The canvas on which the card of an accomplishment is: the one that the note names, or else
    /// the default, if that has it; otherwise the first that does. People drag cards from one to
    /// another.
    ///
    /// # Errors
    /// [`VaultError::Malformed`], or the vault's.
    pub fn canvas_of(
        &self,
        vault: &Vault,
        accomplishment: &Accomplishment,
    ) -> Result<Option<VaultPath>, Error> {
        let named = self.canvas_named_by(accomplishment);
        let is_on_canvas = match self.canvas_at(vault, &named) {
            Err(Error::CanvasNotFound(_)) => false,
            canvas => canvas?.node_of(&accomplishment.path).is_some(),
        };
        if is_on_canvas {
            return Ok(Some(named));
        }
        Ok(self.canvases_with(vault, &accomplishment.path)?.into_iter().next())
    }

    /// The canvas that the note of an accomplishment names, or else the default.
    pub(super) fn canvas_named_by(&self, accomplishment: &Accomplishment) -> VaultPath {
        let source = accomplishment.canvas_source.as_deref().map(str::trim);
        // A person may have written it as a link.
        let target = source
            .and_then(|text| text.strip_prefix("[[")?.strip_suffix("]]")?.split(['|', '#']).next());
        self.canvas(target.or(source)).unwrap_or_else(|_| self.options.canvas.clone())
    }

    /// An accomplishment as its note on disk says.
    ///
    /// # Errors
    /// Those of [`Snapshot::find`], or the vault's.
    pub fn get(
        &self,
        vault: &Vault,
        snapshot: &Snapshot,
        id: &str,
    ) -> Result<FullAccomplishment, Error> {
        let path = &snapshot.find(id)?.path;
        FullAccomplishment::of(path, &text(vault.bytes(path)?, path)?, snapshot)
    }
}
