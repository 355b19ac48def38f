//! What is valid stays valid: Obsidian shows no properties of a note whose frontmatter is broken,
//! and opens neither a broken canvas nor a broken base.

use crate::markdown::{frontmatter, properties};
use crate::vault::error::Error;
use crate::vault::media::{Kind, extension_of, is_note, of};
use crate::vault::path::VaultPath;
use crate::yaml;
use serde::de::IgnoredAny;

/// Refuses new bytes that would make a file invalid. One that is as broken as it was may be, and a
/// new note, whose author is warned.
///
/// # Errors
/// [`Error::Malformed`] with the reason, and the mend.
pub(crate) fn must_stay_valid(
    path: &VaultPath,
    before: Option<&[u8]>,
    after: &[u8],
) -> Result<(), Error> {
    if before.is_none() && is_note(path.name()) {
        return Ok(());
    }
    let Some(why) = problem(path, before.unwrap_or_default(), after) else { return Ok(()) };
    match before.and_then(|before| problem(path, before, before)) {
        Some(_) => Ok(()),
        None => Err(Error::Malformed {
            path: path.as_str().into(),
            why: format!("nothing was changed, since {why}"),
        }),
    }
}

/// What is wrong with a file that was `before`, phrased to follow "since".
fn problem(path: &VaultPath, before: &[u8], bytes: &[u8]) -> Option<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return None };
    if text.trim().is_empty() {
        return None;
    }
    match extension_of(path.name())?.as_str() {
        "md" if frontmatter::block(text).is_some() => properties::parse(text).err(),
        // A line of three dashes may begin any other note.
        "md" => {
            let had_properties =
                std::str::from_utf8(before).is_ok_and(|text| frontmatter::block(text).is_some());
            let first = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default();
            (had_properties && first.trim_end() == "---")
                .then(|| "its frontmatter would have no closing line ---".into())
        }
        "canvas" => serde_json::from_str::<IgnoredAny>(text.trim_start_matches('\u{feff}'))
            .err()
            .map(|_| {
                r#"it would not be JSON; in its texts a line break is \n and a quote \""#.into()
            }),
        "base" => yaml::parse(text, 0).err().map(|why| format!("it would be {why}")),
        _ => None,
    }
}

/// Refuses text for a file whose name is that of a picture, a sound or a PDF.
///
/// # Errors
/// [`Error::Invalid`].
pub(crate) fn must_hold_text(path: &VaultPath) -> Result<(), Error> {
    match of(path.name()).0 {
        Kind::Text | Kind::Other => Ok(()),
        Kind::Image | Kind::Audio | Kind::Pdf => Err(Error::Invalid(format!(
            "{} is the name of a picture, a sound or a PDF, which no program could open with this \
             text in it. The name of a note ends in .md; bytes are sent with encoding base64.",
            path.as_str()
        ))),
    }
}
