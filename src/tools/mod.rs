//! What a model can do: one value for each tool, one file for each value.
//!
//! A [`Tool`] holds everything about it: name, descriptions, effect, parameters, results and code.
//! The JSON Schema that clients see and the check of what they send are both made from the same
//! [`schema::Field`] rows, so they cannot disagree. A tool knows nothing of JSON-RPC, HTTP or
//! logins: it gets checked [`Arguments`] and gives a [`Reply`] or an [`Error`], and it cannot make
//! a protocol error.
#![doc = include_str!("README.md")]

#[cfg(feature = "accomplishments")]
pub mod accomplishments;
#[cfg(feature = "agent")]
pub mod agent;
pub mod arguments;
#[cfg(feature = "context")]
pub mod context;
pub mod error;
#[cfg(feature = "git")]
pub mod git;
#[cfg(any(feature = "git", feature = "notes"))]
mod history;
#[cfg(feature = "notes")]
pub mod notes;
pub mod paging;
pub mod reply;
pub mod research;
#[cfg(any(feature = "git", feature = "notes"))]
mod restore;
pub mod result;
pub mod schema;
pub mod vault;

pub use arguments::Arguments;
pub use error::{Code, Error};
pub use reply::Reply;
pub use schema::{Field, Shape};

#[cfg(feature = "accomplishments")]
use crate::accomplishments::Accomplishments;
#[cfg(feature = "agent")]
use crate::agent::Agent;
use crate::calendar::Zone;
use crate::change::Changes;
use crate::change::commits::Commits;
use crate::clock::Moment;
#[cfg(feature = "git")]
use crate::git::{Failure, Git};
use crate::limits;
#[cfg(feature = "notes")]
use crate::links::Links;
use crate::object::without_nulls;
use crate::principal::{Access, Principal};
use crate::search::Search;
use crate::store::Store;
use crate::text::fold::fold;
#[cfg(feature = "notes")]
use crate::vault::Template;
use crate::vault::media::{extension_of, is_note};
pub use crate::vault::properties::Criteria;
use crate::vault::{Error as VaultError, Named, Vault, VaultPath};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// The maximum result size that tools announce to clients, in characters: [`crate::limits::RESULT_CHARS`] plus
/// what the enclosing message takes.
const ANNOUNCED_RESULT_CHARS: usize = 100_000;

/// A group of tools that is switched on as one (`TOOLSETS`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// List, read, search, write and edit files.
    Vault,
    /// Parts of notes, properties, tasks.
    Notes,
    /// Load notes by their frontmatter.
    Context,
    /// Notes of a git repository, every change a pushed commit.
    Git,
    /// Projects planned on a canvas.
    Accomplishments,
    /// A wiki kept by confined sessions.
    Agent,
    /// Search and fetch, as ChatGPT's deep research wants them.
    Research,
}

impl Toolset {
    /// All toolsets, in the order in which their tools are listed.
    pub const ALL: [Toolset; 7] = [
        Toolset::Vault,
        Toolset::Notes,
        Toolset::Context,
        Toolset::Git,
        Toolset::Accomplishments,
        Toolset::Agent,
        Toolset::Research,
    ];

    /// Those that need a login for the whole vault: what they do is not limited to paths.
    pub const NEED_WHOLE_VAULT: [Toolset; 3] =
        [Toolset::Git, Toolset::Accomplishments, Toolset::Agent];

