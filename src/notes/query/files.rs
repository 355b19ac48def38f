//! What expressions can read of files: their names, times, tags, properties and links.

use super::eval::{Evaluator, Linkers, Outcome};
use super::inline::{InlineFields, fields};
use super::value::{Date, Link, Value, is_wikilink};
use crate::clock::Moment;
use crate::links::index::LinkIndex;
use crate::markdown::frontmatter::is_tags;
use crate::markdown::links::{Link as NoteLink, Syntax};
use crate::slice::Part;
use crate::vault::properties::property_in;
use crate::vault::{Entry, Error};
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

impl<'a> Evaluator<'a> {
    pub(super) fn entry(&self, path: &str) -> Option<Arc<Entry>> {
        self.source.vault.indexed(path)
    }

    pub(super) fn file_property(&self, entry: &Arc<Entry>, name: &str) -> Outcome {
        let path: &str = &entry.path;
        let (stem, ending) = match entry.name().rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => (stem, ending),
            _ => (entry.name(), ""),
        };
        Ok(match name {
            "file" => Value::File(path.into()),
            "name" | "basename" => Value::text_of(stem),
            "path" => Value::text_of(path),
            "fullname" => Value::text_of(entry.name()),
            "folder" => Value::text_of(shown_folder(entry)),
            "ext" => Value::text_of(ending),
            "size" => Value::Number(entry.stamp.size as f64),
            "mtime" => self.moment(entry.stamp.modified()),
            "ctime" => self.moment(self.source.vault.created(entry)),
            "tags" => self.list(entry.tags.iter().map(|tag| Value::Tag((**tag).into())))?,
            "properties" => self.properties(entry)?,
            "links" => self.links(entry, false)?,
            "embeds" => self.links(entry, true)?,
            "backlinks" => {
                let linkers = self.linkers(path)?;
                let link = |source: &String| {
                    let name = source.rsplit('/').next().unwrap_or(source);
                    let display = name.strip_suffix(".md").unwrap_or(name).to_owned();
                    Link {
                        path: source.clone(),
                        subpath: String::new(),
                        display: Some(display),
                        folder: "".into(),
                    }
                };
                self.hold(linkers.iter().map(|source| 2 * source.len() + size_of::<Link>()).sum())?;
                self.list(
                    linkers
                        .iter()
                        .filter(|source| *source != path)
                        .map(|source| Value::Link(Rc::new(link(source)))),
                )?
            }
            _ => return Err(format!("a file has no {name}")),
        })
    }

    fn moment(&self, at: Moment) -> Value {
        Value::Date(Date { at: self.source.zone.at(at), has_time: true })
    }

    /// The links of a note, as the app lists them: with their display texts.
    fn links(&self, entry: &Arc<Entry>, only_embeds: bool) -> Outcome {
        let (text, links) = self.source.links.links_in(entry);
        self.hold(links.iter().map(|link| 2 * link.range.len() + size_of::<Link>()).sum())?;
        let folder = folder_of(entry);
        let wanted =
            links.iter().filter(|link| !link.path.is_empty() && (!only_embeds || link.is_embed));
        self.list(wanted.map(|link| Value::Link(Rc::new(shown(link, &text, &folder)))))
    }

    /// A property of a file.
    pub(super) fn property(&self, name: &str, entry: &Entry) -> Outcome {
        let frontmatter = entry.properties_json().unwrap_or_default();
        let json = property_in(frontmatter, name).unwrap_or_default();
        self.hold(memory(&json) * 8)?;
        let value = self.value_of(&json, entry);
        Ok(if is_tags(name) { value.into_tags() } else { value })
    }

    /// An inline field of the text; several of one name are a list.
    pub(super) fn inline_field(&self, entry: &Arc<Entry>, key: &str) -> Outcome {
        let mut read = self.inline.borrow_mut();
        if read.as_ref().is_none_or(|read| read.entry != entry.id) {
            self.check(entry.search_cost() as usize)?;
            let text = self.source.vault.text(entry).unwrap_or_default();
            *read = Some(InlineFields { entry: entry.id, fields: fields(&text) });
        }
        let all = read.as_ref().map(|read| read.fields.as_slice()).unwrap_or_default();
        let json = |text: &str| match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Json::from(number),
            _ => match text {
                "" => Json::Null,
                "true" => Json::Bool(true),
                "false" => Json::Bool(false),
                text => Json::from(text),
            },
        };
        let mut values: Vec<Json> =
            all.iter().filter(|(name, _)| name == key).map(|(_, text)| json(text)).collect();
        let json = match values.len() {
            0 => Json::Null,
            1 => values.remove(0),
            _ => Json::Array(values),
        };
        self.hold(memory(&json) * 8)?;
        Ok(self.value_of(&json, entry))
    }

    pub(super) fn properties(&self, entry: &Entry) -> Outcome {
        let members = entry.properties().unwrap_or_default();
        self.hold(memory_of(&members) * 8)?;
        Ok(Value::Object(Rc::new(members)))
    }

    /// A value of the frontmatter: texts that are dates or links become values of those types.
    pub(super) fn value_of(&self, json: &Json, entry: &Entry) -> Value {
        match json {
            Json::Null => Value::Null,
            Json::Bool(truth) => Value::Bool(*truth),
            Json::Number(number) => number.as_f64().map_or(Value::Null, Value::Number),
            Json::String(text) if is_wikilink(text) => {
                Value::Link(Rc::new(Link::parse(text, &folder_of(entry))))
            }
            Json::String(text) => match self.source.zone.parse(text) {
                Some((at, has_time)) => Value::Date(Date { at, has_time }),
                None => Value::text_of(text),
            },
            Json::Array(list) => Value::list_of(list.iter().map(|item| self.value_of(item, entry))),
            Json::Object(members) => Value::Object(Rc::new(members.clone())),
        }
    }

    /// The link index, loaded when an expression first needs it.
    fn link_index(&self) -> Option<&LinkIndex> {
        self.link_index.get_or_init(|| self.source.links.index(self.source.proceed)).as_deref().ok()
    }

    /// Why the link index could not be loaded, if an expression needed it.
    pub(super) fn take_error(&mut self) -> Option<Error> {
        self.link_index.take().and_then(Result::err)
    }

    /// The file that a link resolves to.
    pub(super) fn file_of(&self, link: &Link) -> Option<String> {
        if link.path.contains("://") {
            return None;
        }
        self.link_index()?.file_of(&link.path, &link.folder)
    }

    /// The files that link to a path; if it resolves to no file, those with a link that is written
    /// like it.
    pub(super) fn linkers(&self, path: &str) -> Result<Linkers, String> {
        if let Some(known) = self.linkers.borrow().get(path) {
            return Ok(Rc::clone(known));
        }
        let index = self.link_index().ok_or("the links of the vault are not known")?;
        let found = Rc::new(match index.file_of(path, "") {
            Some(file) => index.sources_of(&BTreeSet::from([file.as_str()])),
            None => index.sources_of_text(path),
        });
        self.linkers.borrow_mut().insert(path.to_owned(), Rc::clone(&found));
        Ok(found)
    }
}

