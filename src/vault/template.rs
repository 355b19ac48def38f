//! The text of a new note by a template of Obsidian.

use super::media::is_note;
use super::{Error, Named, Vault, VaultPath};
use crate::calendar::DateTime;
use crate::limits;
use crate::slice::Part;
use crate::text::floor;
use serde_json::Value;

impl Vault {
    /// The text with which a named note begins: that of its template, or nothing.
    ///
    /// # Errors
    /// As [`Vault::bytes`], for the template.
    pub(super) fn first_text(&self, named: &Named) -> Result<String, Error> {
        let Some((template, day)) = &named.template else { return Ok(String::new()) };
        let with_ending = if is_note(template) { template.clone() } else { format!("{template}.md") };
        let Ok(path) = VaultPath::file(&with_ending) else { return Ok(String::new()) };
        let Some(bytes) = self.bytes_if_any(&path)? else {
            log::warn!("the template {with_ending:?} of {} is missing", named.path.as_str());
            return Ok(String::new());
        };
        let (date_format, time_format) = self.template_formats();
        let title = named.path.name().strip_suffix(".md").unwrap_or_default();
        Ok(fill_template(&super::read::text_of(bytes), title, *day, &date_format, &time_format))
    }

    /// The formats of `{{date}}` and `{{time}}` in templates.
    fn template_formats(&self) -> (String, String) {
        let settings = self.obsidian("templates.json");
        let format = |name: &str, default: &str| {
            settings.get(name).and_then(Value::as_str).filter(|format| !format.is_empty()).unwrap_or(default).to_owned()
        };
        (format("dateFormat", "YYYY-MM-DD"), format("timeFormat", "HH:mm"))
    }
}

/// A template with its variables filled in: `{{title}}`, `{{date}}`, `{{time}}`, `{{date:FORMAT}}`, `{{time:FORMAT}}`.
fn fill_template(template: &str, title: &str, day: DateTime, date_format: &str, time_format: &str) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        filled.push_str(before);
        // A variable is short; and what is too long for a note need not be made.
        let near = behind.part(..floor(behind, limits::TEMPLATE_VARIABLE_BYTES));
        let is_too_long = filled.len() as u64 > limits::NOTE_BYTES;
        let variable = near.find("}}").filter(|_| !is_too_long).and_then(|end| {
            let (variable, behind) = (behind.get(..end)?, behind.get(end + 2..)?);
            let (name, format) = variable.split_once(':').map_or((variable, None), |(name, format)| (name, Some(format)));
            let value = match name.trim().to_lowercase().as_str() {
                "title" if format.is_none() => title.to_owned(),
                "date" => day.format(format.unwrap_or(date_format).trim()),
                "time" => day.format(format.unwrap_or(time_format).trim()),
                _ => return None,
            };
            Some((value, behind))
        });
        match variable {
            Some((value, behind)) => {
                filled.push_str(&value);
                rest = behind;
            }
            None => {
                filled.push_str("{{");
                rest = behind;
            }
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_have_their_variables_filled_in_and_nothing_else() {
        let day = DateTime::of_date("2026-11-22").unwrap();
        let fill = |template| fill_template(template, "A day", day, "YYYY-MM-DD", "HH:mm");
        assert_eq!(fill("# {{title}}\n{{date}} {{ time }} {{date:dddd}}"), "# A day\n2026-11-22 00:00 Sunday");
        assert_eq!(fill("{{other}} <% tp.date.now() %> {{ {{title"), "{{other}} <% tp.date.now() %> {{ {{title");
    }
}
