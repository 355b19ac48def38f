//! `vault_list`: one folder.

use crate::tools::paging::{self, CURSOR, LIMIT, NEXT_CURSOR, Next, TRUNCATED};
use crate::tools::reply::fitting;
use crate::tools::schema::{ANY_TEXT, COUNT, Default, Shape, defaulted, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::VaultPath;
use crate::vault::list::Child;
use serde::Serialize;

pub(super) static TOOL: Tool = Tool {
    name: "vault_list",
    title: "List a folder",
    description: "Lists what is in one folder: folders with the number of their children, then files with size and \
        time; to find something use vault_search.",
    effect: Effect::Reads,
    reaches_out: false,
    input: &[defaulted("path", ANY_TEXT, Default::Text("/"), "Folder path relative to the vault root; / is the root"), CURSOR, LIMIT],
    output: &[
        required("path", ANY_TEXT, ""),
        required(
            "entries",
            Shape::List(&Shape::Object(&[
                required("name", ANY_TEXT, ""),
                required("type", Shape::OneOf(&["folder", "file"]), "What it is"),
                optional("children", COUNT, "For a folder: files and folders directly in it"),
                optional("size", COUNT, ""),
                optional("modified", ANY_TEXT, ""),
            ])),
            "Folders, then files, each sorted by name",
        ),
        required("total_entries", COUNT, "Entries of the folder, on all pages together"),
        TRUNCATED,
        NEXT_CURSOR,
    ],
    run,
};

#[derive(Serialize)]
struct Listing<'a> {
    path: String,
    entries: Vec<Listed<'a>>,
    total_entries: usize,
    #[serde(flatten)]
    next: Next,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Listed<'a> {
    Folder { name: &'a str, children: usize },
    File { name: &'a str, size: u64, modified: String },
}

impl<'a> Listed<'a> {
    fn of(context: &Context<'_>, folder: &VaultPath, child: &'a Child) -> Listed<'a> {
        match child {
            Child::Folder { name } => {
                Listed::Folder { name, children: folder.child(name).map_or(0, |path| context.vault.count_children(&path)) }
            }
            Child::File { name, stamp } => Listed::File { name, size: stamp.size, modified: stamp.modified().rfc3339() },
        }
    }
}

/// What sorts before what; the cursor is the same text.
fn order(child: &Child) -> String {
    match child {
        Child::Folder { name } => format!("0{name}"),
        Child::File { name, .. } => format!("1{name}"),
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let folder = VaultPath::folder(arguments.text("path"))?;
    let children = context.vault.list(&folder)?;
    let after = paging::after(arguments)?;
    let rest: Vec<&Child> = children.iter().filter(|child| after.as_ref().is_none_or(|after| order(child) > *after)).collect();
    let entries = fitting(rest.iter().take(arguments.number(LIMIT.name)).map(|child| Listed::of(context, &folder, child)));
    let truncated = entries.len() < rest.len();
    let last = entries.len().checked_sub(1).and_then(|last| rest.get(last));
    let next = Next::after(arguments, last.filter(|_| truncated).map(|child| order(child)).as_deref());
    Reply::of(&Listing { path: format!("/{}", folder.as_str()), entries, total_entries: children.len(), next })
}
