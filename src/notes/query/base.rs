//! Bases: `.base` files, and code blocks of the language `base` in notes. Keys that are not known
//! belong to a view's layout and are passed over.

use super::Failure;
use super::expr::Expr;
use super::parse::{ParseContext, parse};
use crate::markdown::blocks::{Kind, Line, lines};
use crate::slice::Part;
use crate::yaml;
use serde_yaml::Value as Yaml;
use std::collections::BTreeSet;

/// Formulas of a base.
const FORMULAS: usize = 200;

/// A base.
#[derive(Debug)]
pub(super) struct Base {
    /// Which files are wanted.
    pub(super) filter: Expr,
    pub(super) formulas: Vec<(String, Formula)>,
    /// Summaries that the base defines, by name.
    pub(super) summaries: Vec<(String, Formula)>,
    /// `None` for a base without views.
    pub(super) view: Option<View>,
}

/// An expression, or why it is not one: a mistake in a formula or summary does not affect views
/// that do not use it.
pub(super) type Formula = Result<Expr, String>;

/// One view of a base.
#[derive(Debug)]
pub(super) struct View {
    /// Which files are wanted.
    pub(super) filter: Expr,
    /// Property ids of its columns.
    pub(super) order: Vec<String>,
    pub(super) sort: Vec<Sort>,
    pub(super) group_by: Option<Sort>,
    pub(super) limit: Option<usize>,
    /// Property ids and the names of their summaries.
    pub(super) summaries: Vec<(String, String)>,
}

/// A property id, or its expression, and whether the largest comes first.
#[derive(Debug, Clone)]
pub(super) struct Sort<Key = String> {
    pub(super) key: Key,
    pub(super) is_descending: bool,
}

impl Base {
    /// Parses a base and one view, the first unless it is named; mistakes in other views do not
    /// matter. `first_line` is the line of its file on which it begins, counted from 0.
    ///
    /// # Errors
    /// [`Failure::Malformed`], [`Failure::Wrong`] naming the part, [`Failure::Argument`] for a name
    /// that no view has.
    pub(super) fn parse(
        text: &str,
        first_line: usize,
        view: Option<&str>,
    ) -> Result<Base, Failure> {
        Base::read(text, first_line, view).map_err(|failure| failure.with_line(text, first_line))
    }

    fn read(text: &str, first_line: usize, wanted: Option<&str>) -> Result<Base, Failure> {
        let yaml = yaml::parse(text.strip_prefix('\u{feff}').unwrap_or(text), first_line);
        let yaml = yaml.map_err(|what| Failure::Malformed { what, near: None })?;
        if !matches!(yaml, Yaml::Mapping(_) | Yaml::Null) {
            return Err(Failure::Malformed {
                what: "no base: there should be filters, formulas or views".into(),
                near: Some(String::new()),
            });
        }
        let expressions = |key: &str| -> Result<Vec<(String, String)>, Failure> {
            let Some(members) = yaml.get(key).and_then(Yaml::as_mapping) else {
                return Ok(Vec::new());
            };
            if members.len() > FORMULAS {
                return Err(Failure::Malformed {
                    what: format!("a base with more than {} {key}", FORMULAS),
                    near: Some(key.to_owned()),
                });
            }
            // An empty expression is null.
            let text = |yaml: &Yaml| {
                if yaml.is_null() { Ok("null".to_owned()) } else { text_of(yaml, key) }
            };
            members
                .iter()
                .map(|(name, expression)| Ok((text_of(name, key)?, text(expression)?)))
                .collect()
        };
        let formulas = expressions("formulas")?;
        let context = ParseContext::of(&formulas);
        let parsed = |what: &str, (name, text): (String, String)| {
            let expression =
                parse(&text, &context).map_err(|wrong| format!("In {what} {name:?}, {wrong}"));
            (name, expression)
        };
        let formulas: Vec<(String, Formula)> =
            formulas.into_iter().map(|formula| parsed("formula", formula)).collect();
        let summaries = expressions("summaries")?
            .into_iter()
            .map(|summary| parsed("summary", summary))
            .collect();
        let filter = filter(yaml.get("filters"), &context, "filters of the base")?;
        let views = match yaml.get("views") {
            None | Some(Yaml::Null) => Vec::new(),
            Some(Yaml::Sequence(views)) => views
                .iter()
                .enumerate()
                .map(|(number, view)| (name_of(view, number), view))
                .collect(),
            Some(_) => {
                return Err(Failure::Malformed {
                    what: "no base: views is no list".into(),
                    near: Some("views".into()),
                });
            }
        };
        let same = |is_same: &dyn Fn(&str) -> bool| views.iter().find(|(name, _)| is_same(name));
        let found = match wanted {
            None => views.first(),
            Some(wanted) => {
                let found = same(&|name| name == wanted)
                    .or_else(|| same(&|name| name.eq_ignore_ascii_case(wanted)));
                let known: Vec<&str> = views.iter().map(|(name, _)| name.as_str()).collect();
                let missing = || {
                    Failure::Argument(format!(
                        "There is no view {wanted:?}; the base has: {}",
                        known.join(", ")
                    ))
                };
                Some(found.ok_or_else(missing)?)
            }
        };
        let view = found.map(|(name, yaml)| View::parse(yaml, name, &context)).transpose()?;
        Ok(Base { filter, formulas, summaries, view })
    }
}

