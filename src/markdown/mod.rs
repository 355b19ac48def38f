//! What the text of a note means in Markdown and to Obsidian. Pure functions over text, no files; every element has its byte
//! range.
//!
//! | file | holds |
//! |---|---|
//! | [`frontmatter`] | the YAML block at the head of a note, and the tags in it |
//! | [`blocks`] | lines, headings, list items, code, comments and math |
//! | [`inline`] | what stands inside of a block: code, comments, math and tags |
//! | [`links`] | links with their targets, and the files that these mean |
//! | [`parts`] | headings with their sections, blocks with ids, tasks |
//! | [`mod@insert`] | text put at one of those |
//! | [`tasks`] | dates, priority and recurrence of tasks |
//! | [`properties`] | properties set and removed |

pub mod blocks;
pub mod frontmatter;
pub mod inline;
pub mod insert;
pub mod links;
pub mod parts;
pub mod properties;
pub mod tasks;

use crate::text::fold::fold;

/// The tags of a note, without `#`, in order and each once, compared without case: `tags` and `tag` of the frontmatter, then
/// the inline ones.
///
/// # Errors
/// As [`frontmatter::values`], with the tags that there are all the same.
pub fn tags(text: &str) -> (Vec<String>, Option<String>) {
    let (mut tags, problem) = match frontmatter::tags(text) {
        Ok(tags) => (tags, None),
        Err(problem) => (Vec::new(), Some(problem)),
    };
    if inline::may_have_tags(text) {
        let mut known: Vec<String> = tags.iter().map(|tag| fold(tag)).collect();
        for tag in inline::tags(text) {
            let name = text.get(tag).unwrap_or_default().trim_matches(['#', '/']);
            let folded = fold(name);
            if known.len() < crate::limits::TAGS && !known.contains(&folded) {
                tags.push(name.to_owned());
                known.push(folded);
            }
        }
    }
    (tags, problem)
}
