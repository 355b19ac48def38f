//! `vault_list_files`: the notes of a folder.

use crate::limits;
use crate::tools::paging::{self, CURSOR, Next};
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::vault::{Entry, VaultPath, composed};
use glob::{MatchOptions, Pattern};

pub(super) static TOOL: Tool = Tool {
    name: "vault_list_files",
    title: "List notes of the repository",
    description: "Lists the notes (.md) of a folder by a pattern of their names, with everything \
                  below it unless recursive is false; to find notes by their text use \
                  vault_search. A long list comes in pages.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        defaulted(
            "directory",
            ANY_TEXT,
            DefaultValue::Text(""),
            "Folder relative to the vault root; empty for the whole vault",
        ),
        defaulted(
            "pattern",
            ANY_TEXT,
            DefaultValue::Text("*.md"),
            "Pattern of file names, with * ? and [...]; with a / in it, of paths below the folder",
        ),
        defaulted(
            "recursive",
            Shape::Flag,
            DefaultValue::Flag(true),
            "Also what is below the folder's folders",
        ),
        CURSOR,
    ],
    output: Listing::FIELDS,
    run,
};

result! {
    struct Listing<'a> {
        directory: &'a str,
        /// Sorted by path.
        files: Vec<File<'a>>,
        next: Inline<Next>,
    }
}

result! {
    struct File<'a> {
        path: &'a str,
        size_bytes: u64,
        modified_iso: String,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let directory = arguments.text("directory");
    if directory.starts_with('/')
        || directory
            .trim_end_matches('/')
            .split('/')
            .any(|segment| segment == "." || segment.is_empty() && !directory.is_empty())
    {
        return Err(Error::new(
            Code::PathNotAllowed,
            "Path not allowed: give directory without a slash at the start, empty segments or a \
             .; leave it out for the whole vault",
        ));
    }
    let folder = VaultPath::folder(directory)?;
    context.vault.check_folder(Some(&folder))?;
    let pattern = composed(arguments.text("pattern"));
    let compiled = Pattern::new(&pattern)
        .map_err(|error| Error::invalid(format!("Argument pattern: {}", error.msg)))?;
    let options = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: false,
    };
    let recursive = arguments.flag("recursive");
    let after = paging::last_shown(arguments)?;
    let prefix = if folder.is_root() { String::new() } else { format!("{}/", folder.as_str()) };
    let passes = |entry: &Entry| {
        let Some(below) = entry.path.strip_prefix(&*prefix) else { return false };
        let wanted = if pattern.contains('/') { below } else { entry.name() };
        entry.path.ends_with(".md")
            && (recursive || !below.contains('/'))
            && compiled.matches_with(wanted, options)
    };
    let (_, found) = context.vault.matching(after.as_deref(), limits::LIST_PAGE + 1, passes)?;
    let (files, next) = paging::page(
        arguments,
        &found,
        |entry| entry.path.to_string(),
        limits::LIST_PAGE,
        |entry| File {
            path: &entry.path,
            size_bytes: entry.stamp.size,
            modified_iso: entry.stamp.modified().rfc3339(),
        },
    )?;
    Reply::of(&Listing { directory: folder.as_str(), files, next })
}
