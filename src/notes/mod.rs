//! Toolset `notes`, but for links: parts of notes, tasks, templates, and queries.
//!
//! | file | holds |
//! |---|---|
//! | [`mod@insert`] | inserting text at a position in a note |
//! | [`mod@tasks`] | tasks: listed, and ticked |
//! | `recurrence` | the next occurrence of a task |
//! | `template` | the text of a new note |
//! | [`query`] | the expression language of Obsidian's Bases, and bases |

pub mod insert;
pub mod query;
mod recurrence;
pub mod tasks;
mod template;