/// What a value takes, in steps of a query.
fn memory(json: &Json) -> usize {
    match json {
        // A link has several parts.
        Json::String(text) if is_wikilink(text) => 12 + text.len() / 8,
        Json::String(text) => text.len() / 8,
        Json::Array(items) => items.iter().map(|item| 4 + memory(item)).sum(),
        Json::Object(members) => memory_of(members),
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    }
}

fn memory_of(members: &Map<String, Json>) -> usize {
    64 + members.iter().map(|(name, value)| 8 + name.len() / 8 + memory(value)).sum::<usize>()
}

/// The folder of a file; empty for the root.
pub(super) fn folder_of(entry: &Entry) -> Rc<str> {
    crate::links::index::folder_of(&entry.path).into()
}

/// The folder of a file as the app names it: `/` for the root.
pub(super) fn shown_folder(entry: &Entry) -> &str {
    Some(crate::links::index::folder_of(&entry.path))
        .filter(|folder| !folder.is_empty())
        .unwrap_or("/")
}

/// A link of a note with its display text: as written, else the target.
fn shown(link: &NoteLink, text: &str, folder: &Rc<str>) -> Link {
    let written = text.part(link.range.clone());
    let subpath = link.subpath.as_deref().unwrap_or_default().trim().to_owned();
    let own = match link.syntax {
        Syntax::Wikilink => {
            written.trim_end_matches("]]").split_once('|').map(|(_, display)| display.trim())
        }
        // The text may contain an image; the last `](` before the target ends it.
        Syntax::Markdown => {
            let before = text.part(link.range.start..link.target.start);
            before.rsplit_once("](").and_then(|(display, _)| display.strip_prefix('['))
        }
        Syntax::CanvasPath => None,
    };
    let target = || format!("{}{}", link.path, subpath.replace('#', " > "));
    Link {
        path: link.path.clone(),
        subpath: subpath.clone(),
        display: Some(own.map_or_else(target, str::to_owned)),
        folder: Rc::clone(folder),
    }
}
