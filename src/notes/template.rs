//! The text of a new note from an Obsidian template.

use crate::calendar::{DateTime, weekday_named};
use crate::vault::media::is_note;
use crate::vault::{Error, Named, Template, Vault, VaultPath, has_iso_weeks};
use regex::{Captures, Regex};
use serde_json::Value;
use std::sync::LazyLock;

/// Bytes of a template whose variables are expanded; expansion makes it longer.
const TEMPLATE_BYTES: usize = 1024 * 1024;

/// The initial text of a named note, from its template or empty; and a warning about the
/// template.
///
/// # Errors
/// As [`Vault::bytes`], for the template.
pub(crate) fn first_text(
    vault: &Vault,
    named: &Named,
) -> Result<(String, Option<&'static str>), Error> {
    let Some(template) = &named.template else { return Ok((String::new(), None)) };
    let with_ending = if is_note(&template.path) {
        template.path.clone()
    } else {
        format!("{}.md", template.path)
    };
    let bytes =
        VaultPath::file(&with_ending).ok().map(|path| vault.bytes_if_any(&path)).transpose()?;
    let Some(bytes) = bytes.flatten() else {
        return Ok((
            String::new(),
            Some("The template of the note does not exist; the note starts without it."),
        ));
    };
    let title = named.path.name().strip_suffix(".md").unwrap_or_default();
    let text = crate::vault::read::text_of(bytes);
    let text = Variables::of(vault, title, template).fill(&text);
    let is_left = text.contains("<%") || text.contains("{{");
    let warning = is_left.then_some(
        "The template has code for Templater (<% %>) or variables of other plugins ({{ }}), \
         which were left as they are.",
    );
    Ok((text, warning))
}

/// The values of the variables in a template: `{{title}}`, `{{date}}`, `{{time}}`,
/// `{{date:FORMAT}}`, `{{time:FORMAT}}`; and of the plugin Periodic Notes `{{date+7d:FORMAT}}`,
/// `{{yesterday}}`, `{{tomorrow}}`, `{{sunday:FORMAT}}` of the week.
struct Variables<'a> {
    title: &'a str,
    at: DateTime,
    /// The formats of `{{date}}`, of `{{time}}`, and of `{{yesterday}}`, which is the name of a note.
    date: String,
    time: String,
    neighbour: String,
    has_iso_weeks: bool,
}

impl<'a> Variables<'a> {
    fn of(vault: &Vault, title: &'a str, template: &Template) -> Variables<'a> {
        let settings = vault.obsidian("templates.json");
        let format = |name: &str, default: &str| {
            settings
                .get(name)
                .and_then(Value::as_str)
                .filter(|format| !format.is_empty())
                .unwrap_or(default)
                .to_owned()
        };
        let date = format("dateFormat", "YYYY-MM-DD");
        let neighbour = template.name_format.clone().unwrap_or_else(|| date.clone());
        Variables {
            title,
            at: template.at,
            time: format("timeFormat", "HH:mm"),
            has_iso_weeks: has_iso_weeks(&neighbour),
            date,
            neighbour,
        }
    }

    /// A template with the variables filled in.
    fn fill(&self, template: &str) -> String {
        static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(
                r"(?ix)\{\{\s*(?:
                    title
                    | (?<neighbour>yesterday|tomorrow)
                    | (?<kind>date|time)\s*(?:(?<count>[+-]\d{1,5})(?<unit>[yqmwdhs]))?
                      \s*(?::(?<format>[^\n]*?))?
                    | (?<day>(?:mon|tues|wednes|thurs|fri|satur|sun)day)\s*:(?<dayformat>[^\n]*?)
                )\s*\}\}",
            )
            .ok()
        });
        let Some(variable) = VARIABLE.as_ref().filter(|_| template.len() <= TEMPLATE_BYTES) else {
            return template.to_owned();
        };
        variable.replace_all(template, |found: &Captures<'_>| self.value(found)).into_owned()
    }

    fn value(&self, found: &Captures<'_>) -> String {
        let part = |name: &str| found.name(name).map(|part| part.as_str());
        if let Some(neighbour) = part("neighbour") {
            let days = if neighbour.eq_ignore_ascii_case("tomorrow") { 1 } else { -1 };
            return self.at.plus_days(days).format(&self.neighbour);
        }
        if let Some(number) = part("day").and_then(weekday_named) {
            let number = if self.has_iso_weeks { number } else { (number + 1) % 7 };
            let first = self.at.first_of_week(self.has_iso_weeks);
            let format = part("dayformat").unwrap_or_default().trim();
            return first.plus_days(number).format(format);
        }
        let Some(kind) = part("kind") else { return self.title.to_owned() };
        let count = part("count").and_then(|count| count.parse::<i64>().ok()).unwrap_or(0);
        // As moment.js has them: `m` is a minute and `M` a month.
        let at = match part("unit").unwrap_or_default() {
            "y" | "Y" => self.at.plus_months(12 * count),
            "q" | "Q" => self.at.plus_months(3 * count),
            "M" => self.at.plus_months(count),
            "w" | "W" => self.at.plus_days(7 * count),
            "d" | "D" => self.at.plus_days(count),
            "h" | "H" => self.at.plus_seconds(3600 * count),
            "m" => self.at.plus_seconds(60 * count),
            _ => self.at.plus_seconds(count),
        };
        let usual = if kind.eq_ignore_ascii_case("date") { &self.date } else { &self.time };
        at.format(part("format").unwrap_or(usual).trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_have_their_variables_filled_in_and_nothing_else() {
        let variables = Variables {
            title: "A day",
            at: DateTime::of_date("2026-11-22").unwrap(),
            date: "YYYY-MM-DD".into(),
            time: "HH:mm".into(),
            neighbour: "DD.MM.YYYY".into(),
            has_iso_weeks: true,
        };
        for (template, text) in [
            ("# {{title}}\n{{date}} {{ time }} {{date:dddd}}", "# A day\n2026-11-22 00:00 Sunday"),
            ("{{date+7d:YYYY-MM-DD}} {{Date-1M}} {{date+1y:YYYY}}", "2026-11-29 2026-10-22 2027"),
            ("{{time+90m}} {{time+2h:H}}", "01:30 2"),
            ("[[{{yesterday}}]] {{tomorrow}}", "[[21.11.2026]] 23.11.2026"),
            ("{{monday:DD}} {{sunday:DD}}", "16 22"),
            (
                "{{other}} <% tp.date.now() %> {{monday}} {{ {{title",
                "{{other}} <% tp.date.now() %> {{monday}} {{ {{title",
            ),
        ] {
            assert_eq!(variables.fill(template), text);
        }
        let us = Variables { has_iso_weeks: false, ..variables };
        assert_eq!(us.fill("{{monday:DD}} {{sunday:DD}}"), "23 22");
    }
}
