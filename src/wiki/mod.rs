//! The wiki that toolset `agent` maintains: its initial files, and the rules that a program can
//! check.
//!
//! | file | holds |
//! |---|---|
//! | [`starter`] | its initial files |
//! | [`mod@lint`] | the check of its rules |
//! | [`links`] | links between pages |

pub mod links;
pub mod lint;
pub mod starter;

/// The folders of the two domains, and of what belongs to both.
pub const TREES: [&str; 3] = ["work", "life", "shared"];
