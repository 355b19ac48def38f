//! `vault_list`: one folder.

use crate::tools::paging::{self, CURSOR, LIMIT, Next};
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::VaultPath;
use crate::vault::list::Child;

pub(super) static TOOL: Tool = Tool {
    name: "vault_list",
    title: "List a folder",
    description: "Lists what is in one folder: folders with the number of their children, then \
                  files with size and time; to find something use vault_search.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        defaulted("path", ANY_TEXT, DefaultValue::Text("/"), "Folder; / is the root").of_files(),
        CURSOR,
        LIMIT,
    ],
    output: Listing::FIELDS,
    run,
};

result! {
    struct Listing<'a> {
        path: String,
        /// Folders, then files, each sorted by name.
        entries: Vec<Listed<'a>>,
        /// Of the folder, on all pages together.
        total_entries: usize,
        next: Inline<Next>,
    }
}

result! {
    struct Listed<'a> {
        name: &'a str,
        kind as "type": &'static str = Shape::OneOf(&["folder", "file"]),
        /// Of a folder: files and folders directly in it.
        children: Option<usize>,
        size: Option<u64>,
        modified: Option<String>,
    }
}

impl<'a> Listed<'a> {
    fn of(context: &Context<'_>, folder: &VaultPath, (name, stamp): &'a Child) -> Listed<'a> {
        let count = || folder.child(name).map_or(0, |path| context.vault.count_children(&path));
        Listed {
            name,
            kind: if stamp.is_some() { "file" } else { "folder" },
            children: stamp.is_none().then(count),
            size: stamp.map(|stamp| stamp.size),
            modified: stamp.map(|stamp| stamp.modified().rfc3339()),
        }
    }
}

/// The sort key of a child; the cursor is the same text.
fn order((name, stamp): &Child) -> String {
    format!("{}{name}", u8::from(stamp.is_some()))
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let folder = context.folder(arguments.text("path"))?;
    let children = context.vault.list(&folder)?;
    let show = |child| Listed::of(context, &folder, child);
    let (entries, next) =
        paging::page(arguments, &children, order, arguments.number(LIMIT.name), show)?;
    Reply::of(&Listing {
        path: format!("/{}", folder.as_str()),
        entries,
        total_entries: children.len(),
        next,
    })
}
