//! `vault_list_all`: every file of the vault.

use crate::tools::paging::{self, CURSOR, LIMIT, Next};
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, optional};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::Entry;

pub(super) static TOOL: Tool = Tool {
    name: "vault_list_all",
    title: "List all files",
    description: "Lists every file of the vault with size, time and tags; to find something use \
                  vault_search, and for one folder vault_list.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        optional("path", ANY_TEXT, "Only files below this folder").of_files(),
        optional("tag", ANY_TEXT, "Only notes with this tag or one below it"),
        CURSOR,
        LIMIT,
    ],
    output: Listing::FIELDS,
    run,
};

result! {
    struct Listing<'a> {
        total_files: usize,
        /// The files of this page.
        files: Vec<File<'a>>,
        next: Inline<Next>,
    }
}

result! {
    struct File<'a> {
        path: &'a str,
        size: u64,
        modified: String,
        /// Tags of frontmatter and text, without `#`.
        tags: &'a [Box<str>],
    }
}

impl<'a> File<'a> {
    fn of(entry: &'a Entry) -> File<'a> {
        File {
            path: &entry.path,
            size: entry.stamp.size,
            modified: entry.stamp.modified().rfc3339(),
            tags: &entry.tags,
        }
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let below = arguments.maybe("path").map(|path| context.folder(path)).transpose()?;
    let after = paging::last_shown(arguments)?;
    let limit = arguments.number(LIMIT.name);
    // One more than are shown says that there are more.
    let (total_files, found) = context.vault.list_all(
        below.as_ref(),
        arguments.maybe("tag"),
        after.as_deref(),
        limit + 1,
    )?;
    let (files, next) = paging::page(
        arguments,
        &found,
        |entry| entry.path.to_string(),
        limit,
        |entry| File::of(entry),
    )?;
    Reply::of(&Listing { total_files, files, next })
}
