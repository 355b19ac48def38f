//! Toolset `research`: search and fetch in the form that ChatGPT's deep research asks for.

mod fetch;
mod search;

use super::{Context, Tool};
use crate::uri;

/// The tools, in the order in which they are listed.
pub static TOOLS: [&Tool; 2] = [&search::TOOL, &fetch::TOOL];

/// Where a note can be opened: a page of this server that opens it in Obsidian, or, where there is
/// no server, Obsidian's own URI.
fn url(context: &Context<'_>, path: &str) -> String {
    let vault = context
        .vault
        .root()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let page = format!("{}/open", context.options.origin);
    uri::to_open(
        if context.options.origin.is_empty() { uri::OBSIDIAN } else { &page },
        &vault,
        path,
    )
}
