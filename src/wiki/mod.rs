//! The wiki that toolset `agent` maintains; [`starter`] has its initial files.

pub mod starter;

/// The folders of the two domains, and of what belongs to both.
pub const TREES: [&str; 3] = ["work", "life", "shared"];
