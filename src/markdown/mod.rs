//! Parsing and editing notes as Markdown, with Obsidian's extensions. Pure functions over text, no
//! files; every element has its byte range.
//!
//! | file | holds |
//! |---|---|
//! | [`frontmatter`] | the YAML block at the start of a note, and the tags in it |
//! | [`blocks`], `marks`, `open` | lines, headings, list items, code, comments and math |
//! | [`inline`], `closers` | inline elements of a block: code, comments, math and tags; where each can close |
//! | [`links`], [`mod@resolve`] | links with their targets, and the files that these resolve to |
//! | [`parts`], `headings` | headings with their sections and names, blocks with ids, tasks |
//! | [`edit`] | replacing ranges of bytes |
//! | [`mod@insert`], `joins` | inserting text at one of those, and what it must not be joined with |
//! | [`tasks`] | dates, priority and recurrence of tasks |
//! | [`properties`], `comments` | setting and removing properties, and the comments in their lines |
//! | [`quoted`], [`json`] | strings in frontmatter and canvases; replacing values in a canvas |

pub mod blocks;
mod closers;
mod comments;
pub mod edit;
pub mod frontmatter;
mod headings;
pub mod inline;
pub mod insert;
mod joins;
pub mod json;
pub mod links;
mod marks;
mod open;
pub mod parts;
pub mod properties;
pub mod quoted;
pub mod resolve;
pub mod tasks;

pub use marks::heading;

use crate::slice::Part;
use crate::text::fold::fold;
use std::collections::BTreeSet;

/// The tags of a note, without `#`, in order and each once, compared without case: `tags` and `tag`
/// of the frontmatter, then the inline ones.
///
/// # Errors
/// As [`frontmatter::values`], returned together with the inline tags.
pub fn tags(text: &str) -> (Vec<String>, Option<String>) {
    let (mut tags, problem) = match frontmatter::tags(text) {
        Ok(tags) => (tags, None),
        Err(problem) => (Vec::new(), Some(problem)),
    };
    if inline::may_have_tags(text) {
        let mut known: BTreeSet<String> = tags.iter().map(|tag| fold(tag)).collect();
        for tag in inline::tags(text) {
            let name = text.part(tag).trim_matches(['#', '/']);
            if known.len() < crate::limits::TAGS && known.insert(fold(name)) {
                tags.push(name.to_owned());
            }
        }
    }
    (tags, problem)
}

#[cfg(test)]
mod tests {
    use super::insert::{Position, Target, insert};
    use super::parts::Note;
    use super::{frontmatter, links, properties};
    use std::path::{Path, PathBuf};

    fn notes_below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => notes_below(&path, found),
                path if path.extension().is_some_and(|ending| ending == "md") => found.push(path),
                _ => {}
            }
        }
    }

    /// Every note of the sample vault, or of the folder that the variable `CORPUS` names, with text
    /// inserted at each heading and block and each property set and removed: every byte outside
    /// stays, and so do headings, tasks and values.
    #[test]
    fn notes_of_real_vaults_keep_every_other_byte() {
        let folder = std::env::var("CORPUS")
            .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/vault").into());
        let mut paths = Vec::new();
        notes_below(Path::new(&folder), &mut paths);
        let (mut insertions, mut values, mut refused) = (0, 0, 0);
        for path in paths {
            let Ok(text) = String::from_utf8(std::fs::read(&path).unwrap()) else { continue };
            let note = Note::of(&text);
            let headings = note.headings();
            let blocks = note.blocks();
            let targets =
                headings.iter().map(|heading| Target::Heading(&heading.text)).chain([Target::Note]);
            for target in targets.chain(blocks.iter().map(|block| Target::Block(&block.id))) {
                for position in [Position::Start, Position::End, Position::Before, Position::After]
                {
                    let Ok((edit, line)) = insert(&note, target, position, "- [ ] inserted", false)
                    else {
                        continue;
                    };
                    insertions += 1;
                    assert!(edit.range.is_empty());
                    let made = edit.apply(&text);
                    assert!(
                        made.starts_with(&text[..edit.range.start])
                            && made.ends_with(&text[edit.range.end..]),
                        "{path:?}"
                    );
                    let now = Note::of(&made);
                    assert!(
                        now.line(line - 1).ends_with("- [ ] inserted"),
                        "{path:?} {target:?} {position:?}"
                    );
                    let texts = |note: &Note<'_>| {
                        note.headings()
                            .into_iter()
                            .map(|heading| (heading.level, heading.text))
                            .collect::<Vec<_>>()
                    };
                    assert_eq!(texts(&now), texts(&note), "{path:?} {target:?} {position:?}");
                }
            }
            for link in links::links(&text) {
                assert!(
                    link.range.start <= link.target.start
                        && link.target.end <= link.range.end
                        && text.is_char_boundary(link.target.end)
                );
            }
            let Ok(before) = properties::parse(&text) else { continue };
            let body = |text: &str| text[frontmatter::end(text)..].to_owned();
            for name in before.keys().filter_map(|key| key.as_str()).chain(["a new one"]) {
                for new in [
                    serde_json::json!("changed: #1"),
                    serde_json::json!(["a", "b c"]),
                    serde_json::json!(true),
                ] {
                    let Ok(made) = properties::set(&text, name, Some(&new)) else {
                        refused += 1;
                        continue;
                    };
                    values += 1;
                    assert_eq!(body(&made), body(&text), "{path:?}");
                    let lost = |from: &str, to: &str| {
                        from.lines().filter(|line| !to.lines().any(|other| other == *line)).count()
                    };
                    let is_list = made.lines().count() != text.lines().count();
                    let most = new.as_array().map_or(1, Vec::len);
                    assert!(is_list || lost(&made, &text) <= most, "{path:?}: {name} {new}");
                    let removed = properties::set(&made, name, None).unwrap();
                    // Frontmatter that was empty before goes with the property.
                    let whole = if before.is_empty() { body(&text) } else { text.clone() };
                    assert!(
                        before.contains_key(name) || removed == whole,
                        "{path:?}: {name} {new}"
                    );
                }
            }
        }
        println!("{insertions} insertions, {values} values set, {refused} refused");
        assert!(insertions > 500 && values > 200);
    }
}