    /// The name used in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Toolset::Vault => "vault",
            Toolset::Notes => "notes",
            Toolset::Context => "context",
            Toolset::Git => "git",
            Toolset::Accomplishments => "accomplishments",
            Toolset::Agent => "agent",
            Toolset::Research => "research",
        }
    }

    /// The tools of the set, in the order in which they are listed.
    pub fn tools(self) -> &'static [&'static Tool] {
        match self {
            Toolset::Vault => &vault::TOOLS,
            #[cfg(feature = "notes")]
            Toolset::Notes => &notes::TOOLS,
            #[cfg(feature = "context")]
            Toolset::Context => &context::TOOLS,
            #[cfg(feature = "git")]
            Toolset::Git => &git::TOOLS,
            #[cfg(feature = "accomplishments")]
            Toolset::Accomplishments => &accomplishments::TOOLS,
            #[cfg(feature = "agent")]
            Toolset::Agent => &agent::TOOLS,
            Toolset::Research => &research::TOOLS,
            #[allow(unreachable_patterns, reason = "toolsets that this program was built without")]
            _ => &[],
        }
    }

    /// The toolsets that this program was built with, in the order of [`Toolset::ALL`].
    pub fn built_in() -> impl Iterator<Item = Toolset> {
        Toolset::ALL.into_iter().filter(|set| !set.tools().is_empty())
    }

    /// The tools of some sets that pass. Of two tools with one name the later set's is offered:
    /// with toolset `git` the history of notes is that of the repository.
    pub fn offered(
        sets: &[Toolset],
        passes: impl Fn(&&'static Tool) -> bool,
    ) -> Vec<&'static Tool> {
        let all: Vec<&'static Tool> =
            sets.iter().flat_map(|set| set.tools()).copied().filter(passes).collect();
        let is_last = |(number, tool): &(usize, &&'static Tool)| {
            !all.iter().skip(number + 1).any(|other| other.name == tool.name)
        };
        all.iter().enumerate().filter(is_last).map(|(_, tool)| *tool).collect()
    }

    /// The resources of the set besides the files of the vault.
    pub fn resources(self) -> &'static [&'static Resource] {
        match self {
            #[cfg(feature = "context")]
            Toolset::Context => &context::RESOURCES,
            _ => &[],
        }
    }
}

/// A resource that is no file of the vault.
pub struct Resource {
    /// Its URI.
    pub uri: &'static str,
    /// Its name on the wire.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it holds.
    pub description: &'static str,
    /// Its media type.
    pub mime_type: &'static str,
    /// Its text.
    pub read: fn(&Context<'_>) -> Result<String, Error>,
}

/// What a tool does to the vault. The annotations for clients and the access that a caller needs
/// both follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Reads,
    /// Replaces or removes text of a note, or may.
    Replaces {
        /// Whether a repeated call changes nothing more.
        idempotent: bool,
    },
    /// Changes the state of a task, project or job; no text of a note is lost.
    Sets {
        /// Whether a repeated call changes nothing more.
        idempotent: bool,
    },
}

/// What is special about a tool, for those who know none by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// It runs a session of Claude Code: that takes minutes, and reaches the API of a model.
    RunsSession,
    /// What it changes is committed by itself, and not after the call.
    CommitsItself,
    /// What it can do besides reading and changing notes, in words for the person who allows it.
    Ability(&'static str),
    /// A sentence that a model should know before its first call.
    Instruction(&'static str),
}

/// One tool.
pub struct Tool {
    /// Name on the wire.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What a model needs to know to use it well.
    pub description: &'static str,
    /// What it does to the vault.
    pub effect: Effect,
    /// What is special about it.
    pub facts: &'static [Fact],
    /// Parameters.
    pub input: &'static [Field],
    /// Members of the structured result; none of a tool whose results are text or media.
    pub output: &'static [Field],
    /// The code.
    pub run: fn(&Context<'_>, &Arguments) -> Result<Reply, Error>,
}

impl Tool {
    /// The access that a caller needs.
    pub fn needs(&self) -> Access {
        match self.effect {
            Effect::Reads => Access::Read,
            Effect::Replaces { .. } | Effect::Sets { .. } => Access::Write,
        }
    }

    /// Whether it talks to other systems: the API of a model, or the git remote to which changes
    /// are pushed.
    fn reaches_out(&self, pushes: bool) -> bool {
        pushes && self.needs() == Access::Write || self.facts.contains(&Fact::RunsSession)
    }

    /// The tool as `tools/list` shows it (MCP, "Tool"). A tool that reads may have long results:
    /// Claude Code puts one of more than 50,000 characters into a file unless the tool says how
    /// long its results are. `pushes` says that changes are pushed.
    pub fn listing(&self, pushes: bool) -> Value {
        let (destructive, idempotent) = match self.effect {
            Effect::Reads => (false, true),
            Effect::Replaces { idempotent } => (true, idempotent),
            Effect::Sets { idempotent } => (false, idempotent),
        };
        let results = json!({ "anthropic/maxResultSizeChars": ANNOUNCED_RESULT_CHARS });
        Value::Object(without_nulls(json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schema::input(self.input),
            "outputSchema": (!self.output.is_empty()).then(|| schema::output(self.output)),
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.effect == Effect::Reads,
                "destructiveHint": destructive,
                "idempotentHint": idempotent,
                "openWorldHint": self.reaches_out(pushes),
            },
            "_meta": (self.effect == Effect::Reads).then_some(results),
        })))
    }
}

