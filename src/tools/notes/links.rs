//! `vault_links`: links of the vault.

use super::PATH;
use crate::tools::paging::{self, CURSOR, NEXT_CURSOR, Next, TRUNCATED};
use crate::tools::reply::fitting;
use crate::tools::schema::{ANY_TEXT, COUNT, Default, Shape, defaulted, optional, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::vault::VaultPath;
use crate::vault::links::{Show, VaultLink};
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "vault_links",
    title: "List links",
    description: "Lists backlinks (which notes link to this one), outgoing links, broken (unresolved) or ambiguous links, \
        orphans (notes nothing links to) and dead ends; to search for text use vault_search. Links resolve as in \
        Obsidian.",
    effect: Effect::Reads,
    reaches_out: false,
    input: &[
        optional("path", ANY_TEXT, "The note (path, [[Name]], daily:today), attachment or folder; required for backlinks and outgoing"),
        defaulted(
            "show",
            Shape::OneOf(&["backlinks", "outgoing", "unresolved", "orphans", "deadends", "ambiguous"]),
            Default::Text("backlinks"),
            "What to list; all but the first two take the whole vault without path",
        ),
        defaulted(
            "depth",
            Shape::Integer { min: 1, max: 2, outside: Code::InvalidArgument },
            Default::Integer(1),
            "2: also the links of those notes",
        ),
        CURSOR,
    ],
    output: &[
        required("total", COUNT, ""),
        optional(
            "links",
            Shape::List(&Shape::Object(&[
                required("path", ANY_TEXT, "Where the link is"),
                required("line", COUNT, ""),
                required("text", ANY_TEXT, "The line"),
                required("target", ANY_TEXT, "As written"),
                required("resolved", Shape::TextOrNull, ""),
                optional("subpath", ANY_TEXT, ""),
                optional("embed", Shape::Flag, ""),
                optional("candidates", Shape::List(&ANY_TEXT), ""),
            ])),
            "",
        ),
        optional("paths", Shape::List(&ANY_TEXT), "Orphans or dead ends"),
        TRUNCATED,
        NEXT_CURSOR,
    ],
    run,
};

#[derive(Serialize)]
struct Answer {
    total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<VaultLink>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<Vec<String>>,
    #[serde(flatten)]
    next: Next,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = arguments.maybe("path").map(|text| file_or_folder(context, text)).transpose()?;
    let after = paging::after(arguments)?;
    let go_on = |done: usize, total: usize| {
        context.caller.progress(done as u64, Some(total as u64), "notes read");
        !context.caller.has_cancelled()
    };
    let show = match arguments.text("show") {
        "outgoing" => Show::Outgoing,
        "unresolved" => Show::Unresolved,
        "ambiguous" => Show::Ambiguous,
        name @ ("orphans" | "deadends") => {
            let found = context.vault.unlinked(name == "deadends", path.as_ref(), &go_on)?;
            let total = found.len();
            let rest: Vec<String> = found.into_iter().filter(|path| after.as_ref().is_none_or(|after| path > after)).collect();
            let left = rest.len();
            let paths = fitting(rest.into_iter().take(crate::limits::LIST_PAGE));
            let next = Next::after(arguments, paths.last().filter(|_| paths.len() < left).map(String::as_str));
            return Reply::of(&Answer { total, links: None, paths: Some(paths), next });
        }
        _ => Show::Backlinks,
    };
    if path.is_none() && matches!(show, Show::Backlinks | Show::Outgoing) {
        return Err(Error::new(Code::InvalidArgument, format!("Argument path is missing: {PATH}.")));
    }
    let (total, more, found) = context.vault.links(show, path.as_ref(), arguments.number("depth"), after.as_deref(), &go_on)?;
    let count = found.len();
    let links = fitting(found.into_iter());
    let last = links.last().filter(|_| more || links.len() < count).map(|link| link.key.clone());
    Reply::of(&Answer { total, links: Some(links), paths: None, next: Next::after(arguments, last.as_deref()) })
}

/// A file by its path or name, or a folder.
pub(super) fn file_or_folder(context: &Context<'_>, text: &str) -> Result<VaultPath, Error> {
    let path = match VaultPath::folder(text) {
        Ok(folder) if context.vault.list(&folder).is_ok() => return Ok(folder),
        _ => context.path(text)?,
    };
    context.vault.entry(&path)?;
    Ok(context.vault.spelled(&path))
}
