//! Toolset `notes`, but for links: parts of notes, tasks, templates, and queries.
//!
//! | file | holds |
//! |---|---|
//! | [`mod@insert`] | inserting text at a position in a note |
//! | [`mod@tasks`] | tasks: listed, and ticked |
//! | `template` | the text of a new note |
//! | [`query`] | the expression language of Obsidian's Bases, and bases |

pub mod insert;
pub mod query;
pub mod tasks;
mod template;
