//! Toolset `vault`: list, read, search, write and edit.

mod edit;
mod list;
mod list_all;
mod read;
mod search;
mod write;

use super::schema::{ANY_TEXT, Field, optional};
use super::{Error, Reply, Tool};
use crate::vault::write::Written;
use serde_json::{Map, Value};

/// The tools, in the order in which they are listed: the map of the vault first.
pub static TOOLS: [&Tool; 6] = [&list_all::TOOL, &list::TOOL, &read::TOOL, &search::TOOL, &write::TOOL, &edit::TOOL];

const PATH: &str = "Path, for example projects/idea.md; also [[Name]] or daily:today";

/// The result of a tool that has written one file: path, etag, the version that was replaced, and its own members; null is left out.
pub(super) fn result_of(written: &Written, own: Value) -> Result<Reply, Error> {
    let mut members = if let Value::Object(own) = own { own } else { Map::new() };
    members.insert("path".into(), written.path.as_str().into());
    members.insert("etag".into(), written.etag.clone().into());
    members.insert("previous".into(), written.previous.clone().into());
    members.retain(|_, value| !value.is_null());
    Reply::of(&members)
}

/// Result member of the tools that change a file.
pub(super) const PREVIOUS: Field = optional("previous", ANY_TEXT, "The kept version that was replaced, for vault_restore");

/// Parameter of the tools that change a file.
pub(super) const IF_MATCH: Field = optional("if_match", ANY_TEXT, "etag of the last read; CONFLICT if the file has changed");