/// What is configured for tools.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Lines that `vault_read` gives when no range is asked for.
    pub read_lines: usize,
    /// Whether the client is on this machine: then the `context` tools show and take absolute
    /// paths, as in the system they come from. A remote client learns nothing about the host.
    pub local: bool,
    /// The server's public origin; empty if SERVER_URL is not set.
    pub origin: String,
    /// The time zone that decides which day is today.
    pub zone: Zone,
    /// What `fetch_context` loads when no type is given.
    #[cfg(feature = "context")]
    pub default_context: Option<Criteria>,
}

/// What toolsets need besides the vault, each where its toolset is on.
#[derive(Debug, Default)]
pub struct Systems {
    /// The vault's repository.
    #[cfg(feature = "git")]
    pub git: Option<Arc<Git>>,
    /// Its projects.
    #[cfg(feature = "accomplishments")]
    pub projects: Option<Accomplishments>,
    /// Its sessions.
    #[cfg(feature = "agent")]
    pub agent: Option<Arc<Agent>>,
    /// What makes a commit of files that tools have changed.
    pub commits: Option<Arc<dyn Commits>>,
}

impl Systems {
    /// Ends long-running work, for the server's shutdown.
    pub fn stop(&self) {
        #[cfg(feature = "agent")]
        self.agent.iter().for_each(|agent| agent.stop());
    }

    /// Waits, for a bounded time, for the end of what [`Systems::stop`] has stopped.
    pub fn wait_for_writing_sessions(&self) {
        #[cfg(feature = "agent")]
        self.agent.iter().for_each(|agent| agent.wait_for_writing_sessions());
    }
}

/// What a tool works with.
pub struct Context<'a> {
    /// The files.
    pub vault: &'a Vault,
    /// Searching them.
    pub search: &'a Search,
    /// The links between them.
    #[cfg(feature = "notes")]
    pub links: &'a Links,
    /// Changing them.
    pub changes: &'a Changes,
    /// All of these, for systems that need several.
    pub store: &'a Store,
    /// What toolsets need in addition.
    pub systems: &'a Systems,
    /// Who calls.
    pub principal: &'a Principal,
    /// What was configured for tools.
    pub options: &'a Options,
    /// Who waits for the result.
    pub requester: &'a dyn Requester,
}

