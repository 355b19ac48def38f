//! The wiki that toolset `agent` keeps: how it begins, and the rules that a program can check.
//!
//! | file | holds |
//! |---|---|
//! | [`starter`] | the files that it begins with |
//! | [`mod@lint`] | the check of its rules |
//! | [`links`] | links between pages |

pub mod links;
pub mod lint;
pub mod starter;

/// The folder of a domain, or of what belongs to both.
pub const TREES: [&str; 3] = ["work", "life", "shared"];
