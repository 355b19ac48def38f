//! What a person can start from a menu: prompts with the notes they are about already in them. One value for each, as with
//! tools; the texts are for models, so they name tools.

#[cfg(feature = "accomplishments")]
mod accomplishments;
#[cfg(feature = "context")]
mod context;
mod vault;

use crate::principal::Access;
use crate::tools::{Context, Toolset};
use crate::vault::complete::Typing;
use crate::vault::{self as notes, VaultPath};
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
    /// Its arguments.
    pub arguments: &'static [Argument],
    /// Its code.
    pub run: fn(&Context<'_>, &Arguments<'_>) -> Result<Vec<Content>, Error>,
}

/// An argument of a prompt: a text.
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

/// Why there is no prompt.
#[derive(Debug)]
pub enum Error {
    /// An argument is wrong; the words say how.
    Argument(String),
    /// The vault said no.
    Vault(notes::Error),
}

impl From<notes::Error> for Error {
    fn from(error: notes::Error) -> Error {
        use notes::Error as Refused;
        match error {
            Refused::NotFound { .. } | Refused::NotAllowed { .. } | Refused::TooLarge { .. } | Refused::NotText { .. } => {
                Error::Argument(error.to_string())
            }
            other => Error::Vault(other),
        }
    }
}

/// Arguments that fit a prompt.
#[derive(Debug)]
pub struct Arguments<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Arguments<'a> {
    /// Checks what a client sent; empty texts count as missing.
    ///
    /// # Errors
    /// [`Error::Argument`] naming the argument: unknown, missing, or not a text.
    pub fn check(prompt: &Prompt, sent: Option<&'a Map<String, Value>>) -> Result<Arguments<'a>, Error> {
        let mut values = Vec::new();
        for (name, value) in sent.into_iter().flatten() {
            let Some(argument) = prompt.arguments.iter().find(|argument| argument.name == name) else {
                let known: Vec<&str> = prompt.arguments.iter().map(|argument| argument.name).collect();
                let shown: String = name.chars().take(64).collect();
                return Err(Error::Argument(format!("Unknown argument {shown:?}. Known: {}.", known.join(", "))));
            };
            let text = value.as_str().ok_or_else(|| Error::Argument(format!("Argument {name} must be a string.")))?;
            if !text.trim().is_empty() {
                values.push((argument.name, text.trim()));
            }
        }
        let arguments = Arguments(values);
        match prompt.arguments.iter().find(|argument| argument.required && arguments.maybe(argument.name).is_none()) {
            Some(missing) => Err(Error::Argument(format!("Argument {} is missing: {}", missing.name, missing.about))),
            None => Ok(arguments),
        }
    }

    /// A text that may be missing.
    pub fn maybe(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// A text that is required; empty only if it was not declared so.
    pub fn text(&self, name: &str) -> &'a str {
        self.maybe(name).unwrap_or_default()
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
