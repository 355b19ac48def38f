//! The names that files have on disk, where those are not in NFC: macOS wrote names in NFD, and some
//! scripts are not in NFC as they are typed.

use super::path::{composed, joined};
use crate::lock::Unpoisoned;
use crate::{disk, limits};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

/// Names on disk, by path in NFC, as they were last seen.
#[derive(Debug, Default)]
pub(crate) struct Spellings(Mutex<HashMap<String, String>>);

impl Spellings {
    /// A path as it is on disk below the root. Of two names that differ only in their form, the one
    /// in NFC is served.
    pub(crate) fn spelled<'a>(&self, root: &Path, path: &'a str) -> Cow<'a, str> {
        if path.is_ascii() {
            return path.into();
        }
        let (mut below, mut above) = (String::new(), root.to_owned());
        let mut on_disk: Vec<Cow<'a, str>> = Vec::new();
        for name in path.split('/') {
            let own = joined(&below, name);
            let is_there = name.is_ascii() || identity_of(&above.join(name)).is_some();
            let other = if is_there { None } else { self.other(&above, &below, &own) };
            let name = other.map_or(Cow::from(name), Cow::from);
            above.push(&*name);
            below = own;
            on_disk.push(name);
        }
        on_disk.join("/").into()
    }

    /// The name of the file that has this path, in a folder, in another form.
    fn other(&self, folder: &Path, below: &str, path: &str) -> Option<String> {
        let known = || self.0.lock().unpoisoned().get(path).cloned();
        let is_there = |name: &String| folder.join(name).symlink_metadata().is_ok();
        known().filter(is_there).or_else(|| {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if let Ok(name) = entry.file_name().into_string() {
                    self.learn(&joined(below, &name), &name);
                }
            }
            known().filter(is_there)
        })
    }

    /// Takes note of a name, so that its folder need not be read to find it.
    pub(crate) fn learn(&self, path: &str, name: &str) {
        if name.is_ascii() || path.ends_with(name) {
            return;
        }
        let mut known = self.0.lock().unpoisoned();
        if known.len() > limits::FILES {
            known.clear();
        }
        known.insert(path.to_owned(), name.to_owned());
    }
}

/// Whether a name is not in NFC, and another that differs only in that is beside it, which is
/// served.
pub(crate) fn has_composed_twin(folder: &Path, name: &str) -> bool {
    let composed = composed(name);
    composed != name && {
        let twin = identity_of(&folder.join(&*composed));
        twin.is_some() && twin != identity_of(&folder.join(name))
    }
}

/// Device and inode of a file or folder.
fn identity_of(on_disk: &Path) -> Option<(u64, u64)> {
    let found = on_disk.symlink_metadata().ok()?;
    (found.is_file() || found.is_dir()).then(|| disk::identity(&found))
}
