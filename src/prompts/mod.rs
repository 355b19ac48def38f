//! What a person can start from a menu: prompts with the notes they are about already in them. One
//! value for each, as with tools; the texts are for models, so they name tools.

mod vault;

use crate::principal::Access;
use crate::search::complete::CompletionKind;
use crate::tools::{Arguments, Context, Error, Field, Toolset};
use crate::vault::VaultPath;
use serde_json::{Map, Value};

/// One prompt.
pub struct Prompt {
    /// Name on the wire.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// The access that it needs.
    pub needs: Access,
    /// Its argument: a text.
    pub argument: Field,
    /// What the argument is completed from while it is typed.
    pub completed_from: CompletionKind,
    /// Its code. The argument is `None` when it is missing or blank.
    pub run: fn(&Context<'_>, Option<&str>) -> Result<Vec<Content>, Error>,
}

/// A part of what is said to the model.
#[derive(Debug)]
pub enum Content {
    /// Words.
    Text(String),
    /// A note.
    Note {
        /// Where it is.
        path: VaultPath,
        /// What it says, or as much as fits.
        text: String,
        /// Its media type.
        media_type: &'static str,
    },
}

impl Prompt {
    /// The argument that a client sent; one that is blank counts as missing.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: unknown, missing, or not a text.
    pub fn argument_of(&self, mut sent: Map<String, Value>) -> Result<Option<String>, Error> {
        let name = self.argument.name;
        sent.retain(|sent, value| {
            *sent != name || value.as_str().is_none_or(|text| !text.trim().is_empty())
        });
        let arguments = Arguments::check(self.name, &[self.argument], sent)?;
        Ok(arguments.maybe(name).map(|text| text.trim().to_owned()))
    }
}

/// The prompts of a toolset, in the order in which they are listed.
pub fn of(toolset: Toolset) -> &'static [&'static Prompt] {
    match toolset {
        Toolset::Vault => &vault::PROMPTS,
        _ => &[],
    }
}
