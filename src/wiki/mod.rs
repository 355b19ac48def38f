//! The wiki that toolset `agent` maintains.
//!
//! | file | holds |
//! |---|---|
//! | [`starter`] | its initial files |
//! | [`links`] | links between pages |

pub mod links;
pub mod starter;

/// The folders of the two domains, and of what belongs to both.
pub const TREES: [&str; 3] = ["work", "life", "shared"];
