//! The text of a new note from an Obsidian template.

use crate::calendar::DateTime;
use crate::vault::media::is_note;
use crate::vault::{Error, Named, Vault, VaultPath};
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
    let Some((template, day)) = &named.template else { return Ok((String::new(), None)) };
    let with_ending = if is_note(template) { template.clone() } else { format!("{template}.md") };
    let bytes =
        VaultPath::file(&with_ending).ok().map(|path| vault.bytes_if_any(&path)).transpose()?;
    let Some(bytes) = bytes.flatten() else {
        return Ok((
            String::new(),
            Some("The template of the note does not exist; the note starts without it."),
        ));
    };
    let (date_format, time_format) = template_formats(vault);
    let title = named.path.name().strip_suffix(".md").unwrap_or_default();
    let text =
        fill_template(&crate::vault::read::text_of(bytes), title, *day, &date_format, &time_format);
    let is_left = text.contains("<%") || text.contains("{{");
    let warning = is_left.then_some(
        "The template has code for Templater (<% %>) or variables of other plugins ({{ }}), \
         which were left as they are.",
    );
    Ok((text, warning))
}

/// The formats of `{{date}}` and `{{time}}` in templates.
fn template_formats(vault: &Vault) -> (String, String) {
    let settings = vault.obsidian("templates.json");
    let format = |name: &str, default: &str| {
        settings
            .get(name)
            .and_then(Value::as_str)
            .filter(|format| !format.is_empty())
            .unwrap_or(default)
            .to_owned()
    };
    (format("dateFormat", "YYYY-MM-DD"), format("timeFormat", "HH:mm"))
}

/// A template with its variables filled in: `{{title}}`, `{{date}}`, `{{time}}`, `{{date:FORMAT}}`,
/// `{{time:FORMAT}}`.
fn fill_template(
    template: &str,
    title: &str,
    day: DateTime,
    date_format: &str,
    time_format: &str,
) -> String {
    static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\{\{\s*(?:title|(date|time)\s*(?::([^\n]*?))?)\s*\}\}").ok()
    });
    let Some(variable) = VARIABLE.as_ref().filter(|_| template.len() <= TEMPLATE_BYTES) else {
        return template.to_owned();
    };
    let value = |found: &Captures<'_>| match found.get(1) {
        None => title.to_owned(),
        Some(name) => {
            let usual =
                if name.as_str().eq_ignore_ascii_case("date") { date_format } else { time_format };
            day.format(found.get(2).map_or(usual, |format| format.as_str()).trim())
        }
    };
    variable.replace_all(template, value).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_have_their_variables_filled_in_and_nothing_else() {
        let day = DateTime::of_date("2026-11-22").unwrap();
        let fill = |template| fill_template(template, "A day", day, "YYYY-MM-DD", "HH:mm");
        assert_eq!(
            fill("# {{title}}\n{{date}} {{ time }} {{date:dddd}}"),
            "# A day\n2026-11-22 00:00 Sunday"
        );
        assert_eq!(
            fill("{{other}} <% tp.date.now() %> {{ {{title"),
            "{{other}} <% tp.date.now() %> {{ {{title"
        );
    }
}