impl Context<'_> {
    /// The file that a text names: a path, `[[Name]]`, a name, `daily:today`. For a tool that may
    /// create it, only a text with brackets or a prefix such as `daily:` is a name.
    pub fn named(&self, text: &str, creates: bool) -> Result<Named, Error> {
        Ok(self.vault.named(
            &self.below_root(text),
            creates,
            self.options.zone.at(Moment::read()),
        )?)
    }

    /// Reports the progress of work on many files to the caller; gives whether to go on.
    pub fn proceed<'a>(&'a self, doing: &'a str) -> impl Fn(usize, usize) -> bool + 'a {
        move |done, total| {
            self.requester.progress(done as u64, Some(total as u64), doing);
            !self.requester.has_cancelled()
        }
    }

    /// The path of a file that is to be read or changed.
    pub fn path(&self, text: &str) -> Result<VaultPath, Error> {
        Ok(self.named(text, false)?.path)
    }

    /// The path of a file that may be created.
    pub fn new_path(&self, text: &str) -> Result<VaultPath, Error> {
        Ok(self.named(text, true)?.path)
    }

    /// A path, or what an absolute one means to a client on this machine: the path below the
    /// vault's folder, with a slash before it.
    fn below_root<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let below = if self.options.local { self.vault.below_root(text) } else { None };
        below.map_or(Cow::Borrowed(text), |below| Cow::Owned(format!("/{below}")))
    }

    /// The path of a file that is to be moved, deleted or brought back. A whole path whose note is
    /// gone does not mean another note of that name: otherwise a deletion that is sent twice would
    /// delete another note.
    pub fn exact_path(&self, text: &str) -> Result<VaultPath, Error> {
        let below = self.below_root(text);
        let other = self.vault.in_other_form(&below);
        // Nor does the path of a file that is gone, if a version of it is kept, mean one in another
        // form.
        if let Some(given) = VaultPath::file(&below).ok().filter(|_| other.is_some())
            && let Some(gone) = self.kept_at(&given)?
        {
            return Ok(gone);
        }
        let text = other.as_deref().unwrap_or(text);
        let given =
            VaultPath::file(&self.below_root(text)).ok().filter(|given| is_note(given.name()));
        let path = self.path(text)?;
        Ok(given.filter(|given| fold(given.as_str()) != fold(path.as_str())).unwrap_or(path))
    }

    /// The template of this name: a note in the folder of the templates, or any other. It keeps the
    /// date of the one that the note would have had.
    #[cfg(feature = "notes")]
    pub fn template(&self, name: &str, usual: Option<Template>) -> Result<Template, Error> {
        let in_folder = self.vault.templates_folder().and_then(|folder| {
            let ending = if is_note(name) { "" } else { ".md" };
            let path = VaultPath::file(&format!("{folder}{name}{ending}")).ok()?;
            self.vault.entry(&path).is_ok().then_some(path)
        });
        let path = in_folder.map_or_else(|| self.path(name), Ok)?;
        self.vault.entry(&path)?;
        if !is_note(path.name()) {
            return Err(Error::invalid(format!("{} is no note, so no template.", path.as_str())));
        }
        let path = path.as_str().to_owned();
        Ok(match usual {
            Some(usual) => Template { path, ..usual },
            None => Template { path, at: self.options.zone.at(Moment::read()), name_format: None },
        })
    }

    /// The path of a file that exists or existed: where neither it nor a kept version is found, of
    /// which git may have commits.
    pub fn existing_or_deleted(&self, text: &str) -> Result<VaultPath, Error> {
        let path = self.exact_path(text)?;
        // Nor does the path of another file that is gone, if a version of it is kept, mean a file
        // of its name elsewhere.
        let given = VaultPath::file(&self.below_root(text))
            .ok()
            .filter(|given| fold(given.as_str()) != fold(path.as_str()));
        if let Some(given) = given
            && let Some(kept) = self.kept_at(&given)?
        {
            return Ok(kept);
        }
        Ok(self.changes.existing_or_deleted(&path)?.unwrap_or(path))
    }

    /// The paths of the argument `paths`, each once.
    pub fn paths(&self, arguments: &Arguments) -> Result<Vec<VaultPath>, Error> {
        if !(1..=limits::NOTES_PER_CALL).contains(&arguments.texts("paths").count()) {
            return Err(Error::invalid(format!(
                "Argument paths must have 1 to {} notes.",
                limits::NOTES_PER_CALL
            )));
        }
        let mut paths: Vec<VaultPath> = Vec::new();
        for path in arguments.texts("paths").map(|path| self.path(path)) {
            let path = path?;
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    /// The path of a file in a commit: as it was given, where that is a path, and not that of a
    /// file of its name elsewhere, which is there now.
    pub fn path_in_commit(&self, text: &str, found: VaultPath) -> VaultPath {
        let given = VaultPath::file(&self.below_root(text)).ok();
        given.filter(|given| extension_of(given.name()).is_some()).unwrap_or(found)
    }

    /// The bytes of a note in the commit `version`; `None` where that cannot be one, or the vault is
    /// no repository of toolset git, or the login does not have the whole vault.
    #[cfg_attr(not(feature = "git"), expect(unused_variables, reason = "no commits without git"))]
    pub fn bytes_in_commit(
        &self,
        path: &VaultPath,
        version: &str,
    ) -> Result<Option<Vec<u8>>, Error> {
        #[cfg(feature = "git")]
        if let (Some(git), None) = (&self.systems.git, &self.principal.folders)
            && version.len() >= 7
            && version.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return match git.bytes_in(path, version, &|| self.requester.has_cancelled()) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(Failure::Vault(error)) => Err(error.into()),
                Err(other) => Err(Error::new(Code::GitRefused, format!("{other}."))),
            };
        }
        Ok(None)
    }

    /// The path of a file that is gone and of which a version is kept, as that has it; not of files
    /// of its name in other folders.
    fn kept_at(&self, path: &VaultPath) -> Result<Option<VaultPath>, Error> {
        match self.changes.existing_or_deleted(path) {
            Ok(kept) => Ok(kept.filter(|kept| fold(kept.as_str()) == fold(path.as_str()))),
            Err(VaultError::Ambiguous { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The error of a call that names these files. If the first of them that does not exist was
    /// moved, it says where that is now.
    pub fn or_moved<'p>(&self, error: Error, mut named: impl Iterator<Item = &'p str>) -> Error {
        if error.code != Code::FileNotFound {
            return error;
        }
        let missing = named.find_map(|text| {
            let name = text.trim().trim_start_matches("[[").trim_end_matches("]]");
            let ending = if extension_of(name).is_some() { "" } else { ".md" };
            let path = VaultPath::file(&format!("{}{ending}", self.below_root(name))).ok()?;
            self.vault.entry(&path).is_err().then_some(path)
        });
        let moved = missing.and_then(|path| Some((self.changes.moved_to(&path)?, path)));
        moved.map_or(error, |(to, path)| {
            let what =
                format!("File not found: {}. It was moved to {}.", path.as_str(), to.as_str());
            Error::new(Code::FileNotFound, what)
        })
    }

    /// The path of a folder.
    pub fn folder(&self, text: &str) -> Result<VaultPath, Error> {
        let text = self.below_root(text);
        Ok(VaultPath::folder(self.vault.in_other_form(&text).as_deref().unwrap_or(&text))?)
    }

    /// The path of a file or folder that exists.
    pub fn path_or_folder(&self, text: &str) -> Result<VaultPath, Error> {
        let folder = self.folder(text).ok();
        if let Some(folder) = folder.as_ref().filter(|folder| self.vault.is_folder(folder)) {
            return Ok(folder.clone());
        }
        let found =
            self.exact_path(text).and_then(|path| Ok(self.vault.entry(&path).map(|_| path)?));
        if let Some(folder) = folder {
            let note = if text.trim_end().ends_with('/') {
                String::new()
            } else {
                format!("{}.md", folder.as_str())
            };
            // A folder in another case does not mean a note elsewhere that has its name.
            if !found.as_ref().is_ok_and(|path| [folder.as_str(), &note].contains(&path.as_str())) {
                self.vault.check_other_case(&folder)?;
            }
        }
        found
    }
}

/// Who waits for a tool's result; a long-running tool consults it now and then.
pub trait Requester {
    /// Whether the caller no longer wants the result.
    fn has_cancelled(&self) -> bool;
    /// Reports the progress: how much is `done`, of `total` where that is known, and what is being
    /// done.
    fn progress(&self, done: u64, total: Option<u64>, doing: &str);
}
