//! `vault_query`: notes by properties, tags, dates and links, as rows or as counts.

use crate::clock::Moment;
use crate::notes::query::Failure;
use crate::notes::query::request::Query;
use crate::notes::query::source::Source;
use crate::notes::query::table::{Answer, answer};
use crate::tools::paging::{self, CURSOR, LIMIT, NEXT, Next};
use crate::tools::result::Inline;
use crate::tools::schema::{ANY_TEXT, COUNT, Shape, optional, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};
use crate::vault::VaultPath;
use serde::Serialize;
use serde_json::json;

pub(super) static TOOL: Tool = Tool {
    name: "vault_query",
    title: "Query notes by properties",
    description: "Finds and counts notes by properties (frontmatter), tags, dates, folders and \
                  links, as a table or as counts: how many have status active, what has changed \
                  this week, most used tags; or answers an Obsidian base; for words in the text \
                  use vault_search, for tasks vault_tasks.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        optional(
            "where",
            ANY_TEXT,
            "Filter in the language of Obsidian's Bases: status == \"active\" && due < today() + \
             \"7d\", file.hasTag(\"a\"), file.inFolder(\"X\"), file.mtime > now() - \"1 week\"",
        ),
        optional("base", ANY_TEXT, "A .base file, or Note.md#base"),
        optional("view", ANY_TEXT, "Of the base; else its first"),
        optional("path", ANY_TEXT, "Only in this folder or note").of_files(),
        optional("select", Shape::Names, "Properties to show: status, file.mtime"),
        optional("sort", Shape::Names, "Properties: due, file.mtime desc"),
        optional("group_by", Shape::Names, "One property or file.name.slice(0, 7)"),
        optional("count", ANY_TEXT, "Only counts: tag, property, folder, or value:status"),
        LIMIT,
        CURSOR,
    ],
    output: &[
        required("total", COUNT, "Notes that match"),
        optional("columns unknown_properties problems", Shape::List(&ANY_TEXT), ""),
        optional("rows groups", Shape::List(&Shape::AnyObject), ""),
        optional("summaries counts", Shape::AnyObject, ""),
        NEXT,
    ],
    run,
};

fn failed(failure: Failure) -> Error {
    match failure {
        Failure::Wrong(what) => Error::new(Code::QueryError, format!("{what}.")),
        Failure::Malformed { what, .. } => {
            Error::new(Code::ParseError, format!("The base cannot be read: it is {what}."))
        }
        Failure::Argument(what) => Error::invalid(what),
        Failure::Vault(error) => error.into(),
    }
}

/// A `.base` file, or a note with the number of one of its code blocks: `Note.md#base`,
/// `Note.md#base-2`.
fn base(context: &Context<'_>, text: &str) -> Result<(VaultPath, usize), Error> {
    if let Some((base, view)) = text.split_once(".base#") {
        return Err(Error::invalid(format!(
            "Name the base as {base}.base, and give its view {view:?} as view."
        )));
    }
    let Some((note, block)) = text.rsplit_once('#').filter(|(_, block)| block.starts_with("base"))
    else {
        // A base may be named without its ending.
        let exists = |path: &VaultPath| context.vault.entry(path).is_ok();
        let path = context.path(text);
        let base = || context.path(&format!("{text}.base")).ok().filter(exists);
        let base = if path.as_ref().is_ok_and(exists) { None } else { base() };
        return Ok((base.map_or(path, Ok)?, 1));
    };
    let number = match block.strip_prefix("base").map(|rest| rest.strip_prefix('-').unwrap_or(rest))
    {
        Some("") => Some(1),
        Some(number) => number.parse().ok(),
        None => None,
    };
    let number = number.ok_or_else(|| {
        Error::invalid("Argument base: the blocks of a note are #base, #base-2, #base-3.")
    })?;
    Ok((context.path(note)?, number))
}

#[derive(Serialize)]
struct Page {
    #[serde(flatten)]
    answer: Answer,
    #[serde(flatten)]
    next: Inline<Next>,
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let texts = |name: &str| arguments.texts(name).map(str::to_owned).collect::<Vec<_>>();
    let condition = arguments.maybe("where").filter(|condition| !condition.trim().is_empty());
    let count = arguments.maybe("count").map(str::to_owned);
    let base = arguments.maybe("base").map(|text| base(context, text)).transpose()?;
    // Without any of them, all notes.
    let condition =
        condition.or((count.is_none() && base.is_none()).then_some("true")).map(str::to_owned);
    if arguments.has("view") && base.is_none() {
        return Err(Error::invalid("Argument view is one of a base: give base, too."));
    }
    if count.is_some()
        && ["select", "sort", "group_by"].iter().any(|name| arguments.texts(name).next().is_some())
    {
        return Err(Error::invalid(
            "Counts are not rows: give count, or select, sort and group_by.",
        ));
    }
    let mut groups = texts("group_by");
    let group_by = groups.pop();
    if !groups.is_empty() {
        return Err(Error::invalid("Argument group_by must be a list of one property."));
    }
    // Our own text: `paging::last_shown` has checked it.
    let after = paging::last_shown(arguments)?.and_then(|last| serde_json::from_str(&last).ok());
    let query = Query {
        condition,
        base,
        view: arguments.maybe("view").map(str::to_owned),
        path: arguments.maybe("path").map(|text| context.path_or_folder(text)).transpose()?,
        select: texts("select"),
        sort: texts("sort"),
        group_by,
        count,
        limit: arguments.number(LIMIT.name),
        after,
    };
    let proceed = context.proceed("files looked at");
    let source = Source {
        vault: context.vault,
        links: context.links,
        zone: &context.options.zone,
        now: Moment::read(),
        proceed: &proceed,
    };
    let answer = answer(&source, &query).map_err(failed)?;
    let last = answer.last.as_ref().map(|last| json!(last).to_string());
    let next = Next::page_after(arguments, last.as_deref());
    Reply::of(&Page { answer, next })
}
