//! `vault_write_file`: a whole note, committed and pushed.

use super::{IF_MATCH, MESSAGE, Outcome, PATH, change, check_frontmatter, note_path};
use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, required};
use crate::tools::{Arguments, Context, Effect, Error, Fact, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "vault_write_file",
    title: "Write a note and commit it",
    description: "Creates a note or replaces a whole one, as one commit that is pushed; to change \
                  a part of it use vault_edit. The content must begin with frontmatter that has \
                  date, tags and type. Nothing is changed when the commit cannot be pushed. Read \
                  a note before you replace it.",
    effect: Effect::Replaces { idempotent: true },
    facts: &[
        Fact::Instruction(" vault_write_file commits and pushes."),
        Fact::Ability("commit and push to the git remote"),
    ],
    input: &[
        required("path", ANY_TEXT, PATH).of_files(),
        required("content", ANY_TEXT, "The full content, frontmatter first"),
        MESSAGE,
        IF_MATCH,
    ],
    output: Written::FIELDS,
    run,
};

result! {
    struct Written<'a> {
        path: &'a str,
        /// Whether the note has this content now.
        written: bool,
        created: bool,
        bytes_written: usize,
        outcome: Inline<Outcome>,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = note_path(context, arguments.text("path"), Context::new_path)?;
    let content = arguments.text("content");
    check_frontmatter(content)?;
    let (outcome, done) =
        change(context, &path, Some(content.as_bytes()), arguments, "vault_write_file", "written")?;
    Reply::of(&Written {
        path: path.as_str(),
        written: true,
        created: done.created,
        bytes_written: content.len(),
        outcome,
    })
}