fn name_of(view: &Yaml, number: usize) -> String {
    view.get("name")
        .and_then(|name| text_of(name, "views").ok())
        .unwrap_or_else(|| format!("View {}", number + 1))
}

impl View {
    fn parse(yaml: &Yaml, name: &str, context: &ParseContext) -> Result<View, Failure> {
        let list = |key: &str| {
            yaml.get(key).and_then(Yaml::as_sequence).map(Vec::as_slice).unwrap_or_default()
        };
        let sort = |yaml: &Yaml| -> Option<Sort> {
            let id = yaml
                .as_str()
                .or_else(|| yaml.get("property").or_else(|| yaml.get("column"))?.as_str())?
                .to_owned();
            let direction = yaml.get("direction").and_then(Yaml::as_str).unwrap_or_default();
            Some(Sort { key: id, is_descending: direction.eq_ignore_ascii_case("desc") })
        };
        let mut summaries = Vec::new();
        for (id, summary) in yaml.get("summaries").and_then(Yaml::as_mapping).into_iter().flatten()
        {
            summaries.push((text_of(id, "summaries")?, text_of(summary, "summaries")?));
        }
        Ok(View {
            filter: filter(yaml.get("filters"), context, &format!("filters of view {name:?}"))?,
            order: list("order").iter().filter_map(|id| id.as_str().map(str::to_owned)).collect(),
            sort: list("sort").iter().filter_map(sort).collect(),
            group_by: yaml.get("groupBy").and_then(sort),
            limit: yaml
                .get("limit")
                .and_then(Yaml::as_u64)
                .and_then(|limit| usize::try_from(limit).ok())
                .filter(|limit| *limit > 0),
            summaries,
        })
    }
}

