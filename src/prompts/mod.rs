//! What a person can start from a menu: prompts with the notes they are about already in them. One value for each, as with
//! tools; the texts are for models, so they name tools.

#[cfg(feature = "accomplishments")]
mod accomplishments;
#[cfg(feature = "context")]
mod context;
mod vault;

use crate::principal::Access;
use crate::tools::{Code, Context, Error, Toolset};
use crate::vault::VaultPath;
use crate::vault::complete::Typing;
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
    pub argument: Argument,
    /// Its code. The argument is `None` when it is missing or blank.
    pub run: fn(&Context<'_>, Option<&str>) -> Result<Vec<Content>, Error>,
}

/// The argument of a prompt: a text.
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Whether it has to be there.
    pub required: bool,
    /// What it is completed from while it is typed.
    pub typing: Typing,
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
    /// The argument that a client sent.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: unknown, missing, or not a text.
    pub fn argument_of<'a>(&self, sent: &'a Map<String, Value>) -> Result<Option<&'a str>, Error> {
        let Argument { name, about, required, .. } = self.argument;
        let wrong = |why: String| Err(Error::new(Code::InvalidArgument, why));
        if let Some(unknown) = sent.keys().find(|sent| *sent != name) {
            return wrong(format!("Unknown argument {:?}. Known: {name}.", unknown.chars().take(64).collect::<String>()));
        }
        match sent.get(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.trim())),
            None | Some(Value::String(_)) if required => wrong(format!("Argument {name} is missing: {about}")),
            None | Some(Value::String(_)) => Ok(None),
            Some(_) => wrong(format!("Argument {name} must be a string.")),
        }
    }
}

/// The prompts of a toolset, in the order in which they are listed.
pub fn of(toolset: Toolset) -> &'static [&'static Prompt] {
    match toolset {
        Toolset::Vault => &vault::PROMPTS,
        #[cfg(feature = "context")]
        Toolset::Context => &context::PROMPTS,
        #[cfg(feature = "accomplishments")]
        Toolset::Accomplishments => &accomplishments::PROMPTS,
        _ => &[],
    }
}
