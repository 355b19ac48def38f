//! What toolset `notes` has beyond parts of notes and links, which are the vault's: queries.

pub mod query;