/// The expression of filters; `part` names them in messages.
fn filter(yaml: Option<&Yaml>, context: &ParseContext, part: &str) -> Result<Expr, Failure> {
    let wrong = |what: &str, near: &str| Failure::Malformed {
        what: format!("no base: in the {part}, {what}"),
        near: Some(near.to_owned()),
    };
    let all = |list: &Yaml| match list {
        Yaml::Sequence(list) => {
            list.iter().map(|one| filter(Some(one), context, part)).collect::<Result<Vec<_>, _>>()
        }
        one => Ok(vec![filter(Some(one), context, part)?]),
    };
    match yaml {
        None | Some(Yaml::Null) => Ok(Expr::All(Vec::new())),
        Some(Yaml::String(text)) => parse(text, context)
            .map_err(|wrong| Failure::Wrong(format!("In the {part}, {text:?}, {wrong}"))),
        Some(Yaml::Bool(truth)) => {
            Ok(if *truth { Expr::All(Vec::new()) } else { Expr::Any(Vec::new()) })
        }
        Some(Yaml::Mapping(members)) => {
            let mut parts = Vec::new();
            for (key, list) in members {
                parts.push(match key.as_str() {
                    Some("and") => Expr::All(all(list)?),
                    Some("or") => Expr::Any(all(list)?),
                    Some("not") => Expr::Not(Box::new(Expr::Any(if list.is_null() {
                        Vec::new()
                    } else {
                        all(list)?
                    }))),
                    _ => {
                        let key = text_of(key, part)?;
                        return Err(wrong(
                            &format!("there is {key:?} where and, or or not should be"),
                            &key,
                        ));
                    }
                });
            }
            Ok(Expr::All(parts))
        }
        Some(other) => {
            let near = text_of(other, part).unwrap_or_else(|_| "filters".to_owned());
            Err(wrong("a filter is neither an expression nor and, or or not", &near))
        }
    }
}

/// A scalar as text.
fn text_of(yaml: &Yaml, part: &str) -> Result<String, Failure> {
    let malformed = || Failure::Malformed {
        what: format!("no base: in {part} there is a value that is no text"),
        near: Some(part.to_owned()),
    };
    yaml::scalar(yaml).ok_or_else(malformed)
}

/// The formulas that an expression names.
fn formulas_in(expr: &Expr) -> impl Iterator<Item = &str> {
    expr.parts()
        .into_iter()
        .filter_map(|part| if let Expr::Formula(name) = part { Some(name.as_str()) } else { None })
}

/// Refuses an expression that uses a formula that is malformed or uses its own value. `above` are
/// the formulas that use the expression, `seen` those that were checked.
///
/// # Errors
/// [`Failure::Wrong`].
pub(super) fn refuse_broken<'e>(
    expr: &'e Expr,
    formulas: &'e [(String, Formula)],
    above: &[&'e str],
    seen: &mut BTreeSet<&'e str>,
) -> Result<(), Failure> {
    for name in formulas_in(expr) {
        if above.contains(&name) {
            return Err(Failure::Wrong(format!("Formula {name:?} uses its own value")));
        }
        let Some((_, formula)) =
            formulas.iter().find(|(known, _)| known == name).filter(|_| seen.insert(name))
        else {
            continue;
        };
        let formula = formula.as_ref().map_err(|why| Failure::Wrong(why.clone()))?;
        refuse_broken(formula, formulas, &[above, &[name]].concat(), seen)?;
    }
    Ok(())
}

/// The text of a base in a note, and the line on which it begins, counted from 0: the code blocks
/// of the language `base` are numbered from 1.
pub(super) fn in_note(text: &str, wanted: usize) -> Option<(String, usize)> {
    let lines = lines(text);
    // The marks of a quote or callout, and the content after them.
    let split = |line: &Line| {
        let own = text.part(line.range.clone());
        own.split_at(own.len() - own.trim_start_matches(['>', ' ', '\t']).len())
    };
    let without_fence = |line: &Line| split(line).1.trim_start_matches(['`', '~']).trim();
    let opens_base =
        |line: &Line| line.kind == Kind::Code && line.opens && without_fence(line) == "base";
    let (number, opening) = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| opens_base(line))
        .nth(wanted.checked_sub(1)?)?;
    let (before, content) = split(opening);
    let fence = content.part(..content.len() - content.trim_start_matches(['`', '~']).len());
    let closes = |line: &Line| split(line).1.starts_with(fence) && without_fence(line).is_empty();
    let mut inner = String::new();
    for line in lines
        .iter()
        .skip(number + 1)
        .take_while(|line| line.kind == Kind::Code && !line.opens && !closes(line))
    {
        let content = text.part(line.range.clone());
        inner.push_str(
            content
                .strip_prefix(before)
                .or_else(|| content.strip_prefix(before.trim_end()))
                .unwrap_or(content),
        );
        inner.push('\n');
    }
    Some((inner, number + 1))
}
