//! `fetch_specific_file`: one note by its path.

use super::fetch_matching_files::whole_notes;
use super::{CHUNK_INDEX, DIGEST, MAX_CHARS, wanted_chunk};
use crate::tools::schema::{ANY_TEXT, required};
use crate::tools::{Arguments, Code, Context, Effect, Error, Reply, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "fetch_specific_file",
    title: "Load a note",
    description: "Loads one note, whole, by its path or [[Name]]; for a section of it use \
                  vault_read_notes where that is listed. A long note comes in chunks.",
    effect: Effect::Reads,
    facts: &[],
    input: &[
        required(
            "file_path",
            ANY_TEXT,
            "Path relative to the vault root, for example research/ai-governance.md",
        )
        .of_files(),
        CHUNK_INDEX,
        DIGEST,
        MAX_CHARS,
    ],
    output: &[],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let path = context.path(arguments.text("file_path"))?;
    if !crate::vault::media::is_note(path.name()) {
        let why =
            format!("Path not allowed: {} (only notes, files that end in .md)", path.as_str());
        return Err(Error::new(Code::PathNotAllowed, why));
    }
    let note = [context.vault.entry(&path)?];
    Ok(whole_notes(context, &note, String::new()).chunk(&wanted_chunk(arguments))?.reply())
}
