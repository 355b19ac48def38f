//! Queries, for toolset `notes`; the rest of that toolset (parts of notes, links) is in `vault`.

pub mod query;
