//! `vault_links`: links of the vault.

use super::PATH;
use crate::links::list::{LinkFilter, VaultLink};
use crate::tools::paging::{self, CURSOR, Next};
use crate::tools::reply::fitting;
use crate::tools::result::{Inline, Member, Members, result};
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, optional};
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "vault_links",
    title: "List links",
    description: "Lists backlinks (which notes link to this one), outgoing links, broken \
                  (unresolved) or ambiguous links, orphans (notes nothing links to) and dead \
                  ends; to search for text use vault_search. Links resolve as in Obsidian.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        optional(
            "path",
            ANY_TEXT,
            "Note, attachment or folder; required for backlinks and outgoing",
        )
        .of_files(),
        defaulted(
            "show",
            Shape::OneOf(&[
                "backlinks",
                "outgoing",
                "unresolved",
                "orphans",
                "deadends",
                "ambiguous",
            ]),
            DefaultValue::Text("backlinks"),
            "All but the first two take the whole vault without path",
        ),
        CURSOR,
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer {
        total: usize,
        links: Option<Vec<VaultLink>>,
        /// Orphans or dead ends.
        paths: Option<Vec<String>>,
        next: Inline<Next>,
    }
}

impl Member for VaultLink {
    const SHAPE: Shape = Shape::AnyObject;
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = arguments.maybe("path").map(|text| context.path_or_folder(text)).transpose()?;
    let after = paging::last_shown(arguments)?;
    let proceed = context.proceed("notes read");
    let show = match arguments.text("show") {
        "outgoing" => LinkFilter::Outgoing,
        "unresolved" => LinkFilter::Unresolved,
        "ambiguous" => LinkFilter::Ambiguous,
        name @ ("orphans" | "deadends") => {
            let found = context.links.unlinked(name == "deadends", path.as_ref(), &proceed)?;
            let (paths, next) = paging::page(
                arguments,
                &found,
                String::clone,
                crate::limits::LIST_PAGE,
                String::clone,
            )?;
            return Reply::of(&Answer {
                total: found.len(),
                links: None,
                paths: Some(paths),
                next,
            });
        }
        _ => LinkFilter::Backlinks,
    };
    if path.is_none() && matches!(show, LinkFilter::Backlinks | LinkFilter::Outgoing) {
        return Err(Error::invalid(format!("Argument path is missing: {PATH}.")));
    }
    let found = context.links.links(show, path.as_ref(), after.as_deref(), &proceed)?;
    let found_count = found.links.len();
    let links = fitting(found.links.into_iter());
    let has_more = found.has_more || links.len() < found_count;
    let next = Next::page_after(
        arguments,
        links.last().filter(|_| has_more).map(|link| link.key.as_str()),
    );
    Reply::of(&Answer { total: found.total, links: Some(links), paths: None, next })
}
