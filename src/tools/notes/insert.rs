//! `vault_insert`: text put into a note.

use super::{BLOCK, HEADING, LINE, PATH, target};
use crate::markdown::insert::Position;
use crate::notes::insert::{Inserted, from_template, insert};
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, DefaultValue, Shape, defaulted, optional, required};
use crate::tools::vault::{IF_MATCH, WrittenFile, escapes_warning, frontmatter_warning};
use crate::tools::{Arguments, Context, Effect, Error, Fact, Reply, Tool};
use crate::vault::media::{extension_of, is_note};
use crate::vault::{Error as VaultError, Named, VaultPath};

pub(super) static TOOL: Tool = Tool {
    name: "vault_insert",
    title: "Insert text into a note",
    description: "Appends or inserts text, to add or append a task, list item, log line or \
                  paragraph to a note, at its end or start, under a heading, at a block or line; \
                  to change words that are there use vault_edit. To add to today's list: \
                  daily:today with create.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[Fact::Instruction(" vault_insert adds text; daily:today is a path.")],
    input: &[
        required("path", ANY_TEXT, PATH).of_files(),
        optional("text", ANY_TEXT, "Markdown to insert: one line or more"),
        defaulted(
            "where",
            Shape::OneOf(&["end", "start", "before", "after", "replace"]),
            DefaultValue::Text("end"),
            "Of a heading: end and start are inside its section, before its line, after the \
             section, replace its text; of a block or line: end behind, start in front",
        ),
        HEADING,
        BLOCK,
        optional("line", LINE, "Line number, from 1"),
        defaulted(
            "create",
            Shape::Flag,
            DefaultValue::Flag(false),
            "Create a missing heading or note; a missing daily note from its template",
        ),
        optional("template", ANY_TEXT, "Create the note from this template, with text or alone"),
        IF_MATCH,
    ],
    output: Answer::FIELDS,
    run,
};

result! {
    struct Answer<'a> {
        file: Inline<WrittenFile<'a>>,
        /// The first line of the text.
        line: usize = LINE,
        total_lines: usize,
        created: bool,
        warning: Option<String>,
    }
}

/// The note that is named; one that is to be created gets the ending `.md`.
fn note(context: &Context<'_>, name: &str, create: bool) -> Result<Named, Error> {
    // A name without an ending is first that of a note anywhere; only where there is none it is the
    // path of a new one.
    let mut named = context.named(name, create && is_note(name))?;
    if create && !is_note(name) && context.vault.entry(&named.path).is_err() {
        named = context.named(name, true)?;
        if extension_of(named.path.name()).is_none() {
            named.path = VaultPath::file(&format!("{}.md", named.path.as_str()))?;
        }
    }
    if !is_note(named.path.name()) {
        if !create {
            context.vault.entry(&named.path)?;
        }
        let message = format!(
            "{} is no note: text is inserted only into files that end in .md.",
            named.path.as_str()
        );
        return Err(Error::invalid(message));
    }
    Ok(named)
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let target = target(arguments)?;
    let position: Position = arguments.read("where")?;
    let text = arguments.text("text");
    let template = arguments.maybe("template");
    if text.trim().is_empty() && position != Position::Replace && template.is_none() {
        return Err(Error::invalid("Argument text is empty; there is nothing to insert."));
    }
    let create = arguments.flag("create") || template.is_some();
    let mut named = note(context, arguments.text("path"), create)?;
    if let Some(template) = template {
        if context.vault.entry(&named.path).is_ok() {
            return Err(VaultError::Exists(named.path.as_str().into()).into());
        }
        named.template = Some(context.template(template, named.template)?);
    }
    let if_match = arguments.maybe("if_match");
    let inserted = if text.trim().is_empty() && template.is_some() {
        from_template(context.changes, &named)
    } else {
        insert(context.changes, &named, (target, position), text, create, if_match)
    };
    let Inserted { written, line, warning } = inserted.map_err(|error| match error {
        VaultError::NotFound { path, hint } if !create => VaultError::NotFound {
            path,
            hint: format!("{hint} To make a new note, set create to true.").trim_start().into(),
        },
        other => other,
    })?;
    let warning = warning
        .map(str::to_owned)
        .or_else(|| escapes_warning(text))
        .or_else(|| written.created.then(|| frontmatter_warning(text))?);
    Reply::of(&Answer {
        file: WrittenFile::of(&written),
        line,
        total_lines: written.total_lines,
        created: written.created,
        warning,
    })
}
