//! `vault_restore`: an earlier version of a note brought back.

use crate::tools::result::{Inline, Members, result};
use crate::tools::schema::{ANY_TEXT, required};
use crate::tools::vault::WrittenFile;
use crate::tools::{Arguments, Context, Effect, Error, Reply, Tool};
use crate::vault::Error as VaultError;

pub(super) static TOOL: Tool = Tool {
    name: "vault_restore",
    title: "Bring back a version of a note",
    description: "Brings back a note that was deleted, or its earlier version from \
                  vault_history; for your last call use vault_undo.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[],
    input: &[
        required("path", ANY_TEXT, "The note").of_files(),
        required("version", ANY_TEXT, "version of vault_history, or previous"),
    ],
    output: Restored::FIELDS,
    run,
};

result! {
    struct Restored<'a> {
        file: Inline<WrittenFile<'a>>,
        version: &'a str,
    }
}

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let version = arguments.text("version").trim();
    let path = context.existing_or_deleted(arguments.text("path"))?;
    let written = match context.changes.restore(&path, version) {
        Err(error @ VaultError::Conflict(_)) => {
            return Err(Error {
                message: "The note was changed or made anew after its newest version was kept, \
                          which previous would take back too. Nothing was done; to replace the \
                          note all the same give a version of vault_history."
                    .into(),
                ..error.into()
            });
        }
        Err(no_version @ (VaultError::NoTarget { .. } | VaultError::Invalid(_))) => {
            let path = context.path_in_commit(arguments.text("path"), path);
            match context.bytes_in_commit(&path, version)? {
                Some(bytes) => context.changes.bring_back(&path, &bytes)?,
                // Of what never was there, or is no file.
                None => return Err(context.vault.entry(&path).err().unwrap_or(no_version).into()),
            }
        }
        restored => restored?,
    };
    Reply::of(&Restored { file: WrittenFile::of(&written), version })
}
