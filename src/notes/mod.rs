//! Toolset `notes`, but for links: parts of notes, tasks, templates, and queries.
//!
//! | file | holds |
//! |---|---|
//! | [`mod@insert`] | inserting text at a position in a note |
//! | [`mod@edit_all`] | changing several notes, all or none |
//! | [`mod@tasks`] | tasks: listed, and ticked |
//! | `template` | the text of a new note |
//! | [`query`] | the expression language of Obsidian's Bases, and bases |

pub mod edit_all;
pub mod insert;
pub mod query;
pub mod tasks;
mod template;
