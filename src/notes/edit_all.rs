//! Changing several notes, all or none.

use crate::change::Changes;
use crate::change::step::Step;
use crate::change::write::Written;
use crate::limits;
use crate::vault::read::utf8;
use crate::vault::{Error, VaultPath};

/// Changes the texts of several notes: all of them, or none. Returns `None` for a note that
/// stays as it is.
///
/// # Errors
/// Those of `change`, and of [`crate::change::apply::Alone::change`].
pub fn edit_all(
    changes: &Changes,
    paths: &[VaultPath],
    change: &dyn Fn(&VaultPath, &str) -> Result<String, Error>,
) -> Result<Vec<(VaultPath, Option<Written>)>, Error> {
    for _ in 0..limits::EDIT_ATTEMPTS {
        let alone = changes.alone();
        let (mut steps, mut outcome, mut bytes) = (Vec::new(), Vec::new(), 0);
        for path in paths {
            let before = changes.vault.bytes(path)?;
            let after = change(path, utf8(path, &before)?)?.into_bytes();
            let written = (after != before).then(|| Written::of(path, false, &after));
            if written.is_some() {
                bytes += before.len() + after.len();
                if bytes > limits::CHANGE_BYTES {
                    let most = limits::CHANGE_BYTES >> 20;
                    return Err(Error::Invalid(format!(
                        "Together these changes need more than {most} MB. Use fewer files."
                    )));
                }
                steps.push(Step::write(path.clone(), Some(before), after));
            }
            outcome.push((path.clone(), written));
        }
        match alone.change(&steps) {
            Err(Error::Busy) => {}
            other => return other.map(|_| outcome),
        }
    }
    Err(Error::Busy)
}
